"""The real grammar engine, which fails at a chosen call."""

from ctypes import c_int32
from dataclasses import dataclass, field

import numpy as np

from compiler_pool.tokenizer import BoundTokenizer
from inference_node.grammar_engine import GrammarEngine, ParallelFill, compile_engine, new_parallel_fill
from policy.limits import EngineBudget


class PanicException(BaseException):  # the name by which native code that gave up shows in Python
    """As the engine's bindings raise it: no `Exception`."""


@dataclass(slots=True, kw_only=True, eq=False)
class Fault:
    """What goes wrong: at the `at`-th call of a name, over all engines together; with `lasts` at every later one too.

    `kind`: `raises` and `panics` before the call; `errs` puts the engine into its own error state before the call;
    anything else is answered in place of what the engine says.
    """

    call: str = ""
    kind: str = "raises"
    at: int = 1
    lasts: bool = False
    num_calls: dict[str, int] = field(default_factory=dict)
    num_faults: int = 0

    def strikes(self, call: str) -> bool:
        """Count a call. Whether it goes wrong."""
        self.num_calls[call] = count = self.num_calls.get(call, 0) + 1
        is_struck = call == self.call and (count == self.at or (self.lasts and count > self.at))
        self.num_faults += is_struck
        return is_struck

    def begin(self, call: str, real: GrammarEngine | None, refused_token: int) -> bool:
        """Whether the answer is to be another than the engine's."""
        is_struck = self.strikes(call)
        if self.call == "get_error" and call == "try_consume_tokens" and self.num_calls[call] == 3 and real is not None:
            real.consume_token(refused_token)  # errors are read only where there is one
        if not is_struck:
            return False
        if self.kind == "raises":
            raise RuntimeError("the call failed")
        if self.kind == "panics":
            raise PanicException("called `Option::unwrap()` on a `None` value")
        if self.kind == "errs" and real is not None:
            real.consume_token(refused_token)
        return self.kind != "errs"


class FaultyEngine:
    """A real engine behind a fault; its copies are behind the same one."""

    def __init__(self, real: GrammarEngine, fault: Fault, tokenizer: BoundTokenizer) -> None:
        self.real = real
        self.fault = fault
        self._tokenizer = tokenizer
        # A special token that no grammar grants.
        self._refused_token = min(tokenizer.withheld)

    def _begin(self, call: str) -> bool:
        return self.fault.begin(call, self.real, self._refused_token)

    def is_error(self) -> bool:
        return True if self._begin("is_error") else self.real.is_error()

    def get_error(self) -> str:
        return "" if self._begin("get_error") else self.real.get_error()

    def is_accepting(self) -> bool:
        return False if self._begin("is_accepting") else self.real.is_accepting()

    def is_stopped(self) -> bool:
        return True if self._begin("is_stopped") else self.real.is_stopped()

    def deep_copy(self) -> GrammarEngine:
        is_wrong = self._begin("deep_copy")
        copy = self.real.deep_copy()
        if is_wrong:
            copy.consume_token(self._refused_token)
        return FaultyEngine(copy, self.fault, self._tokenizer)

    def consume_token(self, sampled_token: int, /) -> bool:
        return False if self._begin("consume_token") else self.real.consume_token(sampled_token)

    def try_consume_tokens(self, tokens: list[int], /) -> int:
        return 0 if self._begin("try_consume_tokens") else self.real.try_consume_tokens(tokens)

    def validate_tokens(self, tokens: list[int], /) -> int:
        if self._begin("validate_tokens"):
            return len(tokens) + 7 if self.fault.kind == "too many" else 0
        return self.real.validate_tokens(tokens)

    def compute_ff_tokens(self) -> list[int]:
        if self._begin("compute_ff_tokens"):
            return {"nothing": [], "an end": [self._tokenizer.end_ids[0]], "nonsense": [self._refused_token]}[
                self.fault.kind
            ]
        return self.real.compute_ff_tokens()

    def rollback(self, num_tokens: int, /) -> bool:
        return False if self._begin("rollback") else self.real.rollback(num_tokens)

    def unsafe_compute_mask_ptr(self, trg_pointer: int, trg_byte_size: int, /) -> None:
        is_wrong = self._begin("unsafe_compute_mask_ptr")
        self.real.unsafe_compute_mask_ptr(trg_pointer, trg_byte_size)
        if is_wrong:
            self.spoil(trg_pointer, trg_byte_size)

    def spoil(self, address: int, num_bytes: int) -> None:
        """Write another mask over the engine's."""
        mask = np.ctypeslib.as_array((c_int32 * (num_bytes // 4)).from_address(address))
        mask[:] = -1 if self.fault.kind == "all" else 0
        if self.fault.kind == "ends":
            for token_id in self._tokenizer.end_ids:
                mask[token_id // 32] |= np.int32(1) << np.int32(token_id % 32)


class FaultyCompiler:
    """Compiles real grammars into engines behind a fault."""

    def __init__(self, fault: Fault) -> None:
        self._fault = fault

    def __call__(self, tokenizer: BoundTokenizer, grammar: str, budget: EngineBudget, /) -> GrammarEngine:
        is_wrong = self._fault.begin("compile", None, 0)
        return FaultyEngine(
            compile_engine(tokenizer, "start: missing" if is_wrong else grammar, budget), self._fault, tokenizer
        )


class FaultyParallelFill:
    """The real one, for engines some of which are behind a fault."""

    def __init__(self, fault: Fault) -> None:
        self._fault = fault
        self._real: ParallelFill = new_parallel_fill(2)

    def unsafe_compute_mask_ptr(
        self, interpreters: list[tuple[GrammarEngine, int]], trg_pointer: int, one_mask_bytes: int, batch: int, /
    ) -> None:
        behind = [(engine, row) for engine, row in interpreters if isinstance(engine, FaultyEngine)]
        is_wrong = bool(behind) and self._fault.begin("parallel", behind[0][0].real, min_withheld(behind[0][0]))
        self._real.unsafe_compute_mask_ptr(
            [(engine.real if isinstance(engine, FaultyEngine) else engine, row) for engine, row in interpreters],
            trg_pointer, one_mask_bytes, batch,
        )  # fmt: skip
        if is_wrong:
            engine, row = behind[0]
            engine.spoil(trg_pointer + row * one_mask_bytes, one_mask_bytes)


def min_withheld(engine: FaultyEngine) -> int:
    """The token that no grammar takes."""
    return engine._refused_token
