"""Thoughts in the step loop: free until their end, the contract after it, and no byte between the two."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from threading import Event
from typing import Any

import pytest
import torch

from compiler_pool.tokenizer import BoundTokenizer
from inference_node.decoder import Decoder
from inference_node.drafting.prompt_lookup import PromptLookup
from inference_node.drafting.source import DraftWant
from inference_node.grammar import Prototype
from inference_node.matcher import GrammarMatcher
from inference_node.model_runner import ModelRunner
from inference_node.protocol import Finish, ReasoningReport, TokenEvent
from inference_node.reasoning.span import ReasoningSpan
from inference_node.sequence import DecodingSequence
from inference_node.slices import Slice
from inference_node.snapshots.restored_state import KeptKeysValues, RestoredState, SavedCounters
from policy.limits import TENANT
from tests.inference_node.loop_worlds import CHOICE, LIST, OBJECT
from tests.inference_node.reasoning.worlds import markers
from tests.inference_node.test_step_loop import SlowMatcher
from tests.inference_node.worlds import Collector, new_sequence, on_cpu, running_loop

OBJECT_TEXT = r'\{"name":"[a-z ]{1,12}","age":[1-9][0-9]{0,2}\}'
PROMPT = "So <think>"


@dataclass(slots=True)
class Scripted:
    """A runner whose model says what it is told, wherever it is asked; after it, only blanks."""

    says: Sequence[int]
    vocabulary_size: int
    blank: int
    looks_ahead: bool = False
    reuses_logits: bool = False
    positions: list[int] = field(default_factory=list)

    def forward(self, slices: Sequence[Slice], ahead: torch.Tensor | None = None) -> torch.Tensor:
        rows: list[torch.Tensor] = []
        for part in slices:
            self.positions += range(part.start, part.end)
            for position in range(part.end - part.num_logits, part.end):
                place = position + 1 - part.num_prompt_tokens
                row = torch.zeros(self.vocabulary_size)
                row[self.says[place] if 0 <= place < len(self.says) else self.blank] = 10.0
                rows.append(row)
        return torch.stack(rows) if rows else torch.zeros(0, self.vocabulary_size)

    def read_keys_values(self, blocks: Sequence[int], num_tokens: int) -> torch.Tensor:
        raise NotImplementedError

    def write_keys_values(self, blocks: Sequence[int], keys_values: torch.Tensor) -> None:
        raise NotImplementedError


@dataclass(slots=True, kw_only=True)
class Oracle:
    """Drafts what will come."""

    token_ids: Sequence[int]
    name: str = "oracle"

    def propose(self, wants: Sequence[DraftWant]) -> list[list[int]]:
        return [list(self.token_ids[len(want.token_ids) :][: want.max_drafts]) for want in wants]

    def observe(self, key: int, drafted: int, accepted: int) -> None:
        pass

    def forget(self, key: int) -> None:
        pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    thought: str
    answer: str
    finish: Finish
    report: ReasoningReport
    sequence: DecodingSequence
    logprobs: str
    """The texts of the tokens whose log probabilities were told."""


def told(collector: Collector, sequence: DecodingSequence, *, is_whole: bool = True) -> Said:
    finish = collector.finish()
    tokens = [event for event in collector.events if isinstance(event, TokenEvent)]
    flags = [event.is_thought for event in tokens]
    assert flags == sorted(flags, reverse=True), "no thought after the answer has begun"
    if is_whole:
        assert collector.is_well_formed
        assert collector.token_ids == sequence.token_ids[len(sequence.request.prompt_ids) :]
        assert finish.usage.completion_tokens == len(collector.token_ids)
        assert finish.usage.forced_tokens == sum(event.num_forced_tokens for event in tokens)
    assert finish.reasoning is not None
    return Said(
        thought="".join(event.text for event in tokens if event.is_thought),
        answer="".join(event.text for event in tokens if not event.is_thought),
        finish=finish,
        report=finish.reasoning,
        sequence=sequence,
        logprobs="".join(logprob.text for event in tokens for logprob in event.logprobs or []),
    )


def thinking(
    runner: ModelRunner,
    tokenizer: BoundTokenizer,
    *,
    budget_tokens: int | None = None,
    is_begun: bool = True,
    lead_in: str = "",
    loop: dict[str, Any] | None = None,
    **options: Any,
) -> Said:
    span = ReasoningSpan(markers(tokenizer, lead_in=lead_in), tokenizer, is_begun=is_begun, budget_tokens=budget_tokens)
    collector = Collector()
    plain = new_sequence(tokenizer, collector, PROMPT, **options)
    sequence = DecodingSequence(replace(plain.request, span=span), tokenizer, collector, context_tokens=512)
    with running_loop(runner, tokenizer, **(loop or {})) as running:
        running.submit(sequence)
        collector.finish()
    return told(collector, sequence)


@pytest.fixture
def scripted(tokenizer: BoundTokenizer) -> Callable[..., Scripted]:
    def make(*pieces: bytes | int, **options: Any) -> Scripted:
        says = [
            token_id
            for piece in pieces
            for token_id in ([piece] if isinstance(piece, int) else tokenizer.encode_exact(piece))
        ]
        blank = tokenizer.longest_first[b" "]
        return Scripted(says=says, vocabulary_size=tokenizer.vocabulary_size, blank=blank, **options)

    return make


@pytest.mark.parametrize("looks_ahead", [False, True])
def test_the_contract_begins_at_the_end_marker(
    scripted: Callable[..., Scripted], tokenizer: BoundTokenizer, *, looks_ahead: bool
) -> None:
    runner = scripted(b"name is bob", b"</think>", b"bob", looks_ahead=looks_ahead)
    said = thinking(runner, tokenizer, grammar=OBJECT)
    assert said.thought == "name is bob"
    assert re.fullmatch(OBJECT_TEXT, said.answer)
    assert (said.finish.stop_cause, said.finish.accepting, said.report.state) == ("grammar_end", True, "closed")


@pytest.mark.parametrize("looks_ahead", [False, True])
def test_what_stands_behind_the_marker_in_its_token_is_picked_again_under_the_contract(
    scripted: Callable[..., Scripted], tokenizer: BoundTokenizer, *, looks_ahead: bool
) -> None:
    behind = next(each for data, each in tokenizer.longest_first.items() if data.startswith(b">") and len(data) > 1)
    runner = scripted(b"x", b"</think", behind, looks_ahead=looks_ahead)
    said = thinking(runner, tokenizer, grammar=OBJECT)
    assert said.thought == "x"
    assert re.fullmatch(OBJECT_TEXT, said.answer)
    ids = said.sequence.token_ids
    assert behind not in ids
    assert tokenizer.decode(ids).decode() == f"{PROMPT}x</think>{said.answer}"


def test_the_end_of_the_sequence_within_a_thought_leaves_no_answer(
    scripted: Callable[..., Scripted], tokenizer: BoundTokenizer
) -> None:
    runner = scripted(b"hm </", tokenizer.end_ids[0])
    said = thinking(runner, tokenizer, grammar="start: /a*/")
    assert (said.thought, said.answer) == ("hm </", "")
    assert (said.finish.stop_cause, said.finish.accepting) == ("end_of_sequence", False)
    assert said.report.state == "unfinished"


def test_a_thought_that_fills_the_tokens_leaves_no_answer(
    scripted: Callable[..., Scripted], tokenizer: BoundTokenizer
) -> None:
    said = thinking(scripted(b"a b c d e f g h"), tokenizer, grammar="start: /a*/", max_tokens=5)
    assert (said.finish.stop_cause, said.finish.accepting, said.report.state) == ("max_tokens", False, "unfinished")
    assert said.report.tokens == 5


def test_stop_strings_are_the_answers(scripted: Callable[..., Scripted], tokenizer: BoundTokenizer) -> None:
    runner = scripted(b"stop here", b"</think>", b"go on stop here")
    said = thinking(runner, tokenizer, stop=["stop"])
    assert (said.thought, said.answer.strip()) == ("stop here", "go on")
    assert (said.finish.stop_cause, said.finish.accepting) == ("stop_string", None)


def test_at_the_budget_the_node_ends_the_thought_and_leads_in_to_the_answer(
    tiny_decoder: Decoder, tokenizer: BoundTokenizer
) -> None:
    said = thinking(on_cpu(tiny_decoder), tokenizer, grammar=OBJECT, budget_tokens=6, lead_in="\n\n", max_tokens=64)
    assert re.fullmatch(OBJECT_TEXT, said.answer)
    assert (said.report.state, said.finish.accepting) == ("budget", True)
    text = tokenizer.decode(said.sequence.token_ids).decode(errors="replace")
    assert text.endswith(f"</think>\n\n{said.answer}")


def test_a_thought_that_the_prompt_did_not_begin_is_begun_and_costs_forced_tokens(
    tiny_decoder: Decoder, tokenizer: BoundTokenizer
) -> None:
    said = thinking(on_cpu(tiny_decoder), tokenizer, grammar=LIST, budget_tokens=3, is_begun=False, max_tokens=64)
    answer_ids = said.sequence.token_ids[len(said.sequence.request.prompt_ids) :]
    assert tokenizer.decode(answer_ids).startswith(b"<think>")
    assert said.finish.accepting is True
    num_markers = len(tokenizer.encode_exact(b"<think>")) + len(tokenizer.encode_exact(b"</think>"))
    assert said.finish.usage.forced_tokens >= num_markers
    assert said.report.tokens == num_markers + 3


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_drafts_and_slices_change_no_token_of_thought_or_answer(
    tiny_decoder: Decoder, tokenizer: BoundTokenizer, temperature: float
) -> None:
    def tokens(**loop: Any) -> Sequence[int]:
        said = thinking(
            on_cpu(tiny_decoder), tokenizer, grammar=LIST, budget_tokens=9, temperature=temperature, seed=3,
            max_tokens=64, loop=loop,
        )  # fmt: skip
        return said.sequence.token_ids

    alone = tokens()
    assert tokens(chunk_tokens=16) == alone
    assert tokens(drafts=PromptLookup(row_cost=0.0)) == alone
    # Drafts that are right stand across the end of the thought, where the mask begins.
    assert tokens(drafts=Oracle(token_ids=alone)) == alone


def test_log_probabilities_are_of_the_answer_alone(
    scripted: Callable[..., Scripted], tokenizer: BoundTokenizer
) -> None:
    runner = scripted(b"x", b"</think>", b"yes")
    said = thinking(runner, tokenizer, num_top_logprobs=0, max_tokens=len(runner.says))
    assert said.answer == "yes"
    assert said.logprobs == "yes"


def stood(sequence: DecodingSequence) -> RestoredState:
    """Where a sequence stands, as it is saved."""
    answer_ids = sequence.token_ids[len(sequence.request.prompt_ids) :]
    return RestoredState(
        answer_ids=answer_ids,
        are_forced=[place in set(sequence.forced_places) for place in range(len(answer_ids))],
        asks_forced=sequence.asks_forced,
        owed_forced_ids=list(sequence.owed_forced_ids),
        num_sent_tokens=len(answer_ids) - sequence.sender.num_unsent,
        unsent_logprobs=[],
        counters=SavedCounters(),
        keys_values=KeptKeysValues(torch.empty((0, 0, 0))),
    )


def test_a_sequence_that_is_cut_anywhere_in_its_thought_goes_on_as_it_would_have(tokenizer: BoundTokenizer) -> None:
    behind = next(each for data, each in tokenizer.longest_first.items() if data.startswith(b">") and len(data) > 1)
    picks = [*tokenizer.encode_exact(b"hm \xc3\xa9</"), *tokenizer.encode_exact(b"think"), behind]
    picks += tokenizer.encode_exact(b"green")

    def begun(collector: Collector, restored: RestoredState | None = None) -> DecodingSequence:
        span = ReasoningSpan(markers(tokenizer, lead_in="\n\n"), tokenizer, is_begun=False, budget_tokens=None)
        plain = new_sequence(tokenizer, collector, PROMPT, grammar=CHOICE, max_tokens=64)
        request = replace(plain.request, span=span, restored=restored)
        return DecodingSequence(request, tokenizer, collector, context_tokens=512)

    def ended(sequence: DecodingSequence, collector: Collector, left: Sequence[int]) -> tuple[str, str, Finish]:
        ending = sequence.resume()
        for token_id in left:
            ending = ending or sequence.take(token_id)
        assert ending is not None
        sequence.flush()
        finish = sequence.finish(ending, accepting=sequence.judge(ending))
        said = told(collector, sequence, is_whole=False)
        return said.thought, said.answer, finish

    whole_collector = Collector()
    thought, answer, whole = ended(begun(whole_collector), whole_collector, picks)
    assert (thought, answer, whole.accepting) == ("hm \u00e9", "green", True)
    for num_before in range(len(picks)):
        before, after = Collector(), Collector()
        first = begun(before)
        assert first.resume() is None
        for token_id in picks[:num_before]:
            assert first.take(token_id) is None
        second = begun(after, stood(first))
        second.replay()
        later = ended(second, after, picks[num_before:])
        assert (before.text + later[0] + later[1]) == thought + answer
        assert (later[2].reasoning, later[2].usage) == (whole.reasoning, whole.usage)
        assert later[2].accepting is True


@pytest.mark.parametrize("looks_ahead", [False, True])
def test_the_end_of_a_thought_waits_for_no_siblings_mask(
    scripted: Callable[..., Scripted], tokenizer: BoundTokenizer, monkeypatch: pytest.MonkeyPatch, *, looks_ahead: bool
) -> None:
    prototype, release = Prototype.build(tokenizer, LIST, TENANT.engine), Event()
    slow, matcher = SlowMatcher(prototype.matcher(), release), prototype.matcher()
    asked: list[bool] = []
    forced_tokens = GrammarMatcher.forced_tokens

    def noted(self: GrammarMatcher) -> list[int]:
        if self is matcher:
            asked.append(release.is_set())
        return forced_tokens(self)

    monkeypatch.setattr(GrammarMatcher, "forced_tokens", noted)
    first, second = Collector(), Collector()
    plain = new_sequence(tokenizer, second, PROMPT, grammar=matcher)
    span = ReasoningSpan(markers(tokenizer), tokenizer, is_begun=True, budget_tokens=2)
    sequence = DecodingSequence(replace(plain.request, span=span), tokenizer, second, context_tokens=512)
    runner = scripted(b"a b c d e f g", looks_ahead=looks_ahead)
    with running_loop(runner, tokenizer) as loop:
        loop.submit(new_sequence(tokenizer, first, "x", grammar=slow))  # type: ignore[arg-type]  # behind a wrapper
        assert slow.is_filling.wait(30)
        loop.submit(sequence)
        second.wait_for_tokens(3)
        for _ in range(3):
            loop.between_steps(lambda: None).result(timeout=30)
        release.set()
        assert told(second, sequence).finish.stop_cause in {"grammar_end", "max_tokens"}
        first.finish()
    assert asked
    assert all(asked)
