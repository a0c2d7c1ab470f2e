"""Which of the APIs a credential may be used at. Roles say what its holder may do there; both are asked."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final

from policy.roles import Role


class Scope(StrEnum):
    """The groups of routes; a closed list."""

    GENERATE = "generate"
    """Completions of every dialect, and whatever is asked for them."""
    CONTRACTS_READ = "contracts:read"
    """Reads of the registry, in its own API and Confluent's: contracts, promotions, signing keys, policy."""
    CONTRACTS_WRITE = "contracts:write"
    """Everything that changes the registry."""
    AUDIT_READ = "audit:read"
    """The chain of events and its export."""
    ADMIN = "admin"
    """Tenants, teams, keys, budgets and serving policies."""


ALL_SCOPES: Final = frozenset(Scope)

_OF_EVERY_ROLE: Final = frozenset({Scope.GENERATE, Scope.CONTRACTS_READ})
_OF_ROLES: Final[Mapping[Role, frozenset[Scope]]] = {
    Role.CALLER: _OF_EVERY_ROLE,
    Role.AUTHOR: _OF_EVERY_ROLE | {Scope.CONTRACTS_WRITE},
    Role.APPROVER: _OF_EVERY_ROLE | {Scope.CONTRACTS_WRITE},
    Role.OPERATOR: ALL_SCOPES,
    Role.AUDITOR: _OF_EVERY_ROLE | {Scope.AUDIT_READ},
}


def scopes_of(roles: Iterable[Role]) -> frozenset[Scope]:
    """Those of a credential that names none: all at which one of its roles has something to do."""
    return frozenset(scope for role in roles for scope in _OF_ROLES[role])


def read_scopes(names: Iterable[str]) -> frozenset[Scope]:
    """The scopes among `names`. A name that is not known gives nothing: it may mean something to another program."""
    known = {scope.value: scope for scope in Scope}
    return frozenset(known[name] for name in names if name in known)
