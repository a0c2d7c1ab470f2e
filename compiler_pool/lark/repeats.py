"""Small pieces of rule bodies: choices and repeats."""

from collections.abc import Iterable


def repeat(least: int, most: int | None) -> str:
    """How a group is repeated; the engine halves long repeats, so that 10,000 cost little more than 10."""
    if most is None:
        return {0: "*", 1: "+"}.get(least, f"{{{least},}}")
    return "?" if (least, most) == (0, 1) else f"{{{least},{most}}}"


def one_of(bodies: Iterable[str]) -> str:
    """Any of the bodies, as one unit."""
    listed = list(dict.fromkeys(bodies))
    return listed[0] if len(listed) == 1 and " " not in listed[0] else f"({' | '.join(listed)})"
