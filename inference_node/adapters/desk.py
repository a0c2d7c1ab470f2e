"""Adapters as callers see them: put, listed, removed, leased, and refused with faults."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Final, Literal, TypeVar

from inference_node.adapters.adapter_bank import AdapterBank
from inference_node.adapters.errors import (
    AdapterDigestError,
    AdapterError,
    AdapterFileError,
    AdapterInUseError,
    AdapterMismatchError,
    AdapterMissingError,
    AdaptersFullError,
    UnsupportedAdapterError,
)
from inference_node.adapters.lease import AdapterLease
from inference_node.adapters.protocol import AdapterRemoved, AdapterStored, StoredAdapter, StoredAdapters
from inference_node.errors import RefusedRequestError
from inference_node.protocol import NodeFault

_RETRY_AFTER_SECONDS: Final = 1.0
_MAX_AT_ONCE: Final = 1
"""Files that are read at one time: each takes memory several times over."""

FaultCode = Literal["malformed_request", "adapter_mismatch", "adapter_required", "adapter_in_use", "overloaded"]
_Result = TypeVar("_Result")


class AdapterDesk:
    """Used from the event loop that serves. Everything here raises RefusedRequestError, and no other error of ours."""

    def __init__(self, bank: AdapterBank) -> None:
        self._bank: Final = bank
        self._reading: Final = asyncio.Semaphore(_MAX_AT_ONCE)

    async def put(self, digest: str, body: bytes) -> AdapterStored:
        """Keep an adapter."""
        async with self._reading:
            is_known = await asyncio.to_thread(_refusing, lambda: self._bank.put(digest, body))
        return AdapterStored(digest=digest, already_present=is_known)

    async def stored(self) -> StoredAdapters:
        """All that are kept."""
        held = self._bank.held()
        return StoredAdapters(
            base_digest=await asyncio.to_thread(self._bank.base_digest),
            max_adapters=self._bank.max_adapters,
            adapters=[
                StoredAdapter(
                    digest=each.digest,
                    rank=each.rank,
                    bytes=each.num_bytes,
                    running_sequences=each.num_sequences,
                )
                for each in held
            ],
        )

    def remove(self, digest: str) -> AdapterRemoved:
        """Let one go."""
        _refusing(lambda: self._bank.remove(digest))
        return AdapterRemoved(digest=digest)

    def lease(self, digest: str | None) -> AdapterLease:
        """Hold one for a sequence; None: the sequence has none. The lease has to be released."""
        if digest is None:
            return AdapterLease()
        return _refusing(lambda: self._bank.lease(digest))


CODES: Final[Mapping[type[AdapterError], FaultCode]] = {
    AdapterFileError: "malformed_request",
    AdapterDigestError: "malformed_request",
    UnsupportedAdapterError: "adapter_mismatch",
    AdapterMismatchError: "adapter_mismatch",
    AdapterMissingError: "adapter_required",
    AdapterInUseError: "adapter_in_use",
    AdaptersFullError: "overloaded",
}


def _refusing(action: Callable[[], _Result]) -> _Result:
    try:
        return action()
    except AdapterError as error:
        fault = NodeFault(
            code=CODES[type(error)],
            message=str(error),
            limit=error.max_adapters if isinstance(error, AdaptersFullError) else None,
            observed=error.num_sequences if isinstance(error, AdapterInUseError) else None,
        )
        retry = _RETRY_AFTER_SECONDS if isinstance(error, AdaptersFullError) else None
        raise RefusedRequestError(fault, retry_after_seconds=retry) from error
