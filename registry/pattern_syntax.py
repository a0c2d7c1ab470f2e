"""What a `pattern` says, as a tree: exactly what ECMA-262 and the engines' syntaxes can both say, and no more."""

from dataclasses import dataclass, field
from typing import Final, TypeAlias

CodePointRanges: TypeAlias = "tuple[tuple[int, int], ...]"
"""Inclusive ranges of code points."""

MAX_CODE_POINT: Final = 0x10FFFF

DIGITS: Final[CodePointRanges] = ((0x30, 0x39),)
WORD: Final[CodePointRanges] = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
# ECMA-262, WhiteSpace and LineTerminator: wider than ASCII, and with U+FEFF, which Unicode's White_Space lacks.
SPACES: Final[CodePointRanges] = (
    (0x09, 0x0D), (0x20, 0x20), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A), (0x2028, 0x2029),
    (0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000), (0xFEFF, 0xFEFF),
)  # fmt: skip
LINE_TERMINATORS: Final[CodePointRanges] = ((0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029))


@dataclass(frozen=True, slots=True, kw_only=True)
class Characters:
    """One character out of a set: `ranges` and Unicode `classes` (as `\\p{L}` or `\\P{L}`), or all but these."""

    ranges: CodePointRanges = ()
    classes: tuple[str, ...] = ()
    negated: bool = False
    _key: int | None = field(default=None, init=False, compare=False, repr=False)

    def __hash__(self) -> int:
        return self._key if self._key is not None else _kept_key(self, (self.ranges, self.classes, self.negated))


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """`^` or `$`: without flags, the very start or the very end of the string."""

    at_start: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Sequence:
    """One after the other; nothing at all if `parts` is empty."""

    parts: "tuple[PatternNode, ...]"
    _key: int | None = field(default=None, init=False, compare=False, repr=False)

    def __hash__(self) -> int:
        return self._key if self._key is not None else _kept_key(self, self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Any of at least two branches."""

    branches: "tuple[PatternNode, ...]"
    _key: int | None = field(default=None, init=False, compare=False, repr=False)

    def __hash__(self) -> int:
        return self._key if self._key is not None else _kept_key(self, self.branches)


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat:
    """`minimum` to `maximum` times (`None`: without bound). Greed does not matter to whether a string matches."""

    node: "PatternNode"
    minimum: int
    maximum: int | None
    _key: int | None = field(default=None, init=False, compare=False, repr=False)

    def __hash__(self) -> int:
        return self._key if self._key is not None else _kept_key(self, (self.node, self.minimum, self.maximum))


PatternNode: TypeAlias = "Characters | Anchor | Sequence | Choice | Repeat"


def _kept_key(node: Characters | Sequence | Choice | Repeat, parts: object) -> int:
    """What a look-up needs, worked out once for each node: trees are looked up as wholes, again and again."""
    key = hash((type(node), parts))
    object.__setattr__(node, "_key", key)
    return key


EMPTY: Final = Sequence(parts=())
ANY: Final = Characters(ranges=((0, MAX_CODE_POINT),))


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternProfile:
    """The sizes that limits speak about."""

    num_bytes: int
    depth: int
    """Nested groups."""
    max_repeat: int
    """Greatest bound of one counted repeat."""
    repeat_product: int
    """Greatest product of the bounds of counted repeats within each other."""


_WRITTEN_BY_NUMBER: Final = frozenset({0xAD, 0x2028, 0x2029, 0xFEFF})


def is_written_plainly(code_point: int) -> bool:
    """Whether a canonical text has a character beyond ASCII as it is, and not by its number.

    The rule is fixed: what counts as printable grows with each edition of Unicode, and a digest must not.
    """
    return code_point > 0xA0 and not 0xD800 <= code_point <= 0xDFFF and code_point not in _WRITTEN_BY_NUMBER


def complement(ranges: CodePointRanges) -> CodePointRanges:
    """Every other code point. `ranges` are sorted and apart."""
    gaps: list[tuple[int, int]] = []
    start = 0
    for low, high in ranges:
        if start < low:
            gaps.append((start, low - 1))
        start = high + 1
    if start <= MAX_CODE_POINT:
        gaps.append((start, MAX_CODE_POINT))
    return tuple(gaps)
