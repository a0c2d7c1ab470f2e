"""Drafts under contracts: what they gain, and that they change no token.

    python -m tests.benchmarks.drafting speed [--source prompt_lookup --source layers:6] [--free] [--batch 1]
    python -m tests.benchmarks.drafting equality [--per-kind 50] [--source self --free]
    python -m tests.benchmarks.drafting sampled --tokens 1000000 --state FILE [--seconds 600]

`speed`: tokens a second with drafts and without, in turn on one engine, and how many drafts were taken, by kind of
request (`drafting_cases.py`). `equality`: each request greedily and with a seed, with drafts and without; status 1 if
a token differs. `sampled`: under random and real schemas with drafts on, a small random model over the real vocabulary
(the point is the grammar's company, not the words); every token is replayed on a fresh matcher and every finished
object judged; status 1 if a token is outside the grammar or an object breaks its contract. It goes on from its state
file, so it can be done in pieces.

A source is `prompt_lookup`, a model's directory, `self` (the model itself: how often its drafts are taken says whether
both draw with the same noise, and what the grammar cuts off) or `layers:N` (its first layers, untrained). With `--free`
drafts are made as if they cost nothing: for how often they are taken, not for speed.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from inference_node.process_settings import OPENMP_WAITING

# Before torch is loaded, as the node's own process does.
os.environ.update(OPENMP_WAITING | os.environ)

from inference_node.drafting.step_cost import StepCost
from inference_node.prepare import prepare_default_model
from inference_node.sampling import SamplingChoice
from tests.benchmarks.drafting_cases import KINDS, Case, cases
from tests.benchmarks.drafting_engine import Answer, Asked, Decoding, decode, drafting_loop, running_engine
from tests.benchmarks.drafting_sampled import run_sampled

_MAX_PROMPT_TOKENS = 350
_CONTEXT_TOKENS = 768
_MAX_SEQUENCES = 8
_GROUP = 8
_GREEDY = SamplingChoice(temperature=0.0, top_p=1.0, seed=0)


def main() -> int:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", choices=("speed", "equality", "sampled"))
    parser.add_argument("--source", action="append", help="one or more; default prompt_lookup")
    parser.add_argument("--free", action="store_true", help="draft as if rows and drafts cost nothing")
    parser.add_argument("--dtype", default="bfloat16", choices=("bfloat16", "float32"))
    parser.add_argument("--batch", type=int, action="append", help="sequences at a time; default 1 and 8")
    parser.add_argument("--per-kind", type=int, default=8)
    parser.add_argument("--max-tokens", type=int, default=96)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cache-dir", type=Path, default=Path(os.environ.get("SCHEMAGATE_CACHE_DIR", ".cache")))
    parser.add_argument("--tokens", type=int, default=20_000, help="of `sampled`, all pieces together")
    parser.add_argument("--seconds", type=float, default=600.0, help="of `sampled`, this piece")
    parser.add_argument("--state", type=Path, help="of `sampled`: where it goes on from")
    arguments = parser.parse_args()
    directory = prepare_default_model(arguments.cache_dir, lambda line: print(line, file=sys.stderr))
    if arguments.mode == "sampled":
        return run_sampled(directory, num_tokens=arguments.tokens, seconds=arguments.seconds, state=arguments.state)
    cost = StepCost(seconds=1e9, row_cost=0.0) if arguments.free else None
    is_equal = True
    with running_engine(
        directory, dtype=arguments.dtype, max_sequences=_MAX_SEQUENCES, context_tokens=_CONTEXT_TOKENS
    ) as engine:
        found = list(
            cases(
                engine.tokenizer, engine.prompts, per_kind=arguments.per_kind, max_prompt_tokens=_MAX_PROMPT_TOKENS
            )
        )  # fmt: skip
        for source in arguments.source or ["prompt_lookup"]:
            told = f"source {source}{', as if drafts were free' if arguments.free else ''}, {arguments.dtype}"
            with drafting_loop(engine, source, cost=cost) as decoding:
                if arguments.mode == "equality":
                    is_equal &= equality(decoding, found, told, max_tokens=arguments.max_tokens)
                    continue
                for batch in arguments.batch or (1, 8):
                    print(f"\n{told}, load average {os.getloadavg()[0]:.2f}")
                    speed(decoding, found, batch=batch, max_tokens=arguments.max_tokens, num_rounds=arguments.rounds)
    return 0 if is_equal else 1


@dataclass(slots=True, kw_only=True)
class Measured:
    """One kind of request in one batch size."""

    without: list[float] = field(default_factory=list)
    """Tokens a second, a round each."""
    drafted: list[float] = field(default_factory=list)
    passes_without: int = 0
    passes_drafted: int = 0
    num_tokens: int = 0
    num_drafts: int = 0
    num_accepted: int = 0

    def add(self, answers: Sequence[Answer], seconds: float, num_passes: int, *, has_drafts: bool) -> None:
        """One round."""
        num_tokens = sum(answer.ended().usage.completion_tokens for answer in answers)
        (self.drafted if has_drafts else self.without).append(num_tokens / seconds)
        if not has_drafts:
            self.passes_without += num_passes
        if has_drafts:
            self.passes_drafted += num_passes
            reports = [answer.ended().decoding for answer in answers]
            self.num_tokens += num_tokens
            self.num_drafts += sum(report.drafted_tokens for report in reports)
            self.num_accepted += sum(report.accepted_draft_tokens for report in reports)

    def row(self, kind: str, batch: int) -> str:
        """Of the table."""
        ratio = median(with_ / without for with_, without in zip(self.drafted, self.without, strict=True))
        share = f"{self.num_accepted / self.num_drafts:.0%}" if self.num_drafts else "none made"
        return (
            f"| {kind} | {batch} | {self.num_tokens} | {self.passes_without} | {self.passes_drafted} | "
            f"{median(self.without):.1f} | {median(self.drafted):.1f} | {ratio:.2f} | "
            f"{self.num_drafts / self.num_tokens:.2f} | {share} |"
        )


def speed(decoding: Decoding, found: Sequence[Case], *, batch: int, max_tokens: int, num_rounds: int) -> None:
    """Print a row for each kind: with drafts and without in turn, so that a noisy moment hits both."""
    print(
        "| kind | batch | tokens | passes without | with | tokens/s without | with | ratio | drafts per token | taken |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for kind in KINDS:
        asked = [_asked(case, _GREEDY, max_tokens) for case in found if case.kind == kind]
        measured = Measured()
        for number in range(num_rounds + 1):
            for has_drafts in (False, True):
                before = decoding.runner.num_passes
                answers, seconds = decode(decoding, asked, batch=batch, drafts=has_drafts)
                if number:  # the first round warms up
                    measured.add(answers, seconds, decoding.runner.num_passes - before, has_drafts=has_drafts)
        print(measured.row(kind, batch), flush=True)


def equality(decoding: Decoding, found: Sequence[Case], told: str, *, max_tokens: int) -> bool:
    """Whether no token differs. Every case greedily and sampled, under its contract, in other company each time."""
    num_differing = num_tokens = num_drafts = num_accepted = 0
    for first in range(0, len(found), _GROUP):
        group = found[first : first + _GROUP]
        sampled = [SamplingChoice(temperature=0.8, top_p=1.0, seed=first + at) for at in range(len(group))]
        asked = [_asked(case, _GREEDY, max_tokens) for case in group]
        asked += [_asked(case, choice, max_tokens) for case, choice in zip(group, sampled, strict=True)]
        plain, _ = decode(decoding, asked, batch=_GROUP, drafts=False)
        drafted, _ = decode(decoding, asked, batch=_GROUP, drafts=True)
        for case, one, other in zip([*group, *group], plain, drafted, strict=True):
            report = other.ended().decoding
            num_tokens += len(other.token_ids)
            num_drafts += report.drafted_tokens
            num_accepted += report.accepted_draft_tokens
            if one.token_ids != other.token_ids or one.ended().stop_cause != other.ended().stop_cause:
                num_differing += 1
                print(f"DIFFERS: {case.name}\n  {one.text!r}\n  {other.text!r}")
        print(
            f"{told}: {first + len(group)} prompts and contracts, greedy and sampled: {num_tokens} tokens, "
            f"{num_drafts} drafted, {num_accepted} of them taken; {num_differing} answers differ",
            flush=True,
        )
    return not num_differing


def _asked(case: Case, choice: SamplingChoice, max_tokens: int) -> Asked:
    return Asked(prompt_ids=case.prompt_ids, grammar=case.contract.grammar, choice=choice, max_tokens=max_tokens)


if __name__ == "__main__":
    sys.exit(main())
