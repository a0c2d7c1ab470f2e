"""Names: `id`, plain names in `$id`, and places where a dialect sees none."""

import re
from typing import Final

from registry.contract import JsonValue
from registry.dialects import Dialect
from registry.translation.rewriting import Rewriting

_PLAIN_NAME: Final = re.compile(r"[A-Za-z_][-A-Za-z0-9._]*")
_NAMES: Final = frozenset({"$id", "id", "$anchor", "$recursiveAnchor"})


def translate_names(rewriting: Rewriting) -> None:
    """Up to draft 07, one keyword names both resources and plain names within them."""
    keyword = "id" if rewriting.dialect is Dialect.DRAFT_04 else "$id"
    if not rewriting.dialect.ignores_ref_siblings or keyword not in rewriting:
        return
    value = rewriting.members[keyword]
    if not isinstance(value, str):
        rewriting.refuse_shape(keyword, "a string that holds a URI reference")
        return
    if rewriting.scope.is_hidden:
        rewriting.refuse(keyword, f"no schema is expected here, and `{keyword}` names nothing")
        return
    resource, _, fragment = value.partition("#")
    if not fragment:
        if keyword == "id":
            rewriting.rename("id", "$id", value)
            rewriting.note("id -> $id", "id")
    elif resource:
        rewriting.refuse(keyword, f"`{keyword}` names a resource and a place in it at once")
    elif fragment.startswith("/"):
        rewriting.set_aside(keyword, "a JSON Pointer names nothing, left out")
    elif _PLAIN_NAME.fullmatch(fragment) is None:
        rewriting.refuse(keyword, f"`{keyword}` holds a name that is no `$anchor`")
    else:
        rewriting.rename(keyword, "$anchor", fragment)
        rewriting.note(f"{keyword} -> $anchor", keyword)


def holds_names(value: JsonValue) -> bool:
    """Whether a value holds, at any depth, what could be a name if it were a schema."""
    pending = [value]
    while pending:
        match pending.pop():
            case dict() as members:
                if not _NAMES.isdisjoint(members):
                    return True
                pending.extend(members.values())
            case list() as items:
                pending.extend(items)
            case _:
                pass
    return False
