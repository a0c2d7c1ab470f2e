"""Whatever the grammar engine does at whichever call, one request ends with a cause or goes on with the same tokens.

Three sequences decode a text side by side, with drafts, forced runs, a token taken back and a text judged apart: two on
one prototype whose engine fails at a chosen call, and a neighbour on another contract.
"""

import ast
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
import torch

import inference_node
from compiler_pool.tokenizer import BoundTokenizer
from inference_node import grammar_engine
from inference_node.errors import GrammarError
from inference_node.grammar import Prototype
from inference_node.group_fill import fill_rows
from inference_node.mask_rows import MaskRows
from inference_node.matcher import GrammarMatcher
from kernels.bitmask import bitmask_words
from policy.limits import TENANT
from tests.inference_node.faulty_engine import Fault, FaultyCompiler, FaultyParallelFill

GRAMMAR = 'start: "{\\"number\\":" /[0-9]{1,6}/ ",\\"truth\\":" ("true"|"false") "}" /x{0,3}/'
TEXT = b'{"number":3141,"truth":false}xx'

FAULTS = {
    "compile": ["raises", "panics", "refuses"],
    "is_error": ["raises", "panics", "errs", "error"],
    "get_error": ["raises", "panics", "errs", "nothing"],
    "is_accepting": ["raises", "panics", "errs", "no"],
    "is_stopped": ["raises", "panics", "errs"],
    "deep_copy": ["raises", "panics", "errs", "broken"],
    "consume_token": ["raises", "panics", "errs", "no"],
    "try_consume_tokens": ["raises", "panics", "errs", "none"],
    "validate_tokens": ["raises", "panics", "errs", "none", "too many"],
    "compute_ff_tokens": ["raises", "panics", "errs", "nothing", "an end", "nonsense"],
    "rollback": ["raises", "panics", "errs", "no"],
    "unsafe_compute_mask_ptr": ["raises", "panics", "errs", "all", "ends", "nothing"],
    "parallel": ["raises", "panics", "errs", "all", "ends", "nothing"],
}
"""Every call that the node makes into the engine, and what goes wrong in it."""

MAY_END = {
    ("compile", "raises"), ("compile", "panics"), ("compile", "refuses"), ("compute_ff_tokens", "nonsense"),
    *((call, mask) for call in ("unsafe_compute_mask_ptr", "parallel") for mask in ("all", "ends", "nothing")),
}  # fmt: skip
"""Where even one fault may end its sequence: nothing compiles, or the engine says without an error what is not so."""

CASES = [(call, kind) for call, kinds in FAULTS.items() for kind in kinds]


@dataclass
class Run:
    """One sequence, decoded as the step loop does: whoever is broken is repaired and asked again."""

    matcher: GrammarMatcher
    row_ids: list[int]
    owed: list[int] = field(default_factory=list)
    asks_forced: bool = True
    drafts: list[int] = field(default_factory=list)
    has_gone_back: bool = False
    is_over: bool = False

    @property
    def rows(self) -> list[int]:
        return self.row_ids[: 1 + len(self.drafts)]

    @property
    def ended_by(self) -> str:
        if self.matcher.failure is not None:
            return "grammar_failed"
        if self.matcher.is_dead_end:
            return "dead_end"
        return "grammar_end" if self.matcher.is_terminated else "ended"


@dataclass
class World:
    tokenizer: BoundTokenizer
    fault: Fault
    runs: list[Run]
    rows: MaskRows
    neighbour: Run
    known: list[int]
    """The tokens of a run without faults, to draft from."""

    def check(self, run: Run) -> None:
        """Nothing is called complete that is not, and no engine is taken for further than its tokens."""
        text = self.tokenizer.decode(run.matcher.tokens)
        assert TEXT.startswith(text) or run.is_over
        if run.matcher.is_accepting:
            assert text in {TEXT[: len(TEXT) - count] for count in range(3)} | {TEXT + b"x"}

    def decode(self) -> None:
        parallel = FaultyParallelFill(self.fault)
        everybody = [*self.runs, self.neighbour]
        for step in range(200):
            for run in everybody:
                self.catch_up(run)
            live = [run for run in everybody if not run.is_over]
            if not live:
                return
            for run in live:
                place = len(run.matcher.tokens)
                wanted = self.known[place : place + 3]
                run.drafts = wanted[: run.matcher.allowed_drafts(wanted)]
            live = [run for run in live if not run.matcher.is_broken]
            is_group = step % 3 < 2
            filled = fill_rows(live, self.rows, parallel) if is_group else [self.fill_alone(run) for run in live]
            for run, num_rows in zip(live, filled, strict=True):
                self.pick(run, num_rows)
        raise AssertionError("it does not end")

    def fill_alone(self, run: Run) -> int:
        run.drafts = []
        run.matcher.fill_bitmask(self.rows.row(run.rows[0]))
        return int(run.matcher.has_next_token)

    def catch_up(self, run: Run) -> None:
        """Repair, take what is owed, ask what is forced: until neither is left, or the matcher does not stand."""
        while not run.is_over:
            run.matcher.repair()
            self.check(run)
            if not run.matcher.is_standing or run.matcher.is_terminated:
                run.is_over = True
            elif run.owed:
                run.matcher.advance(run.owed[:1])
                if not run.matcher.is_broken:
                    run.owed.pop(0)
            elif run.asks_forced:
                run.owed = run.matcher.forced_tokens()
                run.asks_forced = run.matcher.is_broken
            else:
                return

    def pick(self, run: Run, num_rows: int) -> None:
        self.check(run)
        for row in run.rows[num_rows:]:
            assert not self.rows.row(row).any()
        if num_rows == 0:
            assert run.matcher.is_broken or not run.matcher.is_standing
            run.is_over = not run.matcher.is_standing
            return
        bits = np.unpackbits(self.rows.row(run.rows[0]).view(np.uint8), bitorder="little")
        allowed: set[int] = set(np.flatnonzero(bits).tolist())
        assert not allowed & self.tokenizer.withheld
        text = self.tokenizer.decode(run.matcher.tokens)
        if allowed & set(self.tokenizer.end_ids):
            assert run.matcher.is_accepting
        rest = TEXT[len(text) :]
        fitting = [token for token in allowed if self.tokenizer.token_bytes[token] and token not in
                   self.tokenizer.special and rest.startswith(self.tokenizer.token_bytes[token])]  # fmt: skip
        if not fitting:
            run.is_over = True  # whoever samples takes the end here, or nothing
            return
        run.owed = [max(fitting, key=lambda token: len(self.tokenizer.token_bytes[token]))]
        run.asks_forced = True
        if not run.has_gone_back and text.endswith(b"31"):
            run.has_gone_back = True
            run.matcher.rollback(1)
            run.owed = []


def new_world(tokenizer: BoundTokenizer, fault: Fault, known: list[int]) -> World:
    """Raises GrammarError where nothing compiles."""
    prototype = Prototype.build(tokenizer, GRAMMAR, TENANT.engine, compiler=FaultyCompiler(fault))
    other = Prototype.build(tokenizer, GRAMMAR, TENANT.engine)
    rows = MaskRows(words=bitmask_words(tokenizer.vocabulary_size), device=torch.device("cpu"))
    first, second, neighbour = (
        Run(matcher=matcher, row_ids=rows.take(4))
        for matcher in (prototype.matcher(), prototype.matcher(), other.matcher())
    )
    return World(tokenizer, fault, [first, second], rows, neighbour, known)


@pytest.fixture(scope="module")
def faultless(tokenizer: BoundTokenizer) -> World:
    world = new_world(tokenizer, Fault(), [])
    world.decode()
    again = new_world(tokenizer, Fault(), list(world.neighbour.matcher.tokens))
    again.decode()
    assert again.runs[0].matcher.accepts_text(TEXT)
    return again


def test_every_call_that_the_node_makes_into_the_engine_has_its_faults() -> None:
    calls = {
        name for name, value in vars(grammar_engine.GrammarEngine).items() if callable(value) and name[0] != "_"
    }  # fmt: skip
    assert calls | {"parallel", "compile"} == set(FAULTS)
    parallel = [name for name, value in vars(grammar_engine.ParallelFill).items() if callable(value) and name[0] != "_"]
    assert parallel == ["unsafe_compute_mask_ptr"]


def test_one_module_knows_the_engine_and_declares_all_that_is_called() -> None:
    folder = Path(str(inference_node.__file__)).parent
    importers = []
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if any(name.split(".")[0] == "llguidance" for name in names):
                importers.append(path.name)
    assert importers == ["grammar_engine.py"]


def test_without_a_fault_all_decode_the_text_and_every_call_is_made(faultless: World) -> None:
    for run in [*faultless.runs, faultless.neighbour]:
        assert faultless.tokenizer.decode(run.matcher.tokens) == TEXT
        assert run.matcher.is_accepting
    missing = {call for call in FAULTS if not faultless.fault.num_calls.get(call)}
    assert missing == {"get_error"}  # read only where there is one


@pytest.mark.parametrize("lasts", [False, True], ids=["once", "for good"])
@pytest.mark.parametrize(("call", "kind"), CASES, ids=[f"{call} {kind}" for call, kind in CASES])
def test_a_fault_ends_its_own_sequence_with_a_cause_or_costs_it_nothing(
    tokenizer: BoundTokenizer, faultless: World, call: str, kind: str, *, lasts: bool
) -> None:
    num_struck = 0
    num_calls = faultless.fault.num_calls.get(call, 1)
    for at in sorted({1, 2, 3, 5, 8, num_calls // 2, num_calls - 1, num_calls} - {0}):
        fault = Fault(call=call, kind=kind, at=at, lasts=lasts)
        try:
            world = new_world(tokenizer, fault, faultless.known)
        except GrammarError:
            num_struck += fault.num_faults
            continue
        world.decode()
        num_struck += fault.num_faults
        neighbour = world.neighbour.matcher
        assert list(neighbour.tokens) == list(faultless.neighbour.matcher.tokens)
        assert neighbour.is_accepting
        assert not neighbour.prototype.is_broken
        whole = [list(run.matcher.tokens) == faultless.known and run.matcher.is_accepting for run in world.runs]
        for run, is_whole in zip(world.runs, whole, strict=True):
            assert is_whole or run.ended_by in {"grammar_failed", "dead_end"} or kind in {"all", "ends"}
        if not lasts:
            assert any(whole)
            assert all(whole) or (call, kind) in MAY_END, (at, [run.ended_by for run in world.runs])
    assert num_struck
