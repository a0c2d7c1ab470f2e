"""What does not count: beside `$ref` (up to draft 07), and keywords that the dialect does not have."""

from collections.abc import Mapping
from typing import Final

from registry.dialects import JUDGING, KEYWORDS, NAMING, Dialect
from registry.translation.openapi import ANNOTATIONS
from registry.translation.rewriting import Rewriting

_HARMLESS: Final = frozenset({"contentSchema"})
"""Restricts nothing in any dialect: nobody must be told before it is ignored."""

_SINCE: Final[Mapping[str, str]] = {
    "$id": "draft 06", "const": "draft 06", "contains": "draft 06", "propertyNames": "draft 06",
    "if": "draft 07", "then": "draft 07", "else": "draft 07",
    "$anchor": "2019-09", "$vocabulary": "2019-09", "dependentRequired": "2019-09", "dependentSchemas": "2019-09",
    "unevaluatedItems": "2019-09", "unevaluatedProperties": "2019-09", "minContains": "2019-09",
    "maxContains": "2019-09", "prefixItems": "2020-12", "$dynamicRef": "2020-12", "$dynamicAnchor": "2020-12",
}  # fmt: skip


def set_aside_ref_siblings(rewriting: Rewriting) -> bool:
    """Whether `$ref` stands here alone in its meaning; then whatever restricts or names beside it is set aside."""
    if not (rewriting.dialect.ignores_ref_siblings and isinstance(rewriting.members.get("$ref"), str)):
        return False
    idle = KEYWORDS[rewriting.dialect] | JUDGING | NAMING | _HARMLESS
    if rewriting.dialect is Dialect.OPENAPI_3_0:
        idle |= ANNOTATIONS | {"nullable"}
    for keyword in rewriting.source:
        if keyword in idle and keyword != "$ref":
            rewriting.set_aside(keyword, "what stands beside $ref does not count, left out")
    return True


def set_aside_unknown(rewriting: Rewriting) -> None:
    """What the dialect does not have is ignored there; so it is refused, unless the policy takes the letter."""
    own = KEYWORDS[rewriting.dialect]
    for keyword in rewriting.source:
        if keyword in own or keyword not in JUDGING | NAMING | _HARMLESS:
            continue
        if keyword in _HARMLESS or not rewriting.scope.may_reject_unknown:
            rewriting.set_aside(keyword, "is no keyword there, left out")
        else:
            reason = f"`{keyword}` does not exist and would be ignored"
            rewriting.refuse_foreign(keyword, reason, f"it is {_SINCE[keyword]}: name that dialect, or leave it out")
