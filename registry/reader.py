"""Reading contracts beside the event loop, so many at a time."""

import asyncio
from typing import Final

from policy.enforcement import EnforcementPolicy
from policy.limits import ContractLimits
from registry.contract import CanonicalContract, ContractKind, JsonValue
from registry.dependencies import MAX_SOURCE_NESTING, Texts
from registry.parsing import parse_json
from registry.reading import read_contract
from registry.revision import Revision
from registry.store.bounds import MAX_SOURCE_BYTES

MAX_READINGS: Final = 2
"""At once: reading is processor time, and more would only take turns with the requests being served."""


class Reader:
    """One for a process."""

    def __init__(self, *, max_readings: int = MAX_READINGS) -> None:
        self._turns = asyncio.Semaphore(max_readings)

    async def read(
        self,
        kind: ContractKind,
        definition: JsonValue,
        *,
        limits: ContractLimits,
        policy: EnforcementPolicy,
        texts: Texts,
        dialect: str | None,
    ) -> CanonicalContract:
        """What `read_contract` reads. Raises `ContractRejectedError`."""

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

        async with self._turns:
            return await asyncio.to_thread(reading)

    async def read_again(self, revision: Revision, *, limits: ContractLimits, texts: Texts) -> CanonicalContract:
        """What a stored revision reads as now. Raises `ContractRejectedError`."""

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

        async with self._turns:
            return await asyncio.to_thread(reading)
