"""`/v1/admin/tenants/{tenant}/keys`: issuing, seeing, rotating, changing and revoking keys."""

from datetime import UTC, datetime, timedelta

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from gateway.admin.authority import acting, administered, administered_and_there
from gateway.admin.members import expiry, key_member, principal
from gateway.admin.members import key_id as key_of
from gateway.admin.protocol import KeyPage, KeyPatch, KeySent, NothingSent, RotationSent
from gateway.admin.shown_once import shown_once
from gateway.auth.key_desk import KeyChange
from gateway.auth.keys import ApiKey
from gateway.auth.records import KeyRecord
from gateway.call import answer, begin, known
from gateway.errors import InvalidRequestError, RequestFault
from gateway.idempotency import once
from gateway.query import PAGE, Query
from policy.roles import Role
from policy.scopes import Scope
from registry.errors import NotFoundError
from registry.identifiers import TeamName

router = APIRouter()

_KEYS = "/v1/admin/tenants/{tenant}/keys"
_KEY = _KEYS + "/{key_id}"


@router.get(_KEYS)
async def list_keys(request: Request, tenant: str) -> Response:
    """A tenant's keys, the revoked ones included."""
    call = await begin(request, "admin_keys_list")
    cursor, limit = Query(request, *PAGE).page()
    of = await administered_and_there(call, tenant)
    page = await call.services.keys.store.page(of, cursor=cursor, limit=limit)
    now = datetime.now(UTC)
    return answer(KeyPage(data=[key_member(each, now) for each in page.items], next_cursor=page.next_cursor))


@router.post(_KEYS)
async def issue_key(request: Request, tenant: str) -> Response:
    """Make a key. Its secret is in this answer and nowhere else."""
    call = await begin(request, "admin_keys_issue")
    Query(request)
    of = administered(call, tenant)
    body = await call.body(KeySent)
    sent, now = body.sent, datetime.now(UTC)
    holder, expires_at = principal(sent.principal), expiry(sent.expires_at, now=now)

    async def issue() -> tuple[ApiKey, KeyRecord]:
        return await call.services.keys.issue(
            tenant=of,
            label=sent.label,
            principal=holder,
            team=None if sent.team is None else TeamName(sent.team),
            roles=frozenset(Role(name) for name in sent.roles),
            scopes=None if sent.scopes is None else frozenset(Scope(name) for name in sent.scopes),
            expires_at=expires_at,
            by=acting(call),
            at=now,
        )

    return await shown_once(call, body.data, issue, status=201)


@router.get(_KEY)
async def get_key(request: Request, tenant: str, key_id: str) -> Response:
    """One of them."""
    call = await begin(request, "admin_keys_get")
    Query(request)
    of = administered(call, tenant)
    record = await call.services.keys.store.find(key_of(key_id))
    if record is None or record.tenant != of:
        raise NotFoundError("key", key_id)
    return answer(key_member(record, datetime.now(UTC)))


@router.patch(_KEY)
async def change_key(request: Request, tenant: str, key_id: str) -> Response:
    """Another label, end, roles or scopes; within a second everywhere."""
    call = await begin(request, "admin_keys_change")
    Query(request)
    of = administered(call, tenant)
    body = await call.body(KeyPatch)
    sent, said, now = body.sent, body.sent.model_fields_set, datetime.now(UTC)
    for name in ("label", "roles"):
        if name in said and getattr(sent, name) is None:
            raise InvalidRequestError(RequestFault.INVALID_VALUE, f"`{name}` cannot be null", param=name)
    change = KeyChange(
        label=sent.label,
        expires_at=expiry(sent.expires_at, now=now),
        ends_expiry="expires_at" in said and sent.expires_at is None,
        roles=None if sent.roles is None else frozenset(Role(name) for name in sent.roles),
        scopes=None if sent.scopes is None else frozenset(Scope(name) for name in sent.scopes),
        ends_scopes="scopes" in said and sent.scopes is None,
    )

    async def apply() -> Response:
        record = await call.services.keys.change(of, key_of(key_id), change, by=acting(call), at=now)
        return answer(key_member(record, datetime.now(UTC)))

    return await once(call, body.data, apply)


@router.post(_KEY + "/rotate")
async def rotate_key(request: Request, tenant: str, key_id: str) -> Response:
    """Another secret under the same id, in this answer and nowhere else."""
    # Whoever has got hold of a key may have used up the tenant's requests with it: ending that must not wait for them.
    call = await known(request, "admin_keys_rotate")
    Query(request)
    of = administered(call, tenant)
    body = await call.body(RotationSent)

    async def rotate() -> tuple[ApiKey, KeyRecord]:
        overlap = timedelta(seconds=body.sent.overlap_seconds)
        return await call.services.keys.rotate(
            of, key_of(key_id), overlap=overlap, by=acting(call), at=datetime.now(UTC)
        )

    return await shown_once(call, body.data, rotate, status=200)


@router.post(_KEY + "/revoke")
async def revoke_key(request: Request, tenant: str, key_id: str) -> Response:
    """End a key, within a second everywhere, and for good."""
    call = await known(request, "admin_keys_revoke")  # as above
    Query(request)
    of = administered(call, tenant)
    body = await call.body(NothingSent)

    async def revoke() -> Response:
        record = await call.services.keys.revoke(of, key_of(key_id), by=acting(call), at=datetime.now(UTC))
        return answer(key_member(record, datetime.now(UTC)))

    return await once(call, body.data, revoke)
