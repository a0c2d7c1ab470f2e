"""Does the node keep its books for as long as it runs? Prints a line a minute; exits 1 where anything was wrong.

    python -m tests.benchmarks.soak [--minutes 30] [--seed 0]

Two step loops and a node over tiny models with the real vocabulary decode requests drawn by chance: real schemas,
expressions, choices, hostile contracts and none, thoughts, drafts, adapters, log probabilities, stop strings, several
partitions, few blocks. Meanwhile readers leave, sequences are saved and go on elsewhere, grammar engines fail at any
call, passes and sinks raise. After each minute all of it is let come to its end, and then blocks, mask rows, leases,
places and live objects have to be back where they were. Every finished request is judged: what was called whole by a
fresh matcher and by an expression or a validator, its cause by what was done to it, and its tokens by what the same
request said before.
"""

import argparse
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from inference_node.process_settings import OPENMP_WAITING

# Before torch is loaded, as the node's own process does.
os.environ.update(OPENMP_WAITING | os.environ)

import logging

import structlog
import torch

from compiler_pool.tokenizer import BoundTokenizer, load_tokenizer
from inference_node.prepare import prepare_default_model
from tests.benchmarks.soak_asks import Ask, SoakContract, ask, contracts
from tests.benchmarks.soak_judging import SoakJudge, shape_fault
from tests.benchmarks.soak_ledger import Memory, bank_faults, live_counts, loop_faults
from tests.benchmarks.soak_loops import NUM_ADAPTERS, Fate, Journey, SoakLoop, Travel, soak_loops
from tests.benchmarks.soak_service import SoakService, soak_service
from tests.inference_node.faulty_engine import Fault
from tests.inference_node.model_worlds import tiny_config, write_model
from tests.inference_node.test_grammar_faults import CASES, FAULTS
from tests.inference_node.worlds import eventually

_AT_ONCE: Final = 20
_PATIENCE_SECONDS: Final = 90.0
_SERVICE_SHARE: Final = 0.3
_MAX_TOKENS: Final = 48
_MAX_TOLD: Final = 20
"""Faults that are printed of one minute."""


@dataclass(slots=True, kw_only=True)
class Soak:
    """Everything that runs, and what was found wrong with it so far."""

    loops: Sequence[SoakLoop]
    service: SoakService
    travel: Travel
    judge: SoakJudge
    tokenizer: BoundTokenizer
    contracts: Sequence[SoakContract]
    draw: random.Random
    num_numbers: int
    num_own_rows: Sequence[int]
    before: Counter[str]
    """What was alive in this process before anything of this ran."""
    memory: Memory = field(default_factory=Memory)
    causes: Counter[str] = field(default_factory=Counter)
    done: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def minute(self, number: int, *, seconds: float) -> str:
        """One minute, and its line."""
        found = self.service.round(self.draw, seconds=seconds * _SERVICE_SHARE)
        found += self._travel(seconds=seconds * (1 - _SERVICE_SHARE))
        found += self._idle_faults()
        counts = live_counts() - self.before
        found += [f"{counts[name]} {name} are alive" for name in ("DecodingSequence", "Running") if counts[name]]
        # A shelf has two prototypes at most; the node's has two, and the judge one.
        most = 5 * len(self.contracts)
        found += [f"{counts['Prototype']} prototypes are alive"] if counts["Prototype"] > most else []
        found += [f"{counts['GrammarMatcher']} matchers are alive"] if counts["GrammarMatcher"] else []
        self.faults += found
        for fault in found[:_MAX_TOLD]:
            print(f"  WRONG: {fault}", flush=True)
        mib = self.memory.note(number)
        return (
            f"{number:>4} {self.judge.num_judged:>8} {self.judge.num_whole:>7} {self.judge.num_compared:>9} "
            f"{self.service.num_requests:>8} {counts['Prototype']:>11} {mib:>8.1f} {len(self.faults):>7}"
        )

    def _travel(self, *, seconds: float) -> list[str]:
        ends_at = time.monotonic() + seconds
        on_the_way: list[Journey] = []
        found: list[str] = []
        for one in self.loops:
            fault = one.engine_fault
            fault.call, fault.kind = "parallel", self.draw.choice(FAULTS["parallel"])
            fault.at, fault.num_calls = self.draw.randint(1, 30), {}
        while on_the_way or time.monotonic() < ends_at:
            if self.draw.random() < 0.0003:
                self.draw.choice(self.loops).runner.is_due = True
                self.done["passes failed"] += 1
            if len(on_the_way) < _AT_ONCE and time.monotonic() < ends_at:
                begun = self._begun()
                on_the_way += [begun] if begun is not None else []
            else:
                time.sleep(0.002)
            for journey in [journey for journey in on_the_way if journey.is_over]:
                on_the_way.remove(journey)
                on_the_way += self._arrived(journey, found)
            late = [one for one in on_the_way if time.monotonic() - one.started_at > _PATIENCE_SECONDS]
            if late:
                found += [f"request {one.ask.number} has no end after {_PATIENCE_SECONDS:.0f} s" for one in late]
                break
            found += [f"a loop died: {one.loop.failure}" for one in self.loops if one.loop.failure is not None]
            if found and "a loop died" in found[-1]:
                break
        return found

    def _begun(self) -> Journey | None:
        draw = self.draw
        asked: Ask = ask(
            draw.randrange(self.num_numbers), self.tokenizer, self.contracts, max_tokens=_MAX_TOKENS,
            num_adapters=NUM_ADAPTERS,
        )  # fmt: skip
        fate = Fate(keeps=draw.random() < 0.5)
        if draw.random() < 0.12:
            fate.cancels_after = draw.randint(0, 20)
        if draw.random() < 0.2:
            fate.saves_after = draw.randint(0, 25)
        if draw.random() < 0.03:
            fate.sink_fails_at = draw.randint(0, 12)
        fault = None
        if draw.random() < 0.15:
            call, kind = draw.choice([case for case in CASES if case[0] != "parallel"])
            # The first calls are those of compiling it.
            fault = Fault(call=call, kind=kind, at=draw.randint(2, 40), lasts=draw.random() < 0.2)
            self.done["engines at fault"] += 1
        return self.travel.begin(asked, fate, fault)

    def _arrived(self, journey: Journey, found: list[str]) -> list[Journey]:
        """It is judged, or goes on."""
        finish = journey.told.finish
        assert finish is not None
        self.causes[finish.stop_cause] += 1
        fault = shape_fault(journey.events)
        if fault is not None:
            found.append(f"request {journey.ask.number}: {fault}")
            return []
        journey.wish.is_broken |= journey.at.runner.num_failed > journey.num_failed_before
        if finish.stop_cause == "saved":
            self.done["saved"] += 1
            again = self.travel.go_on(journey)
            return [again] if again is not None else []
        found += self.judge.faults("loop", journey.ask, journey.told, journey.wish)
        self.travel.known[tuple(journey.ask.prompt_ids), journey.ask.choice.seed] = journey.told.token_ids
        self.done["preempted"] += finish.decoding.num_preemptions
        self.done["drafts taken"] += finish.decoding.accepted_draft_tokens
        self.done["forced"] += finish.usage.forced_tokens
        return []

    def _idle_faults(self) -> list[str]:
        found: list[str] = []
        for number, (one, num_own) in enumerate(zip(self.loops, self.num_own_rows, strict=True)):
            if one.loop.failure is not None:
                continue
            eventually(lambda one=one: one.loop._is_idle and not one.loop._seating._held)

            def look(one: SoakLoop = one, num_own: int = num_own) -> list[str]:
                return loop_faults(one.loop, one.rows, one.masks, num_own_rows=num_own)

            faults = [*one.loop.between_steps(look).result(60), *bank_faults(one.bank)]
            found += [f"loop {number}: {fault}" for fault in faults]
        return found


def soaked(directory: Path, tokenizer: BoundTokenizer, *, minutes: float, seed: int, num_schemas: int) -> list[str]:
    """Run for so long, in minutes or one part of one; what was wrong."""
    before = live_counts()
    among = contracts(tokenizer, num_schemas=num_schemas)
    judge = SoakJudge(tokenizer)
    num_numbers = max(60, int(60 * minutes))
    known: dict[tuple[tuple[int, ...], int], Sequence[int]] = {}
    with (
        soak_loops(directory, tokenizer, known) as loops,
        soak_service(directory, tokenizer, among, judge, num_numbers=num_numbers) as service,
    ):
        draw = random.Random(seed)
        soak = Soak(
            loops=loops,
            service=service,
            travel=Travel(loops, tokenizer, draw, known),
            judge=judge,
            tokenizer=tokenizer,
            contracts=among,
            draw=draw,
            num_numbers=num_numbers,
            num_own_rows=[len(one.rows._taken) for one in loops],
            before=before,
        )
        print(f"{len(among)} contracts, {num_numbers} requests to draw from", flush=True)
        print(" min   judged   whole  compared over HTTP  prototypes  RSS MiB   wrong", flush=True)
        for number in range(1, max(1, round(minutes)) + 1):
            print(soak.minute(number, seconds=min(1.0, minutes) * 60), flush=True)
            if any(one.loop.failure is not None for one in loops):
                break
        print(f"ends: {dict(soak.causes.most_common())}")
        print(f"done: {dict(soak.done)}; restored over HTTP {service.num_restored}, left {service.num_left}")
        slope = soak.memory.slope
        print("memory: " + ("too short to tell" if slope is None else f"{slope:+.2f} MiB a minute"), flush=True)
        return [*soak.faults, *soak.memory.faults()]


def main() -> int:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--schemas", type=int, default=12, help="of the corpus")
    parser.add_argument("--cache-dir", type=Path, default=Path(os.environ.get("SCHEMAGATE_CACHE_DIR", ".cache")))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    model = prepare_default_model(arguments.cache_dir, lambda line: None)
    with tempfile.TemporaryDirectory() as scratch:
        directory = write_model(Path(scratch) / "tiny", model, tiny_config())
        faults = soaked(
            directory, load_tokenizer(directory), minutes=arguments.minutes, seed=arguments.seed,
            num_schemas=arguments.schemas,
        )  # fmt: skip
    print("nothing was wrong" if not faults else f"{len(faults)} things were wrong", flush=True)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
