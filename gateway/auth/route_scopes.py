"""Which scope a request takes, by its method and path: asked in one place, whatever route will answer.

The path is the text that the router matches, character by character, so that no other spelling of it reaches a route.
What is not listed takes `generate`, as every dialect of completions does; only a scope of its own opens the rest.
"""

from collections.abc import Mapping
from typing import Final

from policy.scopes import Scope

_READS: Final = frozenset({"GET", "HEAD", "OPTIONS"})

_ANY: Final = frozenset[Scope]()
"""Whoever is known may ask."""

_OPEN: Final = frozenset({"/v1/models", "/v1/capabilities", "/v1/usage"})
"""What there is, and one's own state; with all that lies beneath."""

_QUESTIONS: Final = frozenset({"/v1/contracts/check", "/v1/contracts/diff"})
"""POSTs that change nothing."""

_READ_BY_AUTHORS: Final = frozenset({"serving-policy", "rules"})
"""Of what operators set for a tenant: who writes contracts has to know what will be done with them."""

_EXPLAIN: Final = "/v1/contracts/explain"

_REGISTRY: Final = frozenset({"contracts", "promotions", "signing-keys", "policy"})
"""Beneath `/v1`."""

_FACADE: Final[Mapping[str, bool]] = {
    "subjects": False,
    "schemas": False,
    "config": False,
    "mode": False,
    "contexts": False,
    "compatibility": True,
}
"""The first segment of Confluent's paths, and whether a POST beneath it is a question."""


def wanted_scopes(method: str, path: str) -> frozenset[Scope]:
    """Any one of these is enough; none is needed where there are none."""
    _, first, *rest = f"{path}/".split("/")
    second = rest[0] if rest else ""
    if first in _FACADE:
        return _registry(method, is_question=_FACADE[first] or _is_lookup(path))
    if first != "v1":
        return _ANY if path == "/" else frozenset({Scope.GENERATE})
    if f"/v1/{second}" in _OPEN:
        return _ANY
    if second == "admin":
        may_read = method in _READS and rest[1:2] == ["tenants"] and rest[3:4] != [] and rest[3] in _READ_BY_AUTHORS
        return frozenset({Scope.ADMIN, Scope.CONTRACTS_READ} if may_read else {Scope.ADMIN})
    if second == "audit":
        return frozenset({Scope.AUDIT_READ})
    if path == _EXPLAIN:
        return frozenset({Scope.CONTRACTS_READ, Scope.GENERATE})
    if second in _REGISTRY:
        return _registry(method, is_question=path in _QUESTIONS)
    if second == "metadata":
        return _registry(method, is_question=True)
    return frozenset({Scope.GENERATE})


def _registry(method: str, *, is_question: bool) -> frozenset[Scope]:
    reads = method in _READS or (method == "POST" and is_question)
    return frozenset({Scope.CONTRACTS_READ if reads else Scope.CONTRACTS_WRITE})


def _is_lookup(path: str) -> bool:
    """`POST /subjects/{subject}` asks whether a schema is registered."""
    return path.startswith("/subjects/") and path.count("/") == 2
