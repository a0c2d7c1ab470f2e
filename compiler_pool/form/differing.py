"""Which values can stand at which places of an array, where it matters whether two items are equal."""

from collections import Counter

from compiler_pool.form.array_cases import ArrayCase
from compiler_pool.form.finite import finite_values
from compiler_pool.form.item_trackers import PlacedValues
from compiler_pool.form.making import Goal, Making
from registry.algebra.truth import all_of
from registry.contract import JsonValue
from registry.text import value_text


def placed_values(case: ArrayCase, making: Making, *, at_most: int) -> PlacedValues | None:
    """The values that two places can share; `None` where these are more than `at_most`, or cannot be listed.

    Raises `ExpansionSpentError`.
    """
    demands = _demands(case)
    listed: dict[Goal, list[JsonValue] | None] = {}
    for demand in reversed(demands):  # the last one first: where it is endless, mostly nothing can be said
        if demand not in listed:
            listed[demand] = finite_values(demand, making, at_most)
        if listed[demand] is None and demand is demands[-1] and _is_last_repeated(case):
            return None
    values: dict[str, JsonValue] = {}
    for own in listed.values():
        values.update((value_text(value), value) for value in own or ())
    common = _common(demands, listed, making, at_most)
    if common is None:
        return None
    values.update((value_text(value), value) for value in common)
    allowed: dict[Goal, frozenset[str]] = {}
    for demand, own in listed.items():
        texts = _allowed(demand, values, making) if own is None else {value_text(value) for value in own}
        if texts is None:
            return None
        allowed[demand] = frozenset(texts)
    num_places = Counter(text for demand in demands for text in allowed[demand])
    if _is_last_repeated(case):
        num_places.update(allowed[demands[-1]])
    shared = frozenset(text for text, count in num_places.items() if count > 1)
    if len(shared) > at_most:
        return None
    at = [allowed[demand] & shared for demand in demands]
    takes_others = [listed[demand] is None or not allowed[demand] <= shared for demand in demands]
    if not _is_last_repeated(case):
        # No place after the last one: what stands for all after takes nothing.
        at.append(frozenset())
        takes_others.append(False)
    return PlacedValues(
        values={text: value for text, value in values.items() if text in shared},
        at=tuple(at),
        takes_others=tuple(takes_others),
    )


def _is_last_repeated(case: ArrayCase) -> bool:
    """Whether more than one item can stand past the special places."""
    return case.at_most is None or case.at_most > case.num_special + 1


def _demands(case: ArrayCase) -> list[Goal]:
    """By place: the special ones, and one for all that come after."""
    stop = case.num_special + 1
    return [case.demand(place) for place in range(stop if case.at_most is None else min(stop, case.at_most))]


def _common(
    demands: list[Goal], listed: dict[Goal, list[JsonValue] | None], making: Making, at_most: int
) -> list[JsonValue] | None:
    """The values that two places with endlessly many have in common; `None` where they cannot be listed."""
    endless = [demand for demand in demands if listed[demand] is None]
    common: dict[str, JsonValue] = {}
    known: set[Goal] = set()
    for at, demand in enumerate(endless):
        for other in endless[:at]:
            if demand == other:
                return None
            making.spending.step()
            together = demand | other
            if together in known:
                continue
            known.add(together)
            values = [] if making.is_empty(together) else finite_values(together, making, at_most)
            if values is None:
                return None
            common.update((value_text(value), value) for value in values)
    return list(common.values())


def _allowed(demand: Goal, values: dict[str, JsonValue], making: Making) -> set[str] | None:
    """Those of the values that a place takes; `None` where only the judge could tell."""
    allowed: set[str] = set()
    for text, value in values.items():
        making.spending.step()
        held = all_of(making.solver.truth.wanted(want, value) for want in demand)
        if held is None:
            return None
        if held:
            allowed.add(text)
    return allowed
