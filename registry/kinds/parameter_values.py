"""Arguments and conditions of Lark's parametric rules, from their canonical text to what they compute.

A parameter is a 64-bit number; a range of its bits is a number of its own, which counts up and down no further than
it goes.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final, NoReturn, TypeAlias

from policy.rejection import RejectionCode
from registry.kinds.faults import refuse

Parameter: TypeAlias = int
"""What a rule is entered with; 0 for rules that take none."""
NO_PARAMETER: Final[Parameter] = 0

Argument: TypeAlias = Callable[[Parameter], Parameter]
Condition: TypeAlias = Callable[[Parameter], bool]

_ALL: Final = (1 << 64) - 1
_TOKEN: Final = re.compile(r"[a-z_]+|\d+|[\[\]():,]")
_COMPARISONS: Final[Mapping[str, Callable[[int, int], bool]]] = {
    "eq": lambda left, right: left == right,
    "ne": lambda left, right: left != right,
    "lt": lambda left, right: left < right,
    "le": lambda left, right: left <= right,
    "gt": lambda left, right: left > right,
    "ge": lambda left, right: left >= right,
}


def argument(text: str | None) -> Argument:
    """What a reference gives its rule. Raises `ContractRejectedError` where it is none."""
    if text is None:
        return lambda _own: NO_PARAMETER
    tokens = _Tokens(text)
    found = tokens.argument()
    tokens.end()
    return found


def condition(text: str | None) -> Condition | None:
    """Under what parameter an alternative may be taken. Raises `ContractRejectedError` where it is none."""
    if text is None:
        return None
    tokens = _Tokens(text)
    found = tokens.condition()
    tokens.end()
    return found


class _Tokens:
    """Reads one canonical text, once."""

    def __init__(self, text: str) -> None:
        self._tokens = _TOKEN.findall(text)
        self._at = 0

    def argument(self) -> Argument:
        word = self._next()
        if word.isdigit():
            number = int(word)
            return lambda _own: number
        if word == "_":
            return lambda own: own
        self._take("(")
        found = self._changed(word)
        self._take(")")
        return found

    def _changed(self, word: str) -> Argument:
        if word in {"incr", "decr"}:
            low, size = self._bits()
            most = (1 << size) - 1

            def counted(own: Parameter) -> Parameter:
                value = own >> low & most
                moved = min(value + 1, most) if word == "incr" else max(value - 1, 0)
                return own & ~(most << low) | moved << low

            return counted
        number = self._number()
        match word:
            case "bit_and":
                return lambda own: own & number
            case "bit_or":
                return lambda own: own | number
            case "set_bit":
                return lambda own: own | 1 << number
            case "clear_bit":
                return lambda own: own & ~(1 << number)
            case _:
                return _fail(f"`{word}` is no function of parameters")

    def condition(self) -> Condition:
        word = self._next()
        if word == "true":
            return lambda _own: True
        self._take("(")
        found = self._joined(word) if word in {"and", "or", "not"} else self._test(word)
        self._take(")")
        return found

    def _joined(self, word: str) -> Condition:
        first = self.condition()
        if word == "not":
            return lambda own: not first(own)
        self._take(",")
        second = self.condition()
        if word == "and":
            return lambda own: first(own) and second(own)
        return lambda own: first(own) or second(own)

    def _test(self, word: str) -> Condition:
        if word in {"bit_clear", "bit_set"}:
            bit, wanted = self._number(), word == "bit_set"
            return lambda own: bool(own >> bit & 1) is wanted
        low, size = self._bits()
        most = (1 << size) - 1
        if word in {"is_zeros", "is_ones"}:
            goal = 0 if word == "is_zeros" else most
            return lambda own: own >> low & most == goal
        compare = _COMPARISONS.get(word.removeprefix("bit_count_"))
        if compare is None:
            _fail(f"`{word}` is no condition")
        self._take(",")
        number = self._number()
        if word.startswith("bit_count_"):
            return lambda own: compare((own >> low & most).bit_count(), number)
        return lambda own: compare(own >> low & most, number)

    def _bits(self) -> tuple[int, int]:
        """The lowest bit of a range, and how many there are."""
        if self._peek() == "_":
            self._at += 1
            return 0, 64
        self._take("[")
        low = self._number()
        self._take(":")
        high = self._number()
        self._take("]")
        return low, high - low

    def _number(self) -> int:
        word = self._next()
        if not word.isdigit():
            _fail("a number is missing")
        return int(word) & _ALL

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _next(self) -> str:
        word = self._peek()
        self._at += 1
        return word

    def _take(self, sign: str) -> None:
        if self._next() != sign:
            _fail(f"`{sign}` is missing")

    def end(self) -> None:
        """Nothing is left over."""
        if self._at != len(self._tokens):
            _fail("more stands here than is understood")


def _fail(message: str) -> NoReturn:
    refuse(RejectionCode.INVALID_GRAMMAR, f"In a parameter: {message}.")
