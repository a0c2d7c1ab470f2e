"""Which values can stand at which places of an array, where it matters whether two items are equal."""

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
    for demand in demands:
        if demand not in listed:
            listed[demand] = finite_values(demand, making, at_most)
    values: dict[str, JsonValue] = {}
    for own in listed.values():
        values.update((value_text(value), value) for value in own or ())
    shared = _shared(case, demands, listed, making, at_most)
    if shared is None:
        return None
    values.update((value_text(value), value) for value in shared)
    if len(values) > at_most:
        return None
    allowed: dict[Goal, frozenset[str]] = {}
    for demand, own in listed.items():
        texts = _allowed(demand, values, making) if own is None else {value_text(value) for value in own}
        if texts is None:
            return None
        allowed[demand] = frozenset(texts)
    at = [allowed[demand] for demand in demands]
    takes_others = [listed[demand] is None for demand in demands]
    if case.at_most is not None and case.at_most <= case.num_special + 1:
        # No place after the last one: what stands for all after takes nothing.
        at.append(frozenset())
        takes_others.append(False)
    return PlacedValues(values=values, at=tuple(at), takes_others=tuple(takes_others))


def _demands(case: ArrayCase) -> list[Goal]:
    """By place: the special ones, and one for all that come after."""
    stop = case.num_special + 1
    return [case.demand(place) for place in range(stop if case.at_most is None else min(stop, case.at_most))]


def _shared(
    case: ArrayCase,
    demands: list[Goal],
    listed: dict[Goal, list[JsonValue] | None],
    making: Making,
    at_most: int,
) -> list[JsonValue] | None:
    """The values that two places with endlessly many can have in common; `None` where they cannot be listed."""
    endless = [place for place, demand in enumerate(demands) if listed[demand] is None]
    is_last_repeated = case.at_most is None or case.at_most > case.num_special + 1
    if is_last_repeated and len(demands) - 1 in endless:
        return None
    shared: dict[str, JsonValue] = {}
    known: set[Goal] = set()
    for at, place in enumerate(endless):
        for other in endless[:at]:
            if demands[place] == demands[other]:
                return None
            making.spending.step()
            together = demands[place] | demands[other]
            if together in known:
                continue
            known.add(together)
            common = [] if making.is_empty(together) else finite_values(together, making, at_most)
            if common is None:
                return None
            shared.update((value_text(value), value) for value in common)
    return list(shared.values())


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
