"""CEL as rules use it. Imported in the rules' own processes only, because the engine is native code.

An expression is type-checked when it is set. What CEL would round or cut never reaches it: the engine takes integers
of 64 bits and doubles, and ends strings at U+0000.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from cel_expr_python import cel
from cel_expr_python.ext import ext_strings

from gateway.rules.rule_set import Target
from gateway.rules.verdict import Failed, Passed, RuleFault, Undecided
from registry.contract import JsonValue

_INT64: Final = range(-(2**63), 2**63)
_EXACT_DOUBLE: Final = 2**53
_FLOAT_LITERAL: Final = re.compile(r"(?<![\w.])(?:\d+\.\d+(?:[eE][-+]?\d+)?|\d+[eE][-+]?\d+|\.\d+(?:[eE][-+]?\d+)?)")
_PLACE: Final = re.compile(r"ERROR: <input>:(-?\d+):(-?\d+): ([^\n]*)")
_NOISE: Final = re.compile(r" \[[A-Z_]+\]$| \(in container ''\)")
_MAX_SAID: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpressionFault:
    """Why an expression is refused. Line and column count from 1; 0 where the whole of it is meant."""

    message: str
    line: int
    column: int


class UnrepresentableError(Exception):
    """A value that CEL would change."""


class Binding:
    """Values for the variables of all expressions on one target. The engine reads them once, however many ask."""

    def __init__(self, target: Target, variables: Mapping[str, Any]) -> None:
        self.target = target
        self.activation = _ENVIRONMENTS[target].Activation(data=dict(variables))


class Expression:
    """A compiled expression."""

    def __init__(self, compiled: Any) -> None:
        self._compiled = compiled

    def evaluate(self, binding: Binding) -> Passed | Failed | Undecided:
        """Whether the expression is true; `Failed` has no message yet, that is the rule's."""
        try:
            value = self._compiled.eval(activation=binding.activation)
        except RuntimeError:  # as the engine spells what is over its own bounds, such as iterations
            return Undecided(fault=RuleFault.EVALUATION)
        if value.type() == cel.Type.ERROR:
            return Undecided(fault=RuleFault.EVALUATION)
        if value.type() != cel.Type.BOOL:
            return Undecided(fault=RuleFault.NOT_BOOLEAN)
        return Passed() if value.value() is True else Failed(message="")


def _environment(target: Target) -> Any:
    members = cel.Type.Map(cel.Type.STRING, cel.Type.DYN)
    looked_at = {Target.OBJECT: cel.Type.DYN, Target.CALL: members}[target]
    return cel.NewEnv(
        variables={target.value: looked_at, "caller": members, "contract": members, "request": members},
        extensions=[ext_strings.ExtStrings()],
    )


_ENVIRONMENTS: Final = {target: _environment(target) for target in Target}


def compile_expression(text: str, target: Target) -> Expression | ExpressionFault:
    """Parse and type-check. An expression whose type is known and is not boolean is refused."""
    large = next((literal[0] for literal in _FLOAT_LITERAL.finditer(text) if _is_inexact(literal[0])), None)
    if large is not None:
        message = f"{large} is a double that whole numbers are rounded to; write a whole number"
        return ExpressionFault(message=message, line=0, column=0)
    if "\0" in text:
        return ExpressionFault(message="U+0000 stands in it", line=0, column=0)
    try:
        compiled = _ENVIRONMENTS[target].compile(text)
    except RuntimeError as error:
        return _fault(str(error))
    result = compiled.return_type()
    if result not in (cel.Type.BOOL, cel.Type.DYN):
        message = f"its value is {result.name().lower()}, and a rule is true or false"
        return ExpressionFault(message=message, line=0, column=0)
    return Expression(compiled)


def cel_value(value: JsonValue) -> Any:
    """`value` as the engine takes it without a loss.

    Raises:
        UnrepresentableError: it holds something that CEL has no exact value for.
    """
    if isinstance(value, str):
        if "\0" in value:
            raise UnrepresentableError
        return value
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        if value not in _INT64:
            raise UnrepresentableError
        return value
    if isinstance(value, Decimal):
        # The double that a reader of the text gets, where writing it down again gives the same digits.
        double = float(value)
        if Decimal(repr(double)) != value:
            raise UnrepresentableError
        return double
    if isinstance(value, list):
        return [cel_value(item) for item in value]
    return {cel_value(name): cel_value(member) for name, member in value.items()}


def _is_inexact(literal: str) -> bool:
    """Whole numbers from 2^53 on are compared with a double after rounding them to one."""
    return float(literal) >= _EXACT_DOUBLE


def _fault(said: str) -> ExpressionFault:
    found = _PLACE.search(said)
    if found is None:
        return ExpressionFault(message=_NOISE.sub("", said)[:_MAX_SAID], line=0, column=0)
    line, column = (max(int(found[number]), 0) for number in (1, 2))
    return ExpressionFault(message=_NOISE.sub("", found[3])[:_MAX_SAID], line=line, column=column)
