"""What is wrong with the events of one finished request: judged by a fresh matcher and by means that know no engine."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from compiler_pool.tokenizer import BoundTokenizer
from inference_node.ending import ORDERLY_CAUSES
from inference_node.grammar import Prototype
from inference_node.protocol import Finish, GenerateEvent, Started, TokenEvent
from policy.limits import TENANT
from tests.benchmarks.soak_asks import Ask, SoakContract

_MAX_REPLAYS: Final = 200
"""Of one prototype: copies use up a lexer."""


@dataclass(slots=True, kw_only=True)
class Wish:
    """What was done to a request on purpose: what may have come of it."""

    is_cancelled: bool = False
    is_saved: bool = False
    is_faulty: bool = False
    """Its grammar engine was made to fail, or to lie."""
    is_broken: bool = False
    """Its sink, or a pass while it ran, was made to fail."""


@dataclass(slots=True, kw_only=True)
class Told:
    """All that was sent for one request, over however many nodes it went."""

    token_ids: list[int] = field(default_factory=list)
    answer: str = ""
    answer_ids: list[int] = field(default_factory=list)
    finish: Finish | None = None

    def add(self, event: GenerateEvent) -> None:
        """The next event."""
        match event:
            case TokenEvent():
                self.token_ids += event.token_ids
                if not event.is_thought:
                    self.answer += event.text
                    self.answer_ids += event.token_ids
            case Finish():
                self.finish = event


def shape_fault(events: Sequence[GenerateEvent]) -> str | None:
    """Started, tokens, and exactly one finish."""
    kinds = [type(event) for event in events]
    if not kinds or kinds[0] is not Started or kinds[-1] is not Finish or set(kinds[1:-1]) - {TokenEvent}:
        return f"events of another order: {[kind.__name__ for kind in kinds][:8]}"
    return None


class SoakJudge:
    """Keeps what every request said the first time, and a matcher's grammar for each contract."""

    def __init__(self, tokenizer: BoundTokenizer) -> None:
        self._tokenizer = tokenizer
        self._known: dict[tuple[str, int], tuple[list[int], str]] = {}
        self._prototypes: dict[str, Prototype] = {}
        self.num_judged = 0
        self.num_whole = 0
        self.num_compared = 0

    def faults(self, where: str, ask: Ask, told: Told, wish: Wish) -> list[str]:
        """What is wrong. `where` keeps apart what need not be equal."""
        finish = told.finish
        assert finish is not None
        self.num_judged += 1
        found = [*_cause_faults(ask, told, finish, wish), *self._text_faults(ask, told, finish, wish)]
        if not wish.is_faulty:
            found += self._equality_faults(where, ask, told, finish, wish)
        return [f"{where} request {ask.number} ({ask.contract and ask.contract.name}): {fault}" for fault in found]

    def _text_faults(self, ask: Ask, told: Told, finish: Finish, wish: Wish) -> list[str]:
        contract = ask.contract
        if contract is None:
            return [] if finish.accepting is None else ["accepting without a contract"]
        if finish.accepting is None:
            return ["accepting is null under a contract"]
        ends = self._tokenizer.end_ids
        text_ids = [token_id for token_id in told.answer_ids if token_id not in ends]
        matcher = self._prototype(contract).matcher()
        if not matcher.accept_tokens(text_ids):
            return [f"tokens outside the grammar: {self._tokenizer.decode(text_ids)!r}"]
        if not finish.accepting:
            is_due = finish.stop_cause in ORDERLY_CAUSES and ask.thought_tokens is None and not wish.is_faulty
            is_whole = is_due and matcher.accepts_text(told.answer.encode())
            return [f"whole, and not called so: {told.answer!r}"] if is_whole else []
        self.num_whole += 1
        if not contract.is_whole(told.answer):
            return [f"called whole and is not: {told.answer!r}"]
        if not matcher.accepts_text(told.answer.encode()):
            return [f"called whole, and a fresh matcher says no: {told.answer!r}"]
        return []

    def _equality_faults(self, where: str, ask: Ask, told: Told, finish: Finish, wish: Wish) -> list[str]:
        key, cause = (where, ask.number), finish.stop_cause
        known = self._known.get(key)
        if cause in ORDERLY_CAUSES or cause == "dead_end":
            if known is None:
                self._known[key] = (told.token_ids, cause)
                return []
            self.num_compared += 1
            if known != (told.token_ids, cause):
                return [f"other tokens than before: {known} and {(told.token_ids, cause)}"]
        elif known is not None:
            self.num_compared += 1
            if known[0][: len(told.token_ids)] != told.token_ids:
                return [f"other tokens until it broke off than before: {known[0]} and {told.token_ids} ({cause})"]
        return []

    def _prototype(self, contract: SoakContract) -> Prototype:
        kept = self._prototypes.get(contract.name)
        if kept is None or kept._num_copies > _MAX_REPLAYS or kept.is_broken:
            wide = dataclasses.replace(TENANT.engine, max_lexer_states=TENANT.engine.max_lexer_states * 4)
            kept = self._prototypes[contract.name] = Prototype.build(self._tokenizer, contract.grammar, wide)
        return kept


def _cause_faults(ask: Ask, told: Told, finish: Finish, wish: Wish) -> list[str]:
    found: list[str] = []
    cause, contract = finish.stop_cause, ask.contract
    if cause == "saved":
        return ["saved, which nobody asked for"] if not wish.is_saved else []
    if len(told.token_ids) != finish.usage.completion_tokens and cause in ORDERLY_CAUSES:
        found.append(f"{len(told.token_ids)} tokens were sent of {finish.usage.completion_tokens}")
    if finish.usage.forced_tokens > finish.usage.completion_tokens:
        found.append("more were forced than there are")
    is_expected = {
        "end_of_sequence": True,
        "grammar_end": contract is not None and finish.accepting is True,
        "max_tokens": finish.usage.completion_tokens == ask.max_tokens,
        "context_full": True,
        "stop_string": finish.stop_string in ask.stop,
        "dead_end": wish.is_faulty or (contract is not None and contract.may_stick),
        "grammar_failed": wish.is_faulty or (contract is not None and contract.may_fail),
        "engine_failed": wish.is_broken,
        "cancelled": wish.is_cancelled,
    }[cause]
    if not is_expected:
        found.append(f"it ended by {cause} ({finish.message}), accepting {finish.accepting}, {finish.usage}")
    if cause not in ORDERLY_CAUSES and finish.accepting:
        found.append(f"accepting after {cause}")
    if any(stop in told.answer for stop in ask.stop):
        found.append(f"a stop string was sent: {told.answer!r}")
    return found
