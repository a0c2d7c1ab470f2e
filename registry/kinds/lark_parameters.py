"""Parameters of Lark rules: expressions that give one on, and conditions on the own one, as canonical text.

A parameter is a 64-bit integer. The functions are those of llguidance's parametric grammars; each has one spelling
here, with decimal numbers, `_` for all bits, and single bits by their number.
"""

from collections.abc import Callable
from typing import Final, Protocol

NUM_BITS: Final = 64
MAX_CONDITION_DEPTH: Final = 32
"""Conditions within each other; reading them recurses."""

_COMPARISONS: Final = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})
_COUNTS: Final = frozenset({f"bit_count_{name}" for name in _COMPARISONS})
_BIT_TESTS: Final = frozenset({"bit_clear", "bit_set"})
_RANGE_TESTS: Final = frozenset({"is_zeros", "is_ones"})


class ParameterTokens(Protocol):
    """The parser's side: what it can be asked for the next token."""

    def take_sign(self, sign: str) -> bool:
        """Whether the next token was this sign, which is then taken."""

    def expect_sign(self, sign: str) -> None:
        """Take this sign, or refuse."""

    def take_number(self, most: int) -> int | None:
        """The next token, if it is a whole number; refused above `most`."""

    def expect_word(self) -> str:
        """Take a lower-case word, or refuse."""

    def fail(self, message: str) -> None:
        """Refuse at the next token."""


def read_argument(tokens: ParameterTokens) -> str:
    """What a reference gives its rule as parameter."""
    number = tokens.take_number(2**NUM_BITS - 1)
    if number is not None:
        return str(number)
    if tokens.take_sign("_"):
        return "_"
    word = tokens.expect_word()
    if word in {"incr", "decr"}:
        return _call(tokens, word, _bits)
    if word in {"bit_and", "bit_or"}:
        return _call(tokens, word, _number)
    if word in {"set_bit", "clear_bit"}:
        return _call(tokens, word, _bit)
    tokens.fail(f"`{word}` is not a function of parameters")
    raise AssertionError("refused above")


def read_condition(tokens: ParameterTokens, depth: int = 0) -> str:
    """A condition; `true` where there is none."""
    if depth > MAX_CONDITION_DEPTH:
        tokens.fail(f"Conditions are nested more than {MAX_CONDITION_DEPTH} deep")
    word = tokens.expect_word()
    if word == "true":
        return word
    if word in _COMPARISONS:
        return _call(tokens, word, _bits, _number)
    if word in _COUNTS:
        return _call(tokens, word, _bits, _bit)
    if word in _BIT_TESTS:
        return _call(tokens, word, _bit)
    if word in _RANGE_TESTS:
        return _call(tokens, word, _bits)
    if word in {"and", "or", "not"}:
        inner: Callable[[ParameterTokens], str] = lambda more: read_condition(more, depth + 1)  # noqa: E731 - one line
        return _call(tokens, word, *([inner] if word == "not" else [inner, inner]))
    tokens.fail(f"`{word}` is not a condition")
    raise AssertionError("refused above")


def _call(tokens: ParameterTokens, word: str, *readers: Callable[[ParameterTokens], str]) -> str:
    tokens.expect_sign("(")
    found: list[str] = []
    for index, reader in enumerate(readers):
        if index:
            tokens.expect_sign(",")
        found.append(reader(tokens))
    tokens.expect_sign(")")
    return f"{word}({','.join(found)})"


def _bits(tokens: ParameterTokens) -> str:
    """`[x:y]`, bits x to y without y, or `_` for all."""
    if tokens.take_sign("_"):
        return "_"
    tokens.expect_sign("[")
    start = int(_number_up_to(tokens, NUM_BITS - 1))
    tokens.expect_sign(":")
    end = int(_number_up_to(tokens, NUM_BITS))
    if end <= start:
        tokens.fail("The end of a range of bits is above its start")
    tokens.expect_sign("]")
    return "_" if (start, end) == (0, NUM_BITS) else f"[{start}:{end}]"


def _bit(tokens: ParameterTokens) -> str:
    return _number_up_to(tokens, NUM_BITS - 1)


def _number(tokens: ParameterTokens) -> str:
    return _number_up_to(tokens, 2**NUM_BITS - 1)


def _number_up_to(tokens: ParameterTokens, most: int) -> str:
    found = tokens.take_number(most)
    if found is None:
        tokens.fail("A whole number is missing")
    return str(found)
