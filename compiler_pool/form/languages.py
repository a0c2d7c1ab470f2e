"""Sets of strings over code points, as boolean expressions: complement and intersection are as cheap as union."""

from dataclasses import dataclass
from typing import Final, TypeAlias

from registry.pattern_syntax import PatternNode


@dataclass(frozen=True, slots=True, kw_only=True)
class Matching:
    """The strings that a tree matches as a whole. It holds no anchor."""

    tree: PatternNode


@dataclass(frozen=True, slots=True, kw_only=True)
class Among:
    """Exactly these strings."""

    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lengths:
    """Strings of `minimum` to `maximum` code points (`None`: any number)."""

    minimum: int = 0
    maximum: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Both:
    """Strings in all parts; every string if there are none."""

    parts: "tuple[Language, ...]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Either:
    """Strings in any part; no string if there are none."""

    parts: "tuple[Language, ...]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Except:
    """All other strings."""

    part: "Language"


Language: TypeAlias = Matching | Among | Lengths | Both | Either | Except

EVERY_STRING: Final = Both(parts=())
NO_STRING: Final = Either(parts=())


def both(*parts: Language) -> Language:
    """The intersection, without what changes nothing."""
    kept = tuple(dict.fromkeys(part for part in parts if part != EVERY_STRING))
    if NO_STRING in kept:
        return NO_STRING
    return kept[0] if len(kept) == 1 else Both(parts=kept)


def either(*parts: Language) -> Language:
    """The union, without what changes nothing."""
    kept = tuple(dict.fromkeys(part for part in parts if part != NO_STRING))
    if EVERY_STRING in kept:
        return EVERY_STRING
    return kept[0] if len(kept) == 1 else Either(parts=kept)


def excluding(part: Language) -> Language:
    """The complement."""
    if isinstance(part, Except):
        return part.part
    if part == EVERY_STRING:
        return NO_STRING
    return EVERY_STRING if part == NO_STRING else Except(part=part)
