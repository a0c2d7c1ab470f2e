"""Reading contracts beside the event loop, so many at a time."""

import asyncio
from collections.abc import Mapping
from typing import Final

from policy.enforcement import EnforcementPolicy
from policy.limits import ContractLimits
from registry.contract import CanonicalContract, ContractKind, JsonValue
from registry.reading import read_contract

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
        documents: Mapping[str, JsonValue],
        dialect: str | None,
    ) -> CanonicalContract:
        """What `read_contract` reads. Raises `ContractRejectedError`."""
        async with self._turns:
            return await asyncio.to_thread(
                read_contract,
                kind,
                definition,
                limits=limits,
                policy=policy,
                documents=documents,
                dialect=dialect,
            )
