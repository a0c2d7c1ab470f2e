"""A chain that was tampered with is told from one that was not, in memory and from a file alone."""

import io
import json
import random
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.audit import GENESIS, AuditAction, AuditEvent, AuditHead, EventDigest
from registry.audit_chain import Broken, Fault, Intact, digest_of, verify_chain
from registry.audit_export import (
    MAX_LINE_BYTES,
    ExportHeader,
    event_line,
    header_line,
    read_event,
    verify_export,
)
from registry.identifiers import PrincipalId, TenantId

ACME = TenantId("acme")
NONE = EventDigest("")


def a_chain(length: int, *, tenant: str = "acme") -> list[AuditEvent]:
    """A sound chain."""
    events: list[AuditEvent] = []
    for number in range(1, length + 1):
        event = AuditEvent(
            tenant=TenantId(tenant),
            sequence=number,
            at=datetime(2026, 3, 1, tzinfo=UTC) + timedelta(seconds=number),
            actor=PrincipalId("ann"),
            key_id=None if number % 2 else "k1",
            action=AuditAction.ALIAS_MOVED,
            subject={"name": "invoice", "alias": "prod"},
            details={"number": number, "reason": "größer\n"},
            previous=events[-1].digest if events else GENESIS,
            digest=NONE,
        )
        events.append(replace(event, digest=digest_of(event)))
    return events


def head_of(events: list[AuditEvent]) -> AuditHead:
    return AuditHead(tenant=events[-1].tenant, sequence=events[-1].sequence, digest=events[-1].digest)


def exported(events: list[AuditEvent], **header: object) -> list[bytes]:
    """The lines of an export."""
    said = ExportHeader(tenant=ACME, first=events[0].sequence, last=events[-1].sequence, head=head_of(events))
    lines = [header_line(replace(said, **header)), *map(event_line, events)]  # type: ignore[arg-type]
    return [line.encode() for line in lines]


def verified(lines: list[bytes], *, kept: AuditHead | None = None) -> Intact | Broken:
    return verify_export(io.BytesIO(b"".join(lines)), kept=kept)


def fault_of(verdict: Intact | Broken) -> tuple[Fault, int]:
    assert isinstance(verdict, Broken), verdict
    return verdict.fault, verdict.sequence


def test_a_sound_chain_is_intact_as_a_whole_and_from_any_event_on() -> None:
    events = a_chain(5)
    assert verify_chain(events, head_of(events)) == Intact(tenant=ACME, first=1, last=5, digest=events[-1].digest)
    assert verify_chain(events[2:]) == Intact(tenant=ACME, first=3, last=5, digest=events[-1].digest)
    assert verify_chain([]) == Intact(tenant=None, first=1, last=0, digest=GENESIS)


@given(st.integers(0, 7), st.sampled_from(["at", "actor", "key_id", "action", "subject", "details", "previous"]))
def test_a_changed_event_is_found_where_it_stands(index: int, member: str) -> None:
    events = a_chain(8)
    other: dict[str, object] = {
        "at": events[index].at + timedelta(microseconds=1),
        "actor": PrincipalId("bea"),
        "key_id": "another",
        "action": AuditAction.ALIAS_DROPPED,
        "subject": {"name": "invoice"},
        "details": {"number": 1, "reason": ""},
        "previous": EventDigest("f" * 64),
    }
    events[index] = replace(events[index], **{member: other[member]})  # type: ignore[arg-type]
    fault, sequence = fault_of(verify_chain(events))
    assert sequence == index + 1
    expected = {Fault.GENESIS if index == 0 else Fault.PREVIOUS} if member == "previous" else {Fault.DIGEST}
    assert fault in expected


@given(st.integers(0, 6))
def test_a_changed_event_with_its_digest_made_anew_is_found_at_the_next(index: int) -> None:
    events = a_chain(8)
    forged = replace(events[index], actor=PrincipalId("mallory"))
    events[index] = replace(forged, digest=digest_of(forged))
    assert fault_of(verify_chain(events)) == (Fault.PREVIOUS, index + 2)


@given(st.integers(1, 6))
def test_a_missing_event_is_a_gap(index: int) -> None:
    events = a_chain(8)
    del events[index]
    assert fault_of(verify_chain(events)) == (Fault.SEQUENCE, index + 1)


@given(st.integers(0, 7))
def test_an_event_twice_is_found(index: int) -> None:
    events = a_chain(8)
    events.insert(index, events[index])
    assert fault_of(verify_chain(events))[0] is Fault.SEQUENCE


def test_another_order_and_another_tenants_event_are_found() -> None:
    events = a_chain(4)
    assert fault_of(verify_chain([events[0], events[2], events[1], events[3]])) == (Fault.SEQUENCE, 2)
    foreign = a_chain(4, tenant="other")
    assert fault_of(verify_chain([events[0], foreign[1], *events[2:]])) == (Fault.TENANT, 2)
    assert fault_of(verify_chain(foreign, tenant=ACME)) == (Fault.TENANT, 1)


def test_a_cut_tail_is_found_by_a_head_that_was_kept() -> None:
    events = a_chain(8)
    assert isinstance(verify_chain(events[:5]), Intact)
    assert fault_of(verify_chain(events[:5], head_of(events))) == (Fault.TRUNCATED, 6)


def test_a_rewritten_tail_is_found_by_a_head_that_was_kept_whether_last_or_not() -> None:
    events = a_chain(8)
    rewritten = events[:4]
    for old in events[4:]:
        forged = replace(old, actor=PrincipalId("mallory"), previous=rewritten[-1].digest)
        rewritten.append(replace(forged, digest=digest_of(forged)))
    assert isinstance(verify_chain(rewritten), Intact)
    assert fault_of(verify_chain(rewritten, head_of(events))) == (Fault.HEAD, 8)
    assert fault_of(verify_chain(rewritten, head_of(events[:6]))) == (Fault.HEAD, 6)
    assert isinstance(verify_chain(rewritten, head_of(events[:4])), Intact)


def test_a_kept_head_before_the_events_says_nothing_unless_it_is_the_one_just_before() -> None:
    events = a_chain(8)
    assert isinstance(verify_chain(events[4:], head_of(events[:4])), Intact)
    assert fault_of(verify_chain(events[5:], head_of(events[:4])))[0] is Fault.NOT_COVERED
    forged = AuditHead(tenant=ACME, sequence=4, digest=EventDigest("f" * 64))
    assert fault_of(verify_chain(events[4:], forged))[0] is Fault.HEAD
    foreign = replace(head_of(events), tenant=TenantId("other"))
    assert fault_of(verify_chain(events, foreign))[0] is Fault.TENANT


def test_an_export_is_verified_from_the_file_alone() -> None:
    events = a_chain(6)
    lines = exported(events)
    assert verified(lines, kept=head_of(events)) == Intact(tenant=ACME, first=1, last=6, digest=events[-1].digest)
    part = exported(events[2:4], head=head_of(events))
    assert verified(part) == Intact(tenant=ACME, first=3, last=4, digest=events[3].digest)
    empty = header_line(ExportHeader(tenant=ACME, first=1, last=0, head=None)).encode()
    assert isinstance(verified([empty]), Intact)


@pytest.mark.parametrize(
    ("why", "tamper", "fault", "sequence"),
    [
        ("the file is cut at the end of a line", lambda lines: lines[:-1], Fault.TRUNCATED, 6),
        ("the file is cut within a line", lambda lines: [*lines[:-1], lines[-1][:-20]], Fault.TRUNCATED, 6),
        ("its last line feed is missing", lambda lines: [*lines[:-1], lines[-1][:-1]], Fault.TRUNCATED, 6),
        ("only the header is left", lambda lines: lines[:1], Fault.TRUNCATED, 1),
        ("a line is missing", lambda lines: [*lines[:3], *lines[4:]], Fault.SEQUENCE, 3),
        ("a line comes twice", lambda lines: [*lines[:3], lines[2], *lines[3:]], Fault.SEQUENCE, 3),
        ("the last line comes twice", lambda lines: [*lines, lines[-1]], Fault.SEQUENCE, 7),
        ("two lines changed places", lambda lines: [*lines[:2], lines[3], lines[2], *lines[4:]], Fault.SEQUENCE, 2),
        ("a line is empty", lambda lines: [*lines[:3], b"\n", *lines[3:]], Fault.GARBLED, 3),
        ("a line is garbled", lambda lines: [*lines[:3], b"\xff\xfe\n", *lines[4:]], Fault.GARBLED, 3),
        ("a line is not an object", lambda lines: [*lines[:3], b"[]\n", *lines[4:]], Fault.GARBLED, 3),
        ("a line is endless", lambda lines: [*lines[:3], b"x" * (MAX_LINE_BYTES + 9) + b"\n"], Fault.GARBLED, 3),
        ("a line is deep", lambda lines: [*lines[:3], b"[" * 9_999 + b"]" * 9_999 + b"\n"], Fault.GARBLED, 3),
        ("a member was added", lambda lines: [*lines[:3], lines[3][:-2] + b',"x":1}\n'], Fault.GARBLED, 3),
        ("a member comes twice", lambda lines: [*lines[:3], b'{"at":"",' + lines[3][1:]], Fault.GARBLED, 3),
        ("a line is spelled with blanks", lambda lines: [*lines[:3], lines[3][:-1] + b" \n"], Fault.GARBLED, 3),
        ("the file is empty", lambda lines: [], Fault.FORMAT, 0),
        ("the header is missing", lambda lines: lines[1:], Fault.FORMAT, 0),
        (
            "the header is of another kind",
            lambda lines: [lines[0].replace(b"export 1", b"export 2")],
            Fault.FORMAT,
            0,
        ),
        ("the header says less", lambda lines: [lines[0].replace(b'"to":6', b'"to":5'), *lines[1:]], Fault.SEQUENCE, 6),
        ("the header says more", lambda lines: [lines[0].replace(b'"to":6', b'"to":7'), *lines[1:]], Fault.FORMAT, 0),
        ("the header begins later", lambda lines: [lines[0].replace(b'm":1', b'm":2'), *lines[1:]], Fault.SEQUENCE, 2),
        (
            "the header names another",
            lambda lines: [lines[0].replace(b"acme", b"evil"), *lines[1:]],
            Fault.TENANT,
            1,
        ),
    ],
)
def test_a_file_that_was_tampered_with_is_found_out(
    why: str, tamper: Callable[[list[bytes]], list[bytes]], fault: Fault, sequence: int
) -> None:
    assert fault_of(verified(tamper(exported(a_chain(6))))) == (fault, sequence), why


def test_a_file_spliced_of_two_chains_is_found_out() -> None:
    ours, theirs = exported(a_chain(6)), exported(a_chain(6, tenant="other"))
    assert fault_of(verified([*ours[:4], *theirs[4:]])) == (Fault.TENANT, 4)


@given(st.randoms(use_true_random=False))
def test_any_single_changed_byte_is_found_out(rng: random.Random) -> None:
    lines = b"".join(exported(a_chain(4)))
    at = rng.randrange(len(lines))
    changed = lines[:at] + bytes([lines[at] ^ (1 << rng.randrange(8))]) + lines[at + 1 :]
    assert isinstance(verify_export(io.BytesIO(changed)), Broken)


@given(st.binary(max_size=300))
def test_any_bytes_are_judged(data: bytes) -> None:
    assert isinstance(verify_export(io.BytesIO(data)), Broken)


def test_an_event_reads_back_as_it_was() -> None:
    for event in a_chain(3):
        assert read_event(event_line(event).encode()[:-1]) == event
        assert json.loads(event_line(event))["digest"] == event.digest


def test_events_of_later_versions_are_not_taken_for_known_ones() -> None:
    lines = exported(a_chain(3))
    lines[2] = lines[2].replace(b"alias.moved", b"alias.melted")
    verdict = verified(lines)
    assert isinstance(verdict, Broken)
    assert "does not know" in verdict.reason
