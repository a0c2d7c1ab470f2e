"""The rules' process: `compiler_pool.child` runs `build` once, then its callable for each answer."""

import sys
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, assert_never

from compiler_pool.job import JsonLike
from gateway.rules.cel import (
    Binding,
    Expression,
    ExpressionFault,
    UnrepresentableError,
    cel_value,
    compile_expression,
)
from gateway.rules.finished import Finished, FinishedCall, FinishedObject
from gateway.rules.job import CelVerdict, CheckJob, EvaluationJob, Refusal, pack_refusals, pack_verdicts, unpack_job
from gateway.rules.rule_set import Target
from gateway.rules.verdict import NotApplicable, Passed, RuleFault, Undecided
from gateway.validation.judge import DEFAULT_LIMITS
from registry.errors import ContractRejectedError
from registry.parsing import parse_json

MAX_PREPARED_EXPRESSIONS = 1_024
"""Per process, least recently used first to go; one has about 10 kB."""

_MAX_FRAMES = 5_000
"""Nesting of an answer is at most 512, with two frames a level."""


class _Shelf:
    """Compiled expressions by their text."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[Target, str], Expression | ExpressionFault] = OrderedDict()

    def take(self, target: Target, text: str) -> Expression | ExpressionFault:
        kept = self._kept.get((target, text))
        if kept is None:
            kept = self._kept[target, text] = compile_expression(text, target)
            if len(self._kept) > MAX_PREPARED_EXPRESSIONS:
                self._kept.popitem(last=False)
        self._kept.move_to_end((target, text))
        return kept


def build(config: dict[str, JsonLike]) -> Callable[[bytes], bytes]:  # noqa: ARG001 - what a worker is called with
    """A job that evaluates the rules of one answer, or checks expressions."""
    sys.setrecursionlimit(_MAX_FRAMES)
    shelf = _Shelf()

    def perform(payload: bytes) -> bytes:
        job = unpack_job(payload)
        match job:
            case CheckJob():
                return pack_refusals([_refusal(shelf.take(*expression)) for expression in job.expressions])
            case EvaluationJob():
                return pack_verdicts(_evaluate(job, shelf))
            case _:
                assert_never(job)

    return perform


def _refusal(compiled: Expression | ExpressionFault) -> Refusal | None:
    if isinstance(compiled, Expression):
        return None
    return Refusal(message=compiled.message, line=compiled.line, column=compiled.column)


def _evaluate(job: EvaluationJob, shelf: _Shelf) -> list[CelVerdict]:
    circumstances = {name: cel_value(value) for name, value in job.circumstances.items()}
    looked_at = [(part.target, _binding_of(part, circumstances)) for part in job.finished]
    return [_over_all(shelf.take(target, text), target, looked_at) for target, text in job.expressions]


def _binding_of(part: Finished, circumstances: dict[str, Any]) -> Binding | Undecided:
    """The variables of the rules that look at it."""
    unrepresentable = Undecided(fault=RuleFault.UNREPRESENTABLE)
    try:
        limits = DEFAULT_LIMITS
        value = cel_value(
            parse_json(part.text, max_bytes=limits.max_document_bytes, max_nesting=limits.max_nesting)
            if part.is_json
            else part.text
        )
    except (UnrepresentableError, ContractRejectedError):
        return unrepresentable
    match part:
        case FinishedObject():
            looked_at = value
        case FinishedCall(name=name):
            looked_at = {"name": name, "arguments": value}
        case _:
            assert_never(part)
    return Binding(part.target, {part.target.value: looked_at, **circumstances})


def _over_all(
    compiled: Expression | ExpressionFault,
    target: Target,
    looked_at: list[tuple[Target, Binding | Undecided]],
) -> CelVerdict:
    """One verdict over all parts that the rule looks at: the first that is not a yes."""
    bindings = [binding for looked_target, binding in looked_at if looked_target is target]
    if not bindings:
        return NotApplicable()
    if isinstance(compiled, ExpressionFault):
        return Undecided(fault=RuleFault.UNREADABLE)
    for binding in bindings:
        verdict = binding if isinstance(binding, Undecided) else compiled.evaluate(binding)
        if not isinstance(verdict, Passed):
            return verdict
    return Passed()
