"""What one disjunct says of an array, sorted by what it takes to say it item by item."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from compiler_pool.form.making import Goal, Making
from registry.algebra.formulas import (
    EachItem,
    Formula,
    ItemsAtLeast,
    ItemsAtMost,
    OneOf,
    SomeItem,
    Unique,
    Unsettled,
    Wants,
    refused,
)
from registry.contract import JsonValue
from registry.parsing import parse_json

MAX_PROVEN: Final = 8
"""Different demands for which it is worth a proof that all items are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """`at_least` to `at_most` of the items from `start` to before `stop` are as wanted (`None`: without bound)."""

    wanted: Wants
    start: int = 0
    stop: int | None = None
    at_least: int = 0
    at_most: int | None = None

    def reaches(self, place: int) -> bool:
        """Whether the item at a place is one of those that are counted."""
        return self.start <= place and (self.stop is None or place < self.stop)


@dataclass(slots=True, kw_only=True)
class ArrayCase:
    """Arrays for which all of this holds; `at_least` to `at_most` items in all."""

    spans: list[EachItem] = field(default_factory=list)
    """Demands on several places."""
    places: dict[int, set[Wants]] = field(default_factory=dict)
    """Demands on one place each."""
    counted: list[Counted] = field(default_factory=list)
    excluded: list[list[JsonValue]] = field(default_factory=list)
    at_least: int = 0
    at_most: int | None = None
    all_differ: bool = False
    some_equal: bool = False

    @property
    def num_special(self) -> int:
        """From this place on, all places are alike."""
        edges = [place + 1 for place in self.places]
        edges += [edge for each in self.spans for edge in (each.start, each.stop) if edge is not None]
        edges += [edge for one in self.counted for edge in (one.start, one.stop) if edge is not None]
        edges += [len(value) + 1 for value in self.excluded]
        return max(edges, default=0)

    def demand(self, place: int) -> Goal:
        """What the item at a place must be like, whatever else is counted."""
        wanted = set(self.places.get(place, ()))
        wanted.update(
            each.wanted for each in self.spans if each.start <= place and (each.stop is None or place < each.stop)
        )
        return frozenset(wanted)

    def ask(self, start: int, stop: int | None, wanted: Wants) -> None:
        """Every item from `start` to before `stop` is wanted so."""
        if stop == start + 1:
            self.places.setdefault(start, set()).add(wanted)
        else:
            self.spans.append(EachItem(start=start, stop=stop, wanted=wanted))

    def bound(self, most: int) -> None:
        """No more than so many items."""
        self.at_most = most if self.at_most is None else min(self.at_most, most)

    def is_possible(self) -> bool:
        """Whether the counts leave any length."""
        # A count is a least length too; it is not made one, which would be counted once more.
        least = max((one.start + one.at_least for one in self.counted), default=0)
        if self.at_most is not None and max(self.at_least, least) > self.at_most:
            return False
        return all(one.at_most is None or one.at_least <= one.at_most for one in self.counted)


def array_case(atoms: Iterable[Formula], making: Making) -> ArrayCase | None:
    """The atoms sorted and simplified; None if they are plainly at odds.

    What the form has no node for is reported and left out.
    """
    case = ArrayCase()
    for atom in atoms:
        _take(case, atom, making)
    _join_counts(case)
    if not case.is_possible():
        return None
    _forbid(case)
    if case.counted or case.all_differ or case.some_equal:
        # Elsewhere it does not matter how long the array can be, and what cannot be finished is pruned.
        _shorten(case, making)
    case.counted = [kept for one in case.counted for kept in _settled(case, one, making)]
    if not case.is_possible():
        return None
    if case.at_most is not None and case.at_most <= 1:
        if case.some_equal:
            return None
        case.all_differ = False
    return None if case.some_equal and case.all_differ else case


def _take(case: ArrayCase, atom: Formula, making: Making) -> None:
    match atom:
        case EachItem(start=start, stop=stop, wanted=wanted):
            case.ask(start, stop, wanted)
        case SomeItem(start=start, stop=stop, wanted=wanted):
            if stop == start + 1:
                case.at_least = max(case.at_least, stop)
                case.ask(start, stop, wanted)
            else:
                case.counted.append(Counted(wanted=wanted, start=start, stop=stop, at_least=1))
        case ItemsAtLeast(count=count, term=None):
            case.at_least = max(case.at_least, count)
        case ItemsAtMost(count=count, term=None):
            case.bound(count)
        case ItemsAtLeast(count=count, term=int() as term):
            case.counted.append(Counted(wanted=Wants(term=term, positive=True), at_least=count))
        case ItemsAtMost(count=count, term=int() as term):
            case.counted.append(Counted(wanted=Wants(term=term, positive=True), at_most=count))
        case Unique(positive=positive):
            case.all_differ |= positive
            case.some_equal |= not positive
        case OneOf(texts=texts, positive=False):
            values = (parse_json(text, max_bytes=1 << 26, max_nesting=512) for text in texts)
            case.excluded += [value for value in values if isinstance(value, list)]
        case Unsettled(keyword=keyword):
            making.cannot(keyword, "too many subschemas decide which items have been evaluated")
        case _:
            raise AssertionError(atom)


def _join_counts(case: ArrayCase) -> None:
    """One count for what is counted twice, none for what asks for nothing."""
    joined: dict[tuple[Wants, int, int | None], Counted] = {}
    for one in case.counted:
        key = (one.wanted, one.start, one.stop)
        known = joined.get(key, one)
        mosts = [most for most in (known.at_most, one.at_most) if most is not None]
        joined[key] = Counted(
            wanted=one.wanted,
            start=one.start,
            stop=one.stop,
            at_least=max(known.at_least, one.at_least),
            at_most=min(mosts, default=None),
        )
    case.counted = [one for one in joined.values() if one.at_least > 0 or one.at_most is not None]


def _forbid(case: ArrayCase) -> None:
    """What may not be counted once is refused at every place."""
    for one in case.counted:
        if one.at_most == 0:
            case.ask(one.start, one.stop, refused(one.wanted))
    case.counted = [one for one in case.counted if one.at_most != 0]


def _shorten(case: ArrayCase, making: Making) -> None:
    """A place at which no item can stand ends the array before it."""
    special = case.num_special
    known: set[Goal] = set()
    for place in range(special + 1):
        if case.at_most is not None and place >= case.at_most:
            return
        demand = case.demand(place)
        if demand in known:
            continue
        making.spending.step()
        if making.is_empty(demand):
            case.bound(place)
            return
        known.add(demand)


def _settled(case: ArrayCase, one: Counted, making: Making) -> Iterator[Counted]:
    """The count without bounds that every array meets. Where all items are counted, it bounds the array instead."""
    most = one.at_most
    if most is not None and case.at_most is not None and case.at_most <= most:
        most = None
    if _counts_all(case, one, making):
        case.at_least = max(case.at_least, one.at_least)
        if most is not None:
            case.bound(most)
    elif one.at_least > 0 or most is not None:
        yield replace(one, at_most=most)


def _counts_all(case: ArrayCase, one: Counted, making: Making) -> bool:
    """Whether it is proven that every item is as wanted, so that counting them is counting items."""
    if one.start > 0 or one.stop is not None:
        return False
    demands = {case.demand(place) for place in range(case.num_special + 1)}
    return len(demands) <= MAX_PROVEN and all(making.is_empty(demand | {refused(one.wanted)}) for demand in demands)
