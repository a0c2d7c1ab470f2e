"""What is remembered of the items so far, one concern each; a machine of items runs all that a case needs together."""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from compiler_pool.form.array_cases import Counted
from compiler_pool.form.making import Goal
from registry.algebra.formulas import Wants, refused
from registry.algebra.terms import Terms
from registry.contract import JsonValue
from registry.text import value_text

ANY_ITEM: Final[Goal] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A kind of item, and what is remembered after it.

    `constant` is the text of the one value that it is; then `wanted` is empty.
    """

    wanted: Goal = ANY_ITEM
    constant: str | None = None
    memory: Hashable


class ItemTracker(Protocol):
    """One concern. The choices of a memory cover every item that does not break it, some perhaps twice."""

    @property
    def is_ambiguous(self) -> bool:
        """Whether one item may be remembered in several ways."""

    @property
    def beginning(self) -> Hashable:
        """The memory before the first item."""

    def choices(self, memory: Hashable, place: int) -> Iterable[Choice]:
        """What the item at a place may be. Beyond the special places, `place` is the first of them."""

    def may_end(self, memory: Hashable, place: int) -> bool:
        """Whether the array may end before the item at a place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CountTracker:
    """Items of one kind are counted as far as it matters.

    Up to `max_guesses` of an open count, an item may be counted or not as one likes, as long as enough are: that needs
    no complement. Beyond, or where there may be too many, counting is exact.
    """

    counted: Counted
    max_guesses: int = 8

    @property
    def is_ambiguous(self) -> bool:
        """Whether an item that could be counted may as well not be."""
        return self.counted.at_most is None and self.counted.at_least <= self.max_guesses

    @property
    def beginning(self) -> Hashable:
        """None yet."""
        return 0

    def choices(self, memory: Hashable, place: int) -> Iterable[Choice]:
        """The item is counted, or is not."""
        assert isinstance(memory, int)
        one = self.counted
        if not one.reaches(place) or (one.at_most is None and memory == one.at_least):
            return [Choice(memory=memory)]
        uncounted = ANY_ITEM if self.is_ambiguous else frozenset({refused(one.wanted)})
        choices = [Choice(wanted=uncounted, memory=memory)]
        if memory != one.at_most:
            choices.append(Choice(wanted=frozenset({one.wanted}), memory=memory + 1))
        return choices

    def may_end(self, memory: Hashable, place: int) -> bool:
        """With enough counted; there are never too many."""
        del place
        assert isinstance(memory, int)
        return memory >= self.counted.at_least


class ExclusionTracker:
    """Which of the excluded arrays the items still agree with."""

    is_ambiguous: Final = False

    def __init__(self, excluded: Iterable[list[JsonValue]], terms: Terms) -> None:
        self._texts = {tuple(value_text(item) for item in value): None for value in excluded}
        self._values = {value_text(item): item for value in excluded for item in value}
        self._terms = terms

    @property
    def beginning(self) -> Hashable:
        """All of them."""
        return frozenset(self._texts)

    def choices(self, memory: Hashable, place: int) -> Iterable[Choice]:
        """The item that some of them have at the place, or none of those."""
        assert isinstance(memory, frozenset)
        agreeing: dict[str, set[tuple[str, ...]]] = {}
        for texts in memory:
            if place < len(texts):
                agreeing.setdefault(texts[place], set()).add(texts)
        for text in sorted(agreeing):
            yield Choice(constant=text, memory=frozenset(agreeing[text]))
        listed = [self._values[text] for text in sorted(agreeing)]
        yield Choice(wanted=none_of(listed, self._terms), memory=frozenset())

    def may_end(self, memory: Hashable, place: int) -> bool:
        """Unless that makes the array one of them."""
        assert isinstance(memory, frozenset)
        return all(len(texts) != place for texts in memory)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedValues:
    """The values that can stand at more than one place, as texts, and which of them each place takes.

    Beyond them, a place that `takes_others` takes values that no other place does. The last place stands for all after.
    """

    values: Mapping[str, JsonValue]
    at: tuple[frozenset[str], ...]
    takes_others: tuple[bool, ...]

    def later(self, place: int) -> frozenset[str]:
        """The values that can still come after the item at a place."""
        return frozenset().union(*self.at[min(place + 1, len(self.at) - 1) :])


class DifferenceTracker:
    """Which of the values that can come again have been there: none comes twice."""

    is_ambiguous: Final = False

    def __init__(self, placed: PlacedValues, terms: Terms) -> None:
        self._placed = placed
        self._others = none_of(placed.values.values(), terms)

    @property
    def beginning(self) -> Hashable:
        """None."""
        return frozenset()

    def choices(self, memory: Hashable, place: int) -> Iterable[Choice]:
        """A value that has not been there, or one that cannot have been."""
        assert isinstance(memory, frozenset)
        placed, at = self._placed, min(place, len(self._placed.at) - 1)
        later = placed.later(at)
        for text in sorted(placed.at[at] - memory):
            yield Choice(constant=text, memory=(memory | {text}) & later)
        if placed.takes_others[at]:
            yield Choice(wanted=self._others, memory=memory & later)

    def may_end(self, memory: Hashable, place: int) -> bool:
        """Always."""
        del memory, place
        return True


class RepetitionTracker:
    """Two items are equal: one is remembered until it comes again."""

    is_ambiguous: Final = True
    _DONE: Final = True

    def __init__(self, placed: PlacedValues) -> None:
        self._placed = placed

    @property
    def beginning(self) -> Hashable:
        """No item is remembered."""
        return None

    def choices(self, memory: Hashable, place: int) -> Iterable[Choice]:
        """Any item; or the one to be remembered; or that one again."""
        yield Choice(memory=memory)
        if memory is self._DONE:
            return
        at = self._placed.at[min(place, len(self._placed.at) - 1)]
        if memory is None:
            later = self._placed.later(place)
            yield from (Choice(constant=text, memory=text) for text in sorted(at & later))
        elif memory in at:
            assert isinstance(memory, str)
            yield Choice(constant=memory, memory=self._DONE)

    def may_end(self, memory: Hashable, place: int) -> bool:
        """Once it came again."""
        del place
        return memory is self._DONE


def none_of(values: Iterable[JsonValue], terms: Terms) -> Goal:
    """Values that are not listed."""
    listed = list(values)
    return frozenset({Wants(term=terms.constant(listed), positive=False)}) if listed else ANY_ITEM
