"""Jump-forward: tokens that the grammar leaves no choice about are taken unseen. What that saves, and what it changes.

    python -m tests.benchmarks.jump_forward [--per-kind 6] [--batch 1 --batch 4] [--rounds 3] [--sampled]

Function calls and Kubernetes manifests under their schemas, as the product compiles them (`drafting_cases.py`), decoded
by the default model with forcing and without: there every token is picked from its own row, as it is where log
probabilities are asked for. Both ways in turn on one engine, so that a noisy moment hits both; prompts are in the cache
after a round that is not counted, so it is decoding that is timed. Exits 1 where a finished object is not valid.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Final

from inference_node.process_settings import OPENMP_WAITING

# Before torch is loaded, as the node's own process does.
os.environ.update(OPENMP_WAITING | os.environ)

from gateway.validation.verdict import Valid
from inference_node.grammar import Prototype
from inference_node.prepare import prepare_default_model
from inference_node.sampling import SamplingChoice
from inference_node.sequence import DecodingSequence
from inference_node.sequence_request import SequenceRequest
from policy.limits import TENANT
from tests.benchmarks.drafting_cases import Case, cases
from tests.benchmarks.drafting_engine import Answer, Decoding, drafting_loop, running_engine

_KINDS: Final = ("call", "manifest")
_MAX_PROMPT_TOKENS: Final = 350
_CONTEXT_TOKENS: Final = 640
_HEAD: Final = (
    "| kind | batch | tokens | forced | passes picked | forced | time saved | same tokens | same text | whole |"
)  # fmt: skip
_NUM_TOLD: Final = 3
"""Answers that differ of which the place is printed."""


class PickedSequence(DecodingSequence):
    """One that takes nothing unseen."""

    @property
    def _takes_forced(self) -> bool:
        return False


@dataclass(slots=True, kw_only=True)
class Measured:
    """One kind of request in one batch size."""

    forced_seconds: list[float] = field(default_factory=list)
    picked_seconds: list[float] = field(default_factory=list)
    forced_passes: int = 0
    picked_passes: int = 0
    num_tokens: int = 0
    num_forced: int = 0
    num_answers: int = 0
    num_equal_tokens: int = 0
    num_equal_texts: int = 0
    num_whole: int = 0
    num_invalid: int = 0

    def row(self, kind: str, batch: int) -> str:
        """Of the table."""
        pairs = zip(self.forced_seconds, self.picked_seconds, strict=True)
        saved = median(1 - forced / picked for forced, picked in pairs)
        return (
            f"| {kind} | {batch} | {self.num_tokens} | {self.num_forced / self.num_tokens:.0%} | "
            f"{self.picked_passes} | {self.forced_passes} | {saved:.0%} | "
            f"{self.num_equal_tokens} of {self.num_answers} | {self.num_equal_texts} of {self.num_answers} | "
            f"{self.num_whole} ({self.num_invalid} not valid) |"
        )


def main() -> int:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--per-kind", type=int, default=6)
    parser.add_argument("--batch", type=int, action="append", help="sequences at a time; default 1 and 4")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--max-tokens", type=int, default=96)
    parser.add_argument("--dtype", default="float32", choices=("bfloat16", "float32"))
    parser.add_argument("--sampled", action="store_true", help="by chance, temperature 1, and not greedily")
    parser.add_argument("--cache-dir", type=Path, default=Path(os.environ.get("SCHEMAGATE_CACHE_DIR", ".cache")))
    arguments = parser.parse_args()
    directory = prepare_default_model(arguments.cache_dir, lambda line: print(line, file=sys.stderr))
    choice = SamplingChoice(temperature=1.0 if arguments.sampled else 0.0, top_p=1.0, seed=7)
    num_invalid = 0
    with running_engine(
        directory, dtype=arguments.dtype, max_sequences=8, context_tokens=_CONTEXT_TOKENS
    ) as engine:  # fmt: skip
        found = [
            case
            for case in cases(
                engine.tokenizer, engine.prompts, per_kind=arguments.per_kind, max_prompt_tokens=_MAX_PROMPT_TOKENS
            )
            if case.kind in _KINDS
        ]
        with drafting_loop(engine, "none", cost=None) as decoding:
            print(f"{arguments.dtype}, {'sampled' if arguments.sampled else 'greedy'}")
            print(_HEAD)
            print("| --- " * _HEAD.count(" | ") + "| --- |")
            for batch in arguments.batch or (1, 4):
                for kind in _KINDS:
                    of_kind = [case for case in found if case.kind == kind]
                    measured = measure(decoding, of_kind, choice, batch=batch, arguments=arguments)
                    print(measured.row(kind, batch), flush=True)
                    num_invalid += measured.num_invalid
    return 1 if num_invalid else 0


def measure(
    decoding: Decoding, found: Sequence[Case], choice: SamplingChoice, *, batch: int, arguments: argparse.Namespace
) -> Measured:
    """All of a kind, both ways in turn, each group in every round."""
    measured = Measured()
    told = 0
    for first in range(0, len(found), batch):
        group = found[first : first + batch]
        ways: dict[bool, list[Answer]] = {}
        for number in range(arguments.rounds + 1):
            # Who comes first changes from round to round.
            for is_forced in (True, False) if number % 2 else (False, True):
                before = decoding.runner.num_passes
                ways[is_forced], seconds = decoded(
                    decoding, group, choice, max_tokens=arguments.max_tokens, is_forced=is_forced
                )  # fmt: skip
                num_passes = decoding.runner.num_passes - before
                if number and is_forced:
                    measured.forced_seconds.append(seconds)
                    measured.forced_passes += num_passes
                elif number:
                    measured.picked_seconds.append(seconds)
                    measured.picked_passes += num_passes
        for case, forced, picked in zip(group, ways[True], ways[False], strict=True):
            told += compare(decoding, measured, case, forced, picked, is_told=told < _NUM_TOLD)
    return measured


def decoded(
    decoding: Decoding, group: Sequence[Case], choice: SamplingChoice, *, max_tokens: int, is_forced: bool
) -> tuple[list[Answer], float]:
    """The answers of a group that runs together, and the seconds from when it was sent until all were there."""
    kind = DecodingSequence if is_forced else PickedSequence
    answers: list[Answer] = []
    sequences: list[DecodingSequence] = []
    for case in group:
        request = SequenceRequest(
            request_id="benchmark",
            prompt_ids=case.prompt_ids,
            choice=choice,
            max_tokens=max_tokens,
            stop_strings=(),
            matcher=Prototype.build(decoding.tokenizer, case.contract.grammar, TENANT.engine).matcher(),
            may_draft=False,
        )
        answers.append(Answer())
        sequences.append(
            kind(request, decoding.tokenizer, answers[-1], context_tokens=decoding.context_tokens)
        )  # fmt: skip
    started = perf_counter()
    for sequence in sequences:
        decoding.loop.submit(sequence)
    for answer in answers:
        answer.ended()
    return answers, perf_counter() - started


def compare(
    decoding: Decoding, measured: Measured, case: Case, forced: Answer, picked: Answer, *, is_told: bool
) -> int:
    """Count what one request gave both ways; 1 if it was told where they part."""
    measured.num_answers += 1
    measured.num_tokens += len(forced.token_ids)
    measured.num_forced += forced.ended().usage.forced_tokens
    measured.num_equal_tokens += forced.token_ids == picked.token_ids
    shorter = min(len(forced.text), len(picked.text))
    measured.num_equal_texts += forced.text[:shorter] == picked.text[:shorter]
    for answer in (forced, picked):
        if answer.ended().accepting:
            measured.num_whole += 1
            measured.num_invalid += not isinstance(case.contract.judge.judge(answer.text.encode()), Valid)
    if forced.token_ids == picked.token_ids or not is_told:
        return 0
    at = next(
        (
            at
            for at, (one, two) in enumerate(zip(forced.token_ids, picked.token_ids, strict=False))
            if one != two
        ),
        min(len(forced.token_ids), len(picked.token_ids)),
    )  # fmt: skip
    window = slice(max(0, at - 3), at + 3)
    texts = decoding.tokenizer.token_bytes
    print(f"  {case.name} parts at token {at}: {[texts[one] for one in forced.token_ids[window]]} forced,")
    print(f"    {[texts[one] for one in picked.token_ids[window]]} picked")
    return 1


if __name__ == "__main__":
    sys.exit(main())
