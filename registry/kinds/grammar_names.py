"""Which names a grammar uses, in which order, and how deep they lead.

The walks are those of a compiler that follows names from the start: definitions that nobody uses have no place in
the canonical form. All of them are iterative, because a chain of names is as long as its author likes.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from registry.kinds.grammar import Definition, references_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What is used, by name."""

    order: tuple[str, ...]
    """By first use, breadth first, the starts first."""
    depth: int
    """The longest chain of names that following them depth first opens, the start included."""
    is_recursive: bool
    num_references: int


def reach(definitions: Mapping[str, Definition], starts: Iterable[str]) -> Reach:
    """Walk from the starts. Every name that is used must be defined."""
    uses = {name: [reference.name for reference in references_of(d)] for name, d in definitions.items()}
    seen = dict.fromkeys(starts)
    order = list(seen)
    for name in order:  # grows while it is walked
        for used in uses[name]:
            if used not in seen:
                seen[used] = None
                order.append(used)
    depth, is_recursive = _depth(uses, order)
    return Reach(
        order=tuple(order),
        depth=depth,
        is_recursive=is_recursive,
        num_references=sum(len(uses[name]) for name in order),
    )


def find_cycle(definitions: Mapping[str, Definition]) -> str | None:
    """A name that leads back to itself through these definitions; `None` if there is none."""
    uses = {
        name: [reference.name for reference in references_of(definition) if reference.name in definitions]
        for name, definition in definitions.items()
    }
    open_names: dict[str, None] = {}
    finished: set[str] = set()
    for root in definitions:
        for name, is_entered in _walk(uses, root, finished):
            if not is_entered:
                open_names.pop(name, None)
            elif name in open_names:
                return name
            else:
                open_names[name] = None
    return None


def _depth(uses: Mapping[str, list[str]], order: Iterable[str]) -> tuple[int, bool]:
    finished: set[str] = set()
    open_names: set[str] = set()
    depth = 0
    is_recursive = False
    for root in order:
        for name, is_entered in _walk(uses, root, finished):
            if not is_entered:
                open_names.discard(name)
            elif name in open_names:
                is_recursive = True
            else:
                open_names.add(name)
                depth = max(depth, len(open_names))
    return depth, is_recursive


def _walk(uses: Mapping[str, list[str]], root: str, finished: set[str]) -> Iterator[tuple[str, bool]]:
    """Names entered (true) and left (false), depth first; a name that is open is entered once more, and not left."""
    if root in finished:
        return
    yield root, True
    open_names = {root}
    stack = [(root, iter(uses[root]))]
    while stack:
        name, rest = stack[-1]
        used = next(rest, None)
        if used is None:
            stack.pop()
            open_names.discard(name)
            finished.add(name)
            yield name, False
        elif used in open_names:
            yield used, True
        elif used not in finished:
            open_names.add(used)
            yield used, True
            stack.append((used, iter(uses[used])))
