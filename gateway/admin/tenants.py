"""`/v1/admin/tenants` and their teams."""

from datetime import UTC, datetime

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from gateway.admin.authority import (
    acting,
    acts_for_all,
    administered,
    administered_and_there,
    require_installation,
)
from gateway.admin.members import team_member, tenant_member
from gateway.admin.protocol import TeamList, TeamSent, TenantPage, TenantPatch, TenantSent
from gateway.call import answer, begin
from gateway.errors import InvalidRequestError, RequestFault
from gateway.idempotency import once
from gateway.query import PAGE, Query
from registry.errors import NotFoundError, StateError
from registry.identifiers import TeamName, TenantId

router = APIRouter()


@router.get("/v1/admin/tenants")
async def list_tenants(request: Request) -> Response:
    """Every tenant, or the one that the operator is of."""
    call = await begin(request, "admin_tenants_list")
    cursor, limit = Query(request, *PAGE).page()
    if not acts_for_all(call):
        own = await call.services.tenants.find(call.actor.tenant)
        return answer(TenantPage(data=[] if own is None else [tenant_member(own)], next_cursor=None))
    page = await call.services.tenants.page(cursor=cursor, limit=limit)
    return answer(TenantPage(data=[tenant_member(each) for each in page.items], next_cursor=page.next_cursor))


@router.post("/v1/admin/tenants")
async def create_tenant(request: Request) -> Response:
    """Make a tenant; it has no key yet."""
    call = await begin(request, "admin_tenants_create")
    Query(request)
    require_installation(call)
    body = await call.body(TenantSent)

    async def create() -> Response:
        record = await call.services.tenants.create(
            TenantId(body.sent.id), name=body.sent.name, by=acting(call), at=datetime.now(UTC)
        )
        call.services.authenticator.forget_tenant(record.tenant)
        return answer(tenant_member(record), status=201)

    return await once(call, body.data, create)


@router.get("/v1/admin/tenants/{tenant}")
async def get_tenant(request: Request, tenant: str) -> Response:
    """One of them."""
    call = await begin(request, "admin_tenants_get")
    Query(request)
    record = await call.services.tenants.find(administered(call, tenant))
    if record is None:
        raise NotFoundError("tenant", tenant)
    return answer(tenant_member(record))


@router.patch("/v1/admin/tenants/{tenant}")
async def change_tenant(request: Request, tenant: str) -> Response:
    """Rename, disable or enable. A disabled tenant's keys and tokens are refused; whatever it has stays."""
    call = await begin(request, "admin_tenants_change")
    Query(request)
    of = administered(call, tenant)
    body = await call.body(TenantPatch)
    sent = body.sent
    for name in ("name", "disabled"):
        if name in sent.model_fields_set and getattr(sent, name) is None:
            raise InvalidRequestError(RequestFault.INVALID_VALUE, f"`{name}` cannot be null", param=name)
    if sent.disabled is not None:
        require_installation(call)
        if sent.disabled and of == call.services.settings.admin_tenant:
            # Nobody could enable it again but who holds the database.
            raise StateError("admin_tenant", "the tenant whose operators run the installation cannot be disabled here")

    async def change() -> Response:
        record = await call.services.tenants.change(
            of, name=sent.name, disabled=sent.disabled, by=acting(call), at=datetime.now(UTC)
        )
        call.services.authenticator.forget_tenant(of)
        return answer(tenant_member(record))

    return await once(call, body.data, change)


@router.get("/v1/admin/tenants/{tenant}/teams")
async def list_teams(request: Request, tenant: str) -> Response:
    """A tenant's teams, all of them."""
    call = await begin(request, "admin_teams_list")
    Query(request)
    of = await administered_and_there(call, tenant)
    return answer(TeamList(data=[team_member(each) for each in await call.services.tenants.teams(of)]))


@router.post("/v1/admin/tenants/{tenant}/teams")
async def create_team(request: Request, tenant: str) -> Response:
    """Make a team. It is never deleted, because contracts, budgets and the audit name it."""
    call = await begin(request, "admin_teams_create")
    Query(request)
    of = administered(call, tenant)
    body = await call.body(TeamSent)

    async def create() -> Response:
        record = await call.services.tenants.create_team(
            of, TeamName(body.sent.name), by=acting(call), at=datetime.now(UTC)
        )
        return answer(team_member(record), status=201)

    return await once(call, body.data, create)
