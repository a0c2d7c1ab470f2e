"""Whether a chain of audit events is whole: every event as it was written, none missing, none put in.

An event that was changed no longer has its digest; with a digest made anew, the next one names another before it. So
whoever rewrites an event rewrites all later ones, and a head that was kept elsewhere tells.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from registry.audit import GENESIS, AuditEvent, AuditHead, EventDigest, event_digest
from registry.identifiers import TenantId


class Fault(StrEnum):
    """What is wrong with a chain, or with the file that says to hold one; a closed list."""

    DIGEST = "digest"
    """The event does not have the digest it says: it was changed."""
    PREVIOUS = "previous"
    """It does not name the digest of the event before: that one was replaced."""
    SEQUENCE = "sequence"
    """An event is missing, comes twice, or stands in another place."""
    TENANT = "tenant"
    """The event is of another tenant's chain."""
    GENESIS = "genesis"
    """The first event names one before it."""
    HEAD = "head"
    """The chain ends elsewhere, or passes elsewhere, than the digest that was kept."""
    TRUNCATED = "truncated"
    """The chain ends before what was kept, or before what the file says of itself."""
    NOT_COVERED = "not_covered"
    """What was kept lies before what the file holds: nothing can be said of it."""
    GARBLED = "garbled"
    """A line is not an event, written as events are."""
    FORMAT = "format"
    """The first line is not the header of an export that this version reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Intact:
    """Every event follows from the one before. `first` is 1 unless only a later part was looked at."""

    tenant: TenantId | None
    """None of an empty chain whose tenant nobody said."""
    first: int
    last: int
    """0 where there is nothing."""
    digest: EventDigest
    """Of the last event: the head to keep elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """The first fault, at the event of that sequence: the one expected there, where there is none."""

    sequence: int
    fault: Fault
    reason: str


class ChainWalk:
    """Goes along a chain event by event, in constant memory. A `kept` head is compared when the walk comes by it.

    Calling order: `step` for each event, until one returns a fault; then `end`.
    """

    def __init__(self, *, tenant: TenantId | None = None, kept: AuditHead | None = None) -> None:
        self._tenant = tenant
        self._kept = kept
        self._first: int | None = None
        self._last = 0
        self._digest = GENESIS

    @property
    def next_sequence(self) -> int:
        """The sequence that has to come now."""
        return self._last + 1

    def step(self, event: AuditEvent) -> Broken | None:
        """The fault of the next event, if it has one."""
        if self._tenant is None:
            self._tenant = event.tenant
        if event.tenant != self._tenant:
            return self._broken(Fault.TENANT, "the event belongs to another tenant's chain")
        if self._first is None:
            broken = self._begin(event)
            if broken is not None:
                return broken
        if event.sequence != self.next_sequence:
            return self._broken(Fault.SEQUENCE, f"event {event.sequence} stands where {self.next_sequence} has to")
        if event.previous != self._digest:
            return self._broken(Fault.PREVIOUS, "the event names another one before it than there is")
        if event.digest != digest_of(event):
            return self._broken(Fault.DIGEST, "the event is not what its digest was made of")
        self._last, self._digest = event.sequence, event.digest
        if self._kept is not None and self._kept.sequence == self._last and self._kept.digest != self._digest:
            return Broken(
                sequence=self._last, fault=Fault.HEAD, reason="the event is not the one whose digest was kept"
            )
        return None

    def end(self) -> Intact | Broken:
        """What there is to say when no more events come."""
        kept = self._kept
        if kept is not None and self._tenant not in {None, kept.tenant}:
            return self._broken(Fault.TENANT, "the digest that was kept is of another tenant's chain")
        if kept is not None and kept.sequence > self._last:
            return self._broken(Fault.TRUNCATED, f"the chain ends before event {kept.sequence}, which was there once")
        tenant = self._tenant if kept is None else kept.tenant
        return Intact(tenant=tenant, first=self._first or 1, last=self._last, digest=self._digest)

    def _begin(self, event: AuditEvent) -> Broken | None:
        """The first event may be any; one that is not the chain's first is taken at its word on the one before."""
        if event.sequence < 1:
            return self._broken(Fault.SEQUENCE, "sequences begin at 1")
        if event.sequence == 1 and event.previous != GENESIS:
            return self._broken(Fault.GENESIS, "the first event names one before it")
        self._first, self._last, self._digest = event.sequence, event.sequence - 1, event.previous
        kept = self._kept
        if kept is not None and kept.sequence < self._last:
            return self._broken(Fault.NOT_COVERED, f"the events begin after {kept.sequence}, whose digest was kept")
        if kept is not None and kept.sequence == self._last and kept.digest != self._digest:
            return self._broken(Fault.HEAD, "the event before is not the one whose digest was kept")
        return None

    def _broken(self, fault: Fault, reason: str) -> Broken:
        return Broken(sequence=self.next_sequence, fault=fault, reason=reason)


def verify_chain(
    events: Iterable[AuditEvent], head: AuditHead | None = None, *, tenant: TenantId | None = None
) -> Intact | Broken:
    """Whether the events are an unbroken chain that passes through `head`, if one was kept."""
    walk = ChainWalk(tenant=tenant, kept=head)
    for event in events:
        broken = walk.step(event)
        if broken is not None:
            return broken
    return walk.end()


def digest_of(event: AuditEvent) -> EventDigest:
    """The digest that an event has to have."""
    return event_digest(
        tenant=event.tenant,
        sequence=event.sequence,
        at=event.at,
        actor=event.actor,
        key_id=event.key_id,
        action=event.action,
        subject=event.subject,
        details=event.details,
        previous=event.previous,
    )
