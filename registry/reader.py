"""Reading contracts beside the event loop, so many at a time, tenants in turn."""

import asyncio

from policy.enforcement import EnforcementPolicy
from policy.limits import ContractLimits
from registry.contract import CanonicalContract, ContractKind, JsonValue
from registry.dependencies import Texts
from registry.identifiers import TenantId
from registry.parsing import parse_json
from registry.reading import read_contract
from registry.revision import Revision
from registry.store.bounds import MAX_SOURCE_BYTES, MAX_SOURCE_NESTING
from registry.turns import Turns


class Reader:
    """One for a process."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns

    async def read(
        self,
        kind: ContractKind,
        definition: JsonValue,
        *,
        limits: ContractLimits,
        policy: EnforcementPolicy,
        texts: Texts,
        dialect: str | None,
        tenant: TenantId,
    ) -> CanonicalContract:
        """What `read_contract` reads, in a turn of `tenant`. Raises `ContractRejectedError`."""

        def reading() -> CanonicalContract:
            return read_contract(
                kind,
                definition,
                limits=limits,
                policy=policy,
                documents=texts.documents,
                dialect=dialect,
                document_dialects=texts.dialects,
            )

        async with self._turns.of(tenant):
            return await asyncio.to_thread(reading)

    async def read_again(
        self, revision: Revision, *, limits: ContractLimits, texts: Texts, tenant: TenantId
    ) -> CanonicalContract:
        """What a stored revision reads as now, in a turn of `tenant`. Raises `ContractRejectedError`."""

        def reading() -> CanonicalContract:
            return read_contract(
                revision.kind,
                parse_json(revision.source_text, max_bytes=MAX_SOURCE_BYTES, max_nesting=MAX_SOURCE_NESTING),
                limits=limits,
                policy=revision.policy,
                documents=texts.documents,
                dialect=revision.dialect,
                document_dialects=texts.dialects,
            )

        async with self._turns.of(tenant):
            return await asyncio.to_thread(reading)
