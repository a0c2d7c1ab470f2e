"""Long walks through the masks of the hostile contracts that are accepted: does a node stall, or fail, past the trial?

    python -m tests.hostile.walks [--limits tenant|governed] [--tokenizer FILE] [--steps 2000] [--only WORDS]

A mask is what holds a step of a whole batch up, so the slowest one is told, in CPU time of the thread and measured
again where it is slow. Status 1 if the engine fails, a walk comes to a dead end, or a mask takes longer than the trial
allows.
"""

import argparse
import random
import re
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from llguidance import LLMatcher

from compiler_pool.compiler import CompiledContract, compile_contract
from compiler_pool.tokenizer import BoundTokenizer, load_tokenizer
from compiler_pool.trial import engine_limits
from policy.enforcement import EnforcementPolicy
from policy.limits import LIMIT_CLASSES, LimitClass
from registry.errors import ContractRejectedError
from tests.compiler_pool.tiny_tokenizer import write_tokenizer
from tests.hostile.contracts import hostile_contracts
from tests.hostile.judging import contract_text, read

_ALLOWING = re.compile(rb"[^\x00]")
_ENDING_SHARE = 0.02
"""Of steps that take the end of the text where it may end."""


@dataclass(slots=True, kw_only=True)
class Walked:
    """What one contract's walk came to."""

    failure: str = ""
    num_texts: int = 0
    mask_seconds: list[float] = field(default_factory=list)


def walk(grammar: str, tokenizer: BoundTokenizer, limits: LimitClass, *, num_steps: int, seed: int) -> Walked:
    """So many steps, each any token that the mask allows; a new text where one has ended."""
    chance, walked = random.Random(seed), Walked()
    prototype = LLMatcher(tokenizer.engine, grammar, log_level=0, limits=engine_limits(limits.engine))
    current = prototype.deep_copy()
    for _ in range(num_steps):
        started = time.thread_time()
        mask = current.compute_bitmask()
        walked.mask_seconds.append(time.thread_time() - started)
        if current.is_error():
            walked.failure = current.get_error()[:120]
            return walked
        found = _ALLOWING.search(mask, chance.randrange(len(mask))) or _ALLOWING.search(mask)
        if found is None:
            walked.failure = "dead end"
            return walked
        ends = [token for token in tokenizer.end_ids if mask[token >> 3] >> (token & 7) & 1]
        if ends and chance.random() < _ENDING_SHARE:
            walked.num_texts += 1
            current = prototype.deep_copy()
            continue
        bits = [bit for bit in range(8) if mask[found.start()] >> bit & 1]
        token = found.start() * 8 + chance.choice(bits)
        if token in ends:
            walked.num_texts += 1
            current = prototype.deep_copy()
            continue
        if not current.consume_token(token):
            walked.failure = f"token {token} was offered and not taken"
            return walked
        if current.is_stopped():
            walked.num_texts += 1
            current = prototype.deep_copy()
    return walked


def run(arguments: argparse.Namespace, tokenizer: BoundTokenizer, statuses: list[int]) -> None:
    """Walk through all accepted ones."""
    limits: LimitClass = LIMIT_CLASSES[arguments.limits]
    num_walked = num_failed = num_masks = 0
    worst: list[tuple[float, str]] = []
    for hostile in hostile_contracts():
        if arguments.only not in hostile.name:
            continue
        try:
            contract = read(hostile.kind, contract_text(hostile), limits)
        except ContractRejectedError:
            continue
        compiled = compile_contract(
            contract.kind.value, contract.text, tokenizer=tokenizer, policy=EnforcementPolicy(), limits=limits
        )
        if not isinstance(compiled, CompiledContract):
            continue
        walked = walk(compiled.grammar, tokenizer, limits, num_steps=arguments.steps, seed=1)
        slowest = max(walked.mask_seconds)
        if slowest > limits.trial.max_step_seconds:
            again = walk(compiled.grammar, tokenizer, limits, num_steps=len(walked.mask_seconds), seed=1)
            slowest = min(slowest, max(again.mask_seconds))
        is_bad = bool(walked.failure) or slowest > limits.trial.max_step_seconds
        num_walked, num_failed, num_masks = num_walked + 1, num_failed + is_bad, num_masks + len(walked.mask_seconds)
        worst.append((slowest, hostile.name))
        figures = f"{len(walked.mask_seconds):6} masks {walked.num_texts:5} texts  slowest {slowest * 1e3:7.2f} ms"
        print(f"{'!' if is_bad else ' '} {hostile.name[:60]:60} {figures}  {walked.failure}", flush=True)
    slowest, name = max(worst, default=(0.0, ""))
    print(f"{limits.name}: {num_walked} contracts, {num_masks} masks, {num_failed} not well;"
          f" slowest {slowest * 1e3:.1f} ms ({name})")  # fmt: skip
    statuses.append(1 if num_failed else 0)


def main() -> int:
    """Walk, on a stack as large as a worker's."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limits", choices=("tenant", "governed"), default="tenant")
    parser.add_argument("--tokenizer", type=Path, default=None, help="a tokenizer; by default a tiny one")
    parser.add_argument("--steps", type=int, default=2_000)
    parser.add_argument("--only", default="", help="contracts whose name contains this")
    arguments = parser.parse_args()
    statuses: list[int] = []
    with tempfile.TemporaryDirectory() as directory:
        tokenizer = load_tokenizer(arguments.tokenizer or write_tokenizer(Path(directory) / "tiny.json"))
        threading.stack_size(LIMIT_CLASSES[arguments.limits].compile.stack_bytes)
        walking = threading.Thread(target=run, args=(arguments, tokenizer, statuses))
        walking.start()
        walking.join()
    return statuses[0] if statuses else 1


if __name__ == "__main__":
    sys.exit(main())
