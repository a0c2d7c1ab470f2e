"""A chain as a file: JSON Lines, a header and then the events. It can be verified from the file alone.

Whoever verifies trusts nothing in the file: lines are read one at a time, each bounded, and each event's digest is made
anew. The header says how far the file reaches, so that a file which was cut at the end of a line is noticed too.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import BinaryIO, Final

from registry.audit import AuditAction, AuditEvent, AuditHead, EventDigest, stamp_text
from registry.audit_chain import Broken, ChainWalk, Fault, Intact
from registry.contract import JsonValue
from registry.errors import ContractRejectedError
from registry.identifiers import PrincipalId, TenantId
from registry.parsing import parse_json
from registry.text import value_text

EXPORT_FORMAT: Final = "schemagate audit export 1"
MAX_LINE_BYTES: Final = 256 * 1024
"""Above any event: its longest parts are a policy with its list of aliases, and a reason."""
MAX_LINE_NESTING: Final = 32

_DIGEST: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)
_STAMP: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", re.ASCII)
_HEADER_MEMBERS: Final = frozenset({"format", "tenant", "from", "to", "head"})
_EVENT_MEMBERS: Final = frozenset(
    {"tenant", "sequence", "at", "actor", "key_id", "action", "subject", "details", "previous", "digest"}
)


class GarbledLineError(Exception):
    """A line is not what stands there in an export; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportHeader:
    """What a file says of itself. `last` is `first - 1` where there are no events."""

    tenant: TenantId
    first: int
    last: int
    head: AuditHead | None
    """The chain's head when it was exported; None of a chain without events."""


def header_line(header: ExportHeader) -> str:
    """The first line, with its line feed."""
    head: JsonValue = None if header.head is None else {"sequence": header.head.sequence, "digest": header.head.digest}
    members: JsonValue = {
        "format": EXPORT_FORMAT,
        "tenant": header.tenant,
        "from": header.first,
        "to": header.last,
        "head": head,
    }
    return f"{value_text(members)}\n"


def event_line(event: AuditEvent) -> str:
    """One event, with its line feed."""
    members: JsonValue = {
        "tenant": event.tenant,
        "sequence": event.sequence,
        "at": stamp_text(event.at),
        "actor": event.actor,
        "key_id": event.key_id,
        "action": event.action.value,
        "subject": dict(event.subject),
        "details": dict(event.details),
        "previous": event.previous,
        "digest": event.digest,
    }
    return f"{value_text(members)}\n"


def verify_export(file: BinaryIO, *, kept: AuditHead | None = None) -> Intact | Broken:
    """Whether a file holds the unbroken chain that its header announces, passing through `kept`.

    One line at a time, whatever the size of the file.
    """
    try:
        header = read_header(_line(file))
    except GarbledLineError as error:
        return Broken(sequence=0, fault=Fault.FORMAT, reason=str(error))
    walk = ChainWalk(tenant=header.tenant, kept=kept)
    expected = header.first
    while raw := file.readline(MAX_LINE_BYTES + 1):
        try:
            event = read_event(_whole(raw))
        except GarbledLineError as error:
            is_cut = not raw.endswith(b"\n") and len(raw) <= MAX_LINE_BYTES
            return Broken(sequence=expected, fault=Fault.TRUNCATED if is_cut else Fault.GARBLED, reason=str(error))
        if event.sequence != expected or event.sequence > header.last:
            reason = f"event {event.sequence} stands where the file has to have {_what(expected, header)}"
            fault = Fault.SEQUENCE if event.tenant == header.tenant else Fault.TENANT
            return Broken(sequence=expected, fault=fault, reason=reason)
        broken = walk.step(event)
        if broken is not None:
            return broken
        expected += 1
    if expected <= header.last:
        reason = f"the file ends before event {expected}, and says that it reaches {header.last}"
        return Broken(sequence=expected, fault=Fault.TRUNCATED, reason=reason)
    return _agreeing(walk.end(), header)


def read_header(line: bytes) -> ExportHeader:
    """Raises `GarbledLineError`."""
    members = _object(line, "the first line")
    if members.get("format") != EXPORT_FORMAT:
        raise GarbledLineError(f"the first line does not say {EXPORT_FORMAT!r}")
    if members.keys() != _HEADER_MEMBERS:
        raise GarbledLineError("the first line does not have the members of a header")
    tenant = TenantId(_text(members, "tenant"))
    first, last = _number(members, "from"), _number(members, "to")
    if first < 1 or last < first - 1:
        raise GarbledLineError("the first line announces an impossible part of a chain")
    match members["head"]:
        case None if last == 0:
            return ExportHeader(tenant=tenant, first=first, last=last, head=None)
        case dict() as head if head.keys() == {"sequence", "digest"} and _number(head, "sequence") >= last:
            kept = AuditHead(tenant=tenant, sequence=_number(head, "sequence"), digest=_digest(head, "digest"))
            return ExportHeader(tenant=tenant, first=first, last=last, head=kept)
        case _:
            raise GarbledLineError("the first line does not say where the chain's head was")


def read_event(line: bytes) -> AuditEvent:
    """An event as `event_line` writes it; another spelling of the same is garbled. Raises `GarbledLineError`."""
    members = _object(line, "the line")
    if members.keys() != _EVENT_MEMBERS:
        raise GarbledLineError("the line does not have the members of an event")
    action, at, key_id = _text(members, "action"), _text(members, "at"), members["key_id"]
    if action not in set(AuditAction):
        raise GarbledLineError(f"the line tells of {action[:64]!r}, which this version does not know")
    if key_id is not None and not isinstance(key_id, str):
        raise GarbledLineError("`key_id` is neither a text nor null")
    subject, details = members["subject"], members["details"]
    if not isinstance(subject, dict) or not isinstance(details, dict):
        raise GarbledLineError("`subject` and `details` are objects")
    event = AuditEvent(
        tenant=TenantId(_text(members, "tenant")),
        sequence=_number(members, "sequence"),
        at=_moment(at),
        actor=PrincipalId(_text(members, "actor")),
        key_id=key_id,
        action=AuditAction(action),
        subject=subject,
        details=details,
        previous=_digest(members, "previous"),
        digest=_digest(members, "digest"),
    )
    if event_line(event).encode() != line + b"\n":
        raise GarbledLineError("the line is spelled in another way than events are")
    return event


def _agreeing(end: Intact | Broken, header: ExportHeader) -> Intact | Broken:
    """The end of the walk, unless the header says otherwise of it."""
    head = header.head
    if isinstance(end, Intact) and head is not None and head.sequence == end.last and head.digest != end.digest:
        return Broken(sequence=end.last, fault=Fault.HEAD, reason="the last event is not the head that the file names")
    return end


def _what(expected: int, header: ExportHeader) -> str:
    return f"event {expected}" if expected <= header.last else "its end"


def _line(file: BinaryIO) -> bytes:
    return _whole(file.readline(MAX_LINE_BYTES + 1))


def _whole(raw: bytes) -> bytes:
    if len(raw) > MAX_LINE_BYTES:
        raise GarbledLineError(f"a line is longer than {MAX_LINE_BYTES} bytes")
    if not raw.endswith(b"\n"):
        raise GarbledLineError("the file ends within a line" if raw else "the file is empty")
    return raw[:-1]


def _object(line: bytes, what: str) -> Mapping[str, JsonValue]:
    try:
        value = parse_json(line, max_bytes=MAX_LINE_BYTES, max_nesting=MAX_LINE_NESTING)
    except ContractRejectedError as error:
        raise GarbledLineError(f"{what} is not JSON: {error.rejections[0].message}") from error
    if not isinstance(value, dict):
        raise GarbledLineError(f"{what} is not a JSON object")
    return value


def _text(members: Mapping[str, JsonValue], name: str) -> str:
    value = members[name]
    if not isinstance(value, str):
        raise GarbledLineError(f"`{name}` is not a text")
    return value


def _number(members: Mapping[str, JsonValue], name: str) -> int:
    value = members[name]
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**63:
        raise GarbledLineError(f"`{name}` is not a number of an event")
    return value


def _digest(members: Mapping[str, JsonValue], name: str) -> EventDigest:
    value = _text(members, name)
    if _DIGEST.fullmatch(value) is None:
        raise GarbledLineError(f"`{name}` is not a digest")
    return EventDigest(value)


def _moment(text: str) -> datetime:
    if _STAMP.fullmatch(text) is None:
        raise GarbledLineError("`at` is not a moment in UTC with microseconds")
    try:
        return datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)
    except ValueError as error:
        raise GarbledLineError("`at` is not a moment of the calendar") from error
