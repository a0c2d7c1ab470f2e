"""`/v1/audit`: the tenant's chain of events, page by page or as a file that `schemagate audit verify` reads offline."""

from collections.abc import AsyncIterator

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from gateway.call import begin
from gateway.query import Query
from policy.roles import Action
from registry.audit import AuditHead
from registry.audit_export import ExportHeader, event_line, header_line
from registry.contract import JsonValue
from registry.identifiers import TenantId
from registry.permissions import require
from registry.store.audit_log import AuditLog
from registry.store.bounds import DEFAULT_PAGE, MAX_PAGE
from registry.text import value_text

router = APIRouter()

_MAX_SEQUENCE = 2**31 - 1
"""What a chain can count to."""
_BATCH = 500
"""Events that are held at once while a chain is exported."""


@router.get("/v1/audit")
async def list_events(request: Request) -> Response:
    """Events after a sequence number, oldest first, exactly as they are chained; and the chain's head."""
    call = await begin(request, "audit_list")
    query = Query(request, "after", "limit")
    after = query.number("after", default=0, most=_MAX_SEQUENCE)
    limit = query.number("limit", default=DEFAULT_PAGE, least=1, most=MAX_PAGE)
    require(call.actor, Action.READ_AUDIT)
    head = await call.catalogue.audit.head(call.actor.tenant)
    events = await call.catalogue.audit.events(call.actor.tenant, after=after, limit=limit)
    lines = ",".join(event_line(event).rstrip("\n") for event in events)
    last = events[-1].sequence if events else after
    has_more = head is not None and last < head.sequence
    rest: JsonValue = {"next_after": last if has_more else None, "head": _head(head)}
    return Response(f'{{"data":[{lines}],{value_text(rest)[1:]}', media_type="application/json")


@router.get("/v1/audit/export")
async def export_events(request: Request) -> Response:
    """The chain as it stands now, as JSON Lines. A file that was cut says so: its header tells how far it goes."""
    call = await begin(request, "audit_export")
    Query(request)
    require(call.actor, Action.READ_AUDIT)
    head = await call.catalogue.audit.head(call.actor.tenant)
    lines = _lines(call.catalogue.audit, call.actor.tenant, head)
    return StreamingResponse(
        lines,
        media_type="application/jsonl",
        headers={"Content-Disposition": 'attachment; filename="audit.jsonl"', "Cache-Control": "no-store"},
    )


async def _lines(log: AuditLog, tenant: TenantId, head: AuditHead | None) -> AsyncIterator[str]:
    last = 0 if head is None else head.sequence
    yield header_line(ExportHeader(tenant=tenant, first=1, last=last, head=head))
    sequence = 0
    while sequence < last:
        events = await log.events(tenant, after=sequence, limit=min(_BATCH, last - sequence))
        if not events:
            return  # the file ends before its header says so, which whoever verifies it will tell
        yield "".join(event_line(event) for event in events)
        sequence = events[-1].sequence


def _head(head: AuditHead | None) -> JsonValue:
    return None if head is None else {"sequence": head.sequence, "digest": head.digest}
