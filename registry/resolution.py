"""The end of a name: which revision a reference means now, and whether it is served.

What is not there and what is another tenant's are one answer, after one and the same question to the store.
"""

import time
from asyncio import Future, get_running_loop, wait
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Protocol

from policy.limits import ContractLimits
from registry.contract import CanonicalContract
from registry.dependencies import Dependencies
from registry.errors import ContractRejectedError, StaleRevisionError
from registry.identifiers import TenantId
from registry.naming import Reference
from registry.reader import Reader
from registry.revision import ResolvedRevision, Revision
from registry.serving import as_reference, judged
from registry.store.contracts import ContractStore
from registry.store.records import BareContract, ServedRevision

Clock = Callable[[], datetime]

MAX_STALE_SECONDS: Final = 0.5
"""How long an answer is given again: aliases, states, signatures and policy move, and other processes move them."""
MAX_REMEMBERED: Final = 4_096
"""Answers, those that nothing is there among them."""
MAX_REMEMBERED_CHARACTERS: Final = 64 * 1024 * 1024
"""Of the texts in them."""

Found = ServedRevision | BareContract | None


class Resolving(Protocol):
    """What services need of a resolver."""

    async def resolve(self, reference: str | Reference, viewer: TenantId, *, serving: bool) -> ResolvedRevision:
        """What `reference` means to `viewer` now; with `serving`, only what may be served."""
        ...

    def forget(self, tenant: TenantId) -> None:
        """Something of this tenant's has changed: no answer from before may be given from now on."""
        ...


class Resolver:
    """Asks the store each time."""

    def __init__(self, contracts: ContractStore, dependencies: Dependencies, reader: Reader, *, clock: Clock) -> None:
        self._contracts = contracts
        self._dependencies = dependencies
        self._reader = reader
        self._clock = clock

    async def resolve(self, reference: str | Reference, viewer: TenantId, *, serving: bool) -> ResolvedRevision:
        """What `reference` means to `viewer` now; with `serving`, only what may be served.

        Raises `InvalidNameError`, `NotFoundError`, `TombstonedError`; with `serving` also `StateError`
        (`draft_revision`, `sunset_revision`) and `SignatureRequiredError`.
        """
        read = as_reference(reference)
        return judged(await self._find(read, viewer), read, viewer, serving=serving, at=self._clock())

    def forget(self, tenant: TenantId) -> None:
        """Nothing is remembered here."""

    async def canonical(
        self, revision: Revision, limits: ContractLimits, *, viewer: TenantId | None = None
    ) -> CanonicalContract:
        """The contract, read again from its text with the texts it was read with, in a turn of who asks: `viewer`, or
        the revision's own tenant.

        Raises `StaleRevisionError` if it no longer reads as what it was stored as: a reader that has changed its mind,
        or bytes that have.
        """
        spelled = f"{revision.name}@{revision.number}"
        try:
            texts = await self._dependencies.stored(revision)
            contract = await self._reader.read_again(
                revision, limits=limits, texts=texts, tenant=viewer or revision.tenant
            )
        except ContractRejectedError as error:
            raise StaleRevisionError(f"{spelled} is no longer accepted: {error}") from error
        if (contract.digest, contract.annotation_digest) != (revision.digest, revision.annotation_digest):
            raise StaleRevisionError(f"{spelled} no longer reads as {revision.digest}")
        return contract

    async def _find(self, reference: Reference, viewer: TenantId) -> Found:
        return await self._contracts.serving(viewer, reference)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asking:
    """A question that the store is busy with."""

    answer: Future[Found | BaseException]
    changed: set[TenantId] = field(default_factory=set)
    """Whose things have changed since it was put."""

    def is_from_before(self, found: Found) -> bool:
        """Whether what was found may have changed on its way. What is not visible to who asks changes nothing."""
        return found is not None and found.contract.tenant in self.changed


@dataclass(frozen=True, slots=True, kw_only=True)
class _Remembered:
    found: Found
    until: float
    num_characters: int


class CachedResolver(Resolver):
    """Gives the store's answers again for `MAX_STALE_SECONDS`, and asks it once where many ask at a time.

    An answer is kept for the viewer who asked, never for another; that nothing is there is an answer like any other,
    so that both are equally fast. What this process changes it sees at once: `forget` drops what was learnt before,
    and what is being asked meanwhile is not kept.
    """

    def __init__(
        self,
        contracts: ContractStore,
        dependencies: Dependencies,
        reader: Reader,
        *,
        clock: Clock,
        max_stale_seconds: float = MAX_STALE_SECONDS,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(contracts, dependencies, reader, clock=clock)
        self._max_stale_seconds = max_stale_seconds
        self._now = now
        self._known: OrderedDict[tuple[TenantId, Reference], _Remembered] = OrderedDict()
        self._num_characters = 0
        self._asking: dict[tuple[TenantId, Reference], _Asking] = {}

    def forget(self, tenant: TenantId) -> None:
        """Drop what the tenant was told, and what others were told of its shared contracts.

        That others were told of nothing is not dropped: how quickly they are answered must not follow what a tenant
        does with what they cannot see.
        """
        for key, known in list(self._known.items()):
            if key[0] == tenant or (known.found is not None and known.found.contract.tenant == tenant):
                self._drop(key)
        for key in [key for key in self._asking if key[0] == tenant]:
            del self._asking[key]
        for asking in self._asking.values():
            asking.changed.add(tenant)

    async def _find(self, reference: Reference, viewer: TenantId) -> Found:
        key = (viewer, reference)
        while True:
            known = self._known.get(key)
            if known is not None and self._now() < known.until:
                self._known.move_to_end(key)
                return known.found
            asking = self._asking.get(key)
            if asking is None:
                return await self._ask(key)
            await wait({asking.answer})  # not the future itself: one who leaves would cancel it for all
            answer = asking.answer.result()
            if not isinstance(answer, BaseException) and not asking.is_from_before(answer):
                return answer
            # Whoever asked was cancelled or failed, or asked too early; each of the others finds out for itself.

    async def _ask(self, key: tuple[TenantId, Reference]) -> Found:
        asking = _Asking(answer=get_running_loop().create_future())
        self._asking[key] = asking
        began = self._now()
        try:
            found = await super()._find(key[1], key[0])
        except BaseException as error:
            asking.answer.set_result(error)
            raise
        else:
            asking.answer.set_result(found)
            # Unless something was changed since the question was put.
            if self._asking.get(key) is asking and not asking.is_from_before(found):
                self._keep(key, found, until=began + self._max_stale_seconds)
            return found
        finally:
            if self._asking.get(key) is asking:
                del self._asking[key]

    def _keep(self, key: tuple[TenantId, Reference], found: Found, *, until: float) -> None:
        self._drop(key)
        num_characters = _num_characters(found)
        self._known[key] = _Remembered(found=found, until=until, num_characters=num_characters)
        self._num_characters += num_characters
        while len(self._known) > MAX_REMEMBERED or self._num_characters > MAX_REMEMBERED_CHARACTERS:
            self._drop(next(iter(self._known)))

    def _drop(self, key: tuple[TenantId, Reference]) -> None:
        known = self._known.pop(key, None)
        if known is not None:
            self._num_characters -= known.num_characters


def _num_characters(found: Found) -> int:
    if not isinstance(found, ServedRevision):
        return 0
    return len(found.revision.source_text) + len(found.revision.canonical_text)
