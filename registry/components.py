"""Strongly connected components (Tarjan 1972), without recursion: a caller chooses how deep a graph goes."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Components:
    """The components that a root reaches, each after all it leads to."""

    groups: tuple[tuple[int, ...], ...]
    is_cyclic: tuple[bool, ...]
    """Whether a group holds a cycle: more than one node, or a node that leads to itself."""
    of: dict[int, int]
    """Node to the index of its group."""


def components(root: int, successors: Sequence[Sequence[int]]) -> Components:
    """The strongly connected components of what `root` reaches, children first. Linear."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    on_stack: set[int] = set()
    stack: list[int] = []
    groups: list[tuple[int, ...]] = []
    cyclic: list[bool] = []
    of: dict[int, int] = {}
    work: list[tuple[int, Iterator[int]]] = []

    def enter(node: int) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        on_stack.add(node)
        work.append((node, iter(successors[node])))

    enter(root)
    while work:
        node, rest = work[-1]
        child = next(rest, None)
        if child is not None:
            if child not in index:
                enter(child)
            elif child in on_stack:
                low[node] = min(low[node], index[child])
            continue
        work.pop()
        if work:
            low[work[-1][0]] = min(low[work[-1][0]], low[node])
        if low[node] == index[node]:
            group = _popped(stack, on_stack, node)
            of.update(dict.fromkeys(group, len(groups)))
            groups.append(group)
            cyclic.append(len(group) > 1 or node in successors[node])
    return Components(groups=tuple(groups), is_cyclic=tuple(cyclic), of=of)


def depth_first_edges(root: int, successors: Sequence[Iterable[int]]) -> Iterator[tuple[list[int], int]]:
    """Every edge that leads back to a node on the way from the root: the way (nodes) and the node it leads back to."""
    entered = {root}
    way = [root]
    position = {root: 0}
    work = [iter(successors[root])]
    while work:
        child = next(work[-1], None)
        if child is None:
            work.pop()
            del position[way.pop()]
        elif child in position:
            yield way, child
        elif child not in entered:
            entered.add(child)
            position[child] = len(way)
            way.append(child)
            work.append(iter(successors[child]))


def _popped(stack: list[int], on_stack: set[int], last: int) -> tuple[int, ...]:
    group: list[int] = []
    while not group or group[-1] != last:
        group.append(stack.pop())
        on_stack.discard(group[-1])
    return tuple(reversed(group))
