"""The registry in one piece: what routes, façade and command line call."""

from dataclasses import dataclass

from registry.comparison import Comparisons
from registry.lifecycle import Lifecycle
from registry.measuring import Comparer
from registry.policies import Policies
from registry.promotion import Promoter
from registry.registration import Registrar
from registry.resolution import Clock, Resolver
from registry.signing import Signing
from registry.store.audit_log import AuditLog
from registry.store.contracts import ContractStore
from registry.store.database import Database
from registry.store.idempotency import IdempotencyStore
from registry.store.usage import UsageStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """All services over one database. `contracts`, `audit`, `usage` and `idempotency` are the stores themselves."""

    registrar: Registrar
    resolver: Resolver
    promoter: Promoter
    lifecycle: Lifecycle
    comparisons: Comparisons
    signing: Signing
    policies: Policies
    contracts: ContractStore
    audit: AuditLog
    usage: UsageStore
    idempotency: IdempotencyStore


def open_catalogue(database: Database, comparer: Comparer, *, clock: Clock) -> Catalogue:
    """The services over an open database; closing it remains its owner's business."""
    raise NotImplementedError
