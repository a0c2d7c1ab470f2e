"""Another order of members, for objects that would need too many states in the order of their schemas.

Between a member and another one that hangs on it, a machine has to remember the first. Where many such pairs cross, it
would have to remember all combinations; with the members of each choice side by side there is nothing to remember.
"""

from collections.abc import Iterable, Sequence


def gathered(names: Sequence[str], choices: Iterable[Iterable[str]]) -> list[str]:
    """The names, those side by side that choices connect; otherwise in the order they had."""
    leaders: dict[str, str] = {}

    def leader(name: str) -> str:
        while leaders.get(name, name) != name:
            # Each step shortens the way, so that long chains are walked once.
            leaders[name] = leaders.get(leaders[name], leaders[name])
            name = leaders[name]
        return name

    for choice in choices:
        first: str | None = None
        for name in choice:
            own = leader(name)
            first = own if first is None else first
            leaders[own] = first
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(leader(name), []).append(name)
    return [name for group in groups.values() for name in group]
