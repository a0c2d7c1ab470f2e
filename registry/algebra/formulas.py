"""What a value of one JSON type must satisfy, as formulas: closed under negation, so that "refused" is one too."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final, TypeAlias

from registry.algebra.shared_parts import SharedParts
from registry.algebra.terms import TermId


@dataclass(frozen=True, slots=True, kw_only=True)
class Wants:
    """The value is allowed by a term, or refused by it."""

    term: TermId
    positive: bool

    def __hash__(self) -> int:
        return 2 * self.term + self.positive


@dataclass(frozen=True, slots=True, kw_only=True)
class AtLeast:
    """A number from `bound` upwards, `bound` itself excluded if `is_open`."""

    bound: Fraction
    is_open: bool

    def __hash__(self) -> int:
        return hash((self.bound.numerator, self.bound.denominator, self.is_open))


@dataclass(frozen=True, slots=True, kw_only=True)
class AtMost:
    """A number up to `bound`."""

    bound: Fraction
    is_open: bool

    def __hash__(self) -> int:
        return hash((self.bound.numerator, self.bound.denominator, self.is_open))


@dataclass(frozen=True, slots=True, kw_only=True)
class Multiple:
    """A whole multiple of `step`, or none. `integer` is a multiple of 1."""

    step: Fraction
    positive: bool

    def __hash__(self) -> int:
        return hash((self.step.numerator, self.step.denominator, self.positive))


@dataclass(frozen=True, slots=True, kw_only=True)
class LongerOrEqual:
    """A string of at least so many code points."""

    length: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ShorterOrEqual:
    """A string of at most so many code points."""

    length: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Matches:
    """The pattern finds a match, or none."""

    pattern: str
    positive: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class InFormat:
    """The string is in the format, as the judge asserts it, or is not."""

    name: str
    positive: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class OneOf:
    """One of the values, or none of them. `texts` are their `value_text`s, sorted."""

    texts: tuple[str, ...]
    positive: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class EachItem:
    """Every item from `start` to before `stop` (`None`: the end) is wanted so."""

    start: int
    stop: int | None
    wanted: Wants


@dataclass(frozen=True, slots=True, kw_only=True)
class SomeItem:
    """There is an item from `start` to before `stop` that is wanted so."""

    start: int
    stop: int | None
    wanted: Wants


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemsAtLeast:
    """At least so many items; those that `term` allows, if it is given."""

    count: int
    term: TermId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemsAtMost:
    """At most so many items; those that `term` allows, if it is given."""

    count: int
    term: TermId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unique:
    """No two items are equal, or two are."""

    positive: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """The member of one name."""

    name: str

    def __hash__(self) -> int:
        return hash(self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Matching:
    """Members in whose names a pattern finds a match."""

    pattern: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Others:
    """Members that are neither named nor matched."""

    names: frozenset[str]
    patterns: frozenset[str]


Scope: TypeAlias = Named | Matching | Others


@dataclass(frozen=True, slots=True, kw_only=True)
class Has:
    """The object has the member, or lacks it."""

    name: str
    positive: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MembersAtLeast:
    """At least so many members."""

    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MembersAtMost:
    """At most so many members."""

    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EachMember:
    """Every member in the scope has a value that is wanted so."""

    scope: Scope
    wanted: Wants

    def __hash__(self) -> int:
        return hash((self.scope, self.wanted.term, self.wanted.positive))


@dataclass(frozen=True, slots=True, kw_only=True)
class SomeMember:
    """There is a member in the scope with a value that is wanted so."""

    scope: Scope
    wanted: Wants

    def __hash__(self) -> int:
        return hash((self.wanted.positive, self.wanted.term, self.scope))


@dataclass(frozen=True, slots=True, kw_only=True)
class EachName:
    """Every member's name is wanted so."""

    wanted: Wants


@dataclass(frozen=True, slots=True, kw_only=True)
class SomeName:
    """There is a member whose name is wanted so."""

    wanted: Wants


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsettled:
    """The `unevaluated…` keyword of a term, where too many subschemas decide what it speaks of to tell the cases."""

    term: TermId
    keyword: str
    positive: bool


NumberAtom: TypeAlias = AtLeast | AtMost | Multiple
StringAtom: TypeAlias = LongerOrEqual | ShorterOrEqual | Matches | InFormat
ArrayAtom: TypeAlias = EachItem | SomeItem | ItemsAtLeast | ItemsAtMost | Unique
ObjectAtom: TypeAlias = Has | MembersAtLeast | MembersAtMost | EachMember | SomeMember | EachName | SomeName
Atom: TypeAlias = NumberAtom | StringAtom | ArrayAtom | ObjectAtom | OneOf | Unsettled


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class All(SharedParts):
    """All parts hold."""

    parts: "tuple[Formula, ...]"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Any(SharedParts):
    """Some part holds."""

    parts: "tuple[Formula, ...]"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cases(SharedParts):
    """Exactly one guard holds for any value, and the formula beside it does too."""

    PARTS: ClassVar[str] = "cases"
    cases: "tuple[tuple[Formula, Formula], ...]"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactlyOne:
    """Exactly one of the terms allows the value, or none or several do."""

    terms: tuple[TermId, ...]
    positive: bool


Formula: TypeAlias = Wants | Atom | All | Any | Cases | ExactlyOne

TRUE: Final = All(parts=())
FALSE: Final = Any(parts=())


def negated(formula: Formula) -> Formula:
    """The formula that holds for exactly the other values of the type."""
    match formula:
        case All(parts=parts):
            return Any(parts=tuple(map(negated, parts)))
        case Any(parts=parts):
            return All(parts=tuple(map(negated, parts)))
        case Cases(cases=cases):
            return Cases(cases=tuple((guard, negated(body)) for guard, body in cases))
        case ExactlyOne(terms=terms, positive=positive):
            return ExactlyOne(terms=terms, positive=not positive)
        case Wants():
            return refused(formula)
        case _:
            return _negated_atom(formula)


def refused(wanted: Wants) -> Wants:
    """The opposite wish."""
    return Wants(term=wanted.term, positive=not wanted.positive)


def _negated_atom(atom: Atom) -> Formula:  # noqa: C901, PLR0911, PLR0912 - one line for each kind of atom
    match atom:
        # The most common ones first: each kind is asked for in turn.
        case EachMember(scope=scope, wanted=wanted):
            return SomeMember(scope=scope, wanted=refused(wanted))
        case Has(name=name, positive=positive):
            return Has(name=name, positive=not positive)
        case SomeMember(scope=scope, wanted=wanted):
            return EachMember(scope=scope, wanted=refused(wanted))
        case AtLeast(bound=bound, is_open=is_open):
            return AtMost(bound=bound, is_open=not is_open)
        case AtMost(bound=bound, is_open=is_open):
            return AtLeast(bound=bound, is_open=not is_open)
        case Multiple(step=step, positive=positive):
            return Multiple(step=step, positive=not positive)
        case LongerOrEqual(length=length):
            return ShorterOrEqual(length=length - 1) if length > 0 else FALSE
        case ShorterOrEqual(length=length):
            return LongerOrEqual(length=length + 1)
        case Matches(pattern=pattern, positive=positive):
            return Matches(pattern=pattern, positive=not positive)
        case InFormat(name=name, positive=positive):
            return InFormat(name=name, positive=not positive)
        case OneOf(texts=texts, positive=positive):
            return OneOf(texts=texts, positive=not positive)
        case Unsettled(term=term_of, keyword=keyword, positive=positive):
            return Unsettled(term=term_of, keyword=keyword, positive=not positive)
        case EachItem(start=start, stop=stop, wanted=wanted):
            return SomeItem(start=start, stop=stop, wanted=refused(wanted))
        case SomeItem(start=start, stop=stop, wanted=wanted):
            return EachItem(start=start, stop=stop, wanted=refused(wanted))
        case ItemsAtLeast(count=count, term=term):
            return ItemsAtMost(count=count - 1, term=term) if count > 0 else FALSE
        case ItemsAtMost(count=count, term=term):
            return ItemsAtLeast(count=count + 1, term=term)
        case Unique(positive=positive):
            return Unique(positive=not positive)
        case MembersAtLeast(count=count):
            return MembersAtMost(count=count - 1) if count > 0 else FALSE
        case MembersAtMost(count=count):
            return MembersAtLeast(count=count + 1)
        case EachName(wanted=wanted):
            return SomeName(wanted=refused(wanted))
        case SomeName(wanted=wanted):
            return EachName(wanted=refused(wanted))
