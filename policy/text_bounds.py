"""How far generated text may run on where the contract itself sets no end, and what a report says about that."""

from dataclasses import asdict, dataclass, fields, replace
from typing import Final, Self

MAX_BOUNDED: Final = 32
"""Places that one report lists."""
MAX_DIGITS: Final = 128
"""That a bound may grant: what number can be judged has no more."""
MAX_COUNT: Final = 10_000
"""Characters or items that a bound may grant: what a contract may say in `maxLength` and `maxItems`."""
MAX_DEPTH: Final = 64
"""Levels that a bound may grant: each is a copy of the rules of whatever may be nested."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextBounds:
    """Ends for what a contract leaves open; None: only the budget of tokens ends it.

    They only narrow what is generated. A contract's own bound is never moved, whatever it is, and the validator knows
    nothing of these. Raises ValueError for a bound below 1, and for another than 0 on undeclared members.
    """

    max_digits: int | None = None
    """Of a number: before the point where it has no bound on that side, and after it where no step ends them."""
    max_string_length: int | None = None
    """In characters, of strings without a longest length, and of the names of members that the contract does not name.
    A counted string costs ten times as much a mask as a free one."""
    max_items: int | None = None
    """Of an array without `maxItems`."""
    max_depth: int | None = None
    """Arrays and objects within each other, the outermost included."""
    max_undeclared: int | None = None
    """Of the members that an object's schema does not name, where it names some and says nothing of others: 0, none.
    An open object invites a model to invent members, and to repeat one, which no grammar can keep it from."""

    def __post_init__(self) -> None:
        for name, bound in self.named():
            if name == "max_undeclared":
                if bound != 0:
                    raise ValueError("max_undeclared is 0 or not set")
            elif bound < 1:
                raise ValueError(f"{name} is at least 1")

    def named(self) -> tuple[tuple[str, int], ...]:
        """The bounds that are set, by name."""
        found = ((field.name, getattr(self, field.name)) for field in fields(self))
        return tuple((name, bound) for name, bound in found if bound is not None)

    def without(self, name: str) -> Self:
        """All but one."""
        return replace(self, **{name: None})

    def filled(self, others: "TextBounds") -> "TextBounds":
        """What is not set, as in `others`."""
        return TextBounds(**{**dict(others.named()), **dict(self.named())})

    @property
    def spelling(self) -> str:
        """Empty without bounds; part of a policy's digest."""
        return ";".join(f"{name}={bound}" for name, bound in self.named())


UNBOUNDED: Final = TextBounds()

DEFAULT_MAX_DIGITS: Final = 32
"""What an installation bounds unless its operator says otherwise.

More digits than a double or a 64-bit integer has, before the point and after it. They cost nothing to compile, and 6 µs
of 15 in a mask inside a number; a number without an end is how most generations run away.
"""

FREE_JSON: Final = TextBounds(max_digits=DEFAULT_MAX_DIGITS, max_depth=32)
"""What holds for a contract that says no more than which types there are, where the policy says nothing.

Such a contract asks for "some JSON", and a model that is stuck prints digits or brackets to its last token. 32 digits
before the point and 32 after it are more than a double or a 64-bit integer has; 32 levels are as deep as a tenant's
own contract may be nested.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundedPlace:
    """A bound that narrows what the contract allows at `pointer`."""

    pointer: str
    limit_name: str
    limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TextReport:
    """How the generated text is laid out: without white space, within these bounds.

    `bounded` are the first `MAX_BOUNDED` places where a bound, of the policy or of `FREE_JSON`, narrows the contract.
    """

    whitespace: str = "none"
    bounds: TextBounds = UNBOUNDED
    bounded: tuple[BoundedPlace, ...] = ()

    def members(self) -> dict[str, object]:
        """As answers show it: the bounds (None: none) beside the rest."""
        return {
            "whitespace": self.whitespace,
            **asdict(self.bounds),
            "bounded": [asdict(place) for place in self.bounded],
        }
