"""What the names of `$dynamicAnchor`s mean on one way through a schema (JSON Schema 2020-12, core, 8.2.3.2).

A `$dynamicRef` leads to the outermost resource on the way that has its name. So what it means is decided by which
resource first brought each name: that is a `Scope`, and a subschema has one meaning for each scope it is reached in.
"""

from collections.abc import Iterable, Mapping
from typing import TypeAlias

Place: TypeAlias = tuple[str, str]
"""Document and pointer of a subschema."""

Scope: TypeAlias = tuple[tuple[str, Place], ...]
"""Names, sorted, with the place that each means until evaluation leaves again."""

OUTSIDE: Scope = ()
"""Before any resource was entered."""


def entered(scope: Scope, anchors: Mapping[str, Place], names: Iterable[str]) -> Scope:
    """The scope within a resource that has these dynamic anchors. Only `names` matter; a name once bound stays."""
    bound = {name for name, _ in scope}
    fresh = [(name, anchors[name]) for name in names if name in anchors and name not in bound]
    return tuple(sorted((*scope, *fresh))) if fresh else scope


def place_of(scope: Scope, name: str) -> Place | None:
    """The place that a name means; `None` if no resource on the way has it."""
    return next((place for known, place in scope if known == name), None)
