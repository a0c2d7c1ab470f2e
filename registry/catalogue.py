"""The registry in one piece: what routes, façade and command line call, put together here and nowhere else."""

from dataclasses import dataclass
from datetime import UTC, datetime

from policy.entitlement import NO_ENTITLEMENTS, Entitlements
from registry.comparison import Comparisons
from registry.dependencies import Dependencies
from registry.examination import Examiner
from registry.lifecycle import Lifecycle
from registry.measuring import Comparer, Measuring
from registry.permissions import Permissions
from registry.policies import Policies
from registry.promotion import Promoter
from registry.proving import Proving
from registry.reader import Reader
from registry.registrar import Registrar
from registry.resolution import MAX_STALE_SECONDS, CachedResolver, Clock
from registry.signing import Signing
from registry.store.audit_log import AuditLog
from registry.store.contracts import ContractStore
from registry.store.database import Database
from registry.store.governed import GovernedStore
from registry.store.idempotency import IdempotencyStore
from registry.store.policies import PolicyStore
from registry.store.promotions import PromotionStore
from registry.store.signatures import SignatureStore
from registry.store.subjects import SubjectStore
from registry.store.usage import UsageStore
from registry.subjects import Subjects
from registry.turns import Turns


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """All services over one database. The last five are the stores themselves."""

    registrar: Registrar
    resolver: CachedResolver
    promoter: Promoter
    lifecycle: Lifecycle
    comparisons: Comparisons
    signing: Signing
    policies: Policies
    subjects: Subjects
    contracts: ContractStore
    governed: GovernedStore
    audit: AuditLog
    usage: UsageStore
    idempotency: IdempotencyStore


def utc_now() -> datetime:
    """The time of whatever is recorded."""
    return datetime.now(UTC)


def open_catalogue(
    database: Database,
    comparer: Comparer,
    *,
    clock: Clock = utc_now,
    max_stale_seconds: float = MAX_STALE_SECONDS,
    turns: Turns | None = None,
    entitlements: Entitlements = NO_ENTITLEMENTS,
) -> Catalogue:
    """The services over an open database; closing it remains its owner's business.

    `turns` are shared with whatever else of the process takes processor time for tenants.
    """
    contracts = ContractStore(database)
    policies, promotions, signatures = PolicyStore(database), PromotionStore(database), SignatureStore(database)
    usage = UsageStore(database)
    permissions = Permissions(contracts=contracts)
    turns = turns or Turns()
    dependencies = Dependencies(contracts=contracts, turns=turns)
    reader = Reader(turns)
    measuring = Measuring(contracts, comparer)
    resolver = CachedResolver(contracts, dependencies, reader, clock=clock, max_stale_seconds=max_stale_seconds)
    examiner = Examiner(
        contracts=contracts,
        policies=policies,
        dependencies=dependencies,
        measuring=measuring,
        reader=reader,
        entitlements=entitlements,
    )
    registrar = Registrar(contracts, examiner, resolver, clock=clock)
    proving = Proving(
        permissions=permissions, policies=policies, signatures=signatures, measuring=measuring, comparer=comparer
    )
    return Catalogue(
        registrar=registrar,
        resolver=resolver,
        promoter=Promoter(permissions, promotions, proving, resolver, clock=clock),
        lifecycle=Lifecycle(permissions, policies, usage, measuring, resolver, clock=clock),
        comparisons=Comparisons(comparer, resolver, registrar, dependencies, reader),
        signing=Signing(permissions, signatures, resolver, clock=clock),
        policies=Policies(policies, resolver, clock=clock),
        subjects=Subjects(store=SubjectStore(database), contracts=contracts, clock=clock),
        contracts=contracts,
        governed=GovernedStore(database),
        audit=AuditLog(database),
        usage=usage,
        idempotency=IdempotencyStore(database),
    )
