"""`$recursiveRef` and `$recursiveAnchor` (2019-09, core 8.2.4.2) as one `$dynamicAnchor` that they all share."""

from typing import Final

from registry.contract import JsonValue
from registry.dialects import Dialect
from registry.pointers import percent_decoded
from registry.translation.rewriting import Rewriting

RECURSIVE_ANCHOR: Final = "recursiveAnchor.2019-09"
"""The name that every `$recursiveAnchor: true` gets. No author's: see `speaks_of_recursive_anchor`."""

_ANCHORS: Final = frozenset({"$anchor", "$dynamicAnchor"})
_REFERENCES: Final = frozenset({"$ref", "$dynamicRef"})


def speaks_of_recursive_anchor(keyword: str, value: JsonValue) -> bool:
    """Whether a keyword gives the translation's own name to something, or refers to it.

    Written by an author, it would lead to a place that only the translation has, or catch a `$recursiveRef`.
    """
    if not isinstance(value, str):
        return False
    if keyword in _REFERENCES:
        return percent_decoded(value.partition("#")[2]) == RECURSIVE_ANCHOR
    return keyword in _ANCHORS and value == RECURSIVE_ANCHOR


def translate_recursion(rewriting: Rewriting) -> None:
    """A `$recursiveRef` is a reference to the root of its resource, which is dynamic if that root has the anchor."""
    if rewriting.dialect is not Dialect.DRAFT_2019_09:
        return
    if "$recursiveAnchor" in rewriting:
        _translate_anchor(rewriting)
    if "$recursiveRef" in rewriting:
        if rewriting.members["$recursiveRef"] != "#":
            rewriting.refuse_shape("$recursiveRef", '"#"')
            return
        is_dynamic = rewriting.scope.resource.get("$recursiveAnchor") is True
        # `#` alone names no `$dynamicAnchor`: such a `$dynamicRef` is an ordinary reference.
        rewriting.rename("$recursiveRef", "$dynamicRef", f"#{RECURSIVE_ANCHOR}" if is_dynamic else "#")
        rewriting.note("$recursiveRef -> $dynamicRef", "$recursiveRef")


def _translate_anchor(rewriting: Rewriting) -> None:
    value = rewriting.members["$recursiveAnchor"]
    if not isinstance(value, bool):
        rewriting.refuse_shape("$recursiveAnchor", "a boolean")
    elif not value:
        rewriting.set_aside("$recursiveAnchor", "false says nothing, left out")
    elif rewriting.source is not rewriting.scope.resource:
        rewriting.refuse("$recursiveAnchor", "`$recursiveAnchor` is defined at the root of a resource only")
    else:
        rewriting.rename("$recursiveAnchor", "$dynamicAnchor", RECURSIVE_ANCHOR)
        rewriting.note("$recursiveAnchor -> $dynamicAnchor", "$recursiveAnchor")
