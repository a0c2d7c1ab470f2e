"""`/v1/admin/tenants/{tenant}/budgets[/{level}/{subject}]`, and `/v1/usage`: what may be spent, and what has been."""

import re
from datetime import UTC, datetime

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from gateway.admin.authority import administered_and_there, require_installation
from gateway.budgets.errors import BudgetUnreadableError
from gateway.budgets.ledger import AccountName
from gateway.budgets.limits import read_stored, stored, subject_of
from gateway.budgets.members import level_state
from gateway.budgets.protocol import BudgetAnswer, BudgetSent, BudgetUsageAnswer
from gateway.call import Call, admitted, answer, known
from gateway.idempotency import once
from gateway.query import Query, etag, if_match
from policy.budget import Level
from policy.prices import CURRENCY
from policy.roles import Role
from registry.errors import InvalidNameError
from registry.identifiers import TenantId
from registry.naming import read_team
from registry.store.tenant_settings import Topic

router = APIRouter()

_TENANT = "/v1/admin/tenants/{tenant}/budgets"
_LEVEL = _TENANT + "/{level}/{subject}"
_KEY = re.compile(r"[0-9A-Za-z_-]{1,128}", re.ASCII)
"""A key's id, or the one that stands for whoever an identity provider vouches for."""


@router.get("/v1/usage")
async def get_usage(request: Request) -> Response:
    """The caller's own limits and what is used of them: of its key, its team and its tenant."""
    call = await known(request, "usage")  # who has used it up wants to read how long
    Query(request)
    budgets = call.services.budgets
    standings = await budgets.standings(call.caller)
    return answer(
        BudgetUsageAnswer(
            currency=CURRENCY,
            degraded=budgets.ledger.degradation is not None,
            levels=[level_state(each) for each in standings.accounts],
        )
    )


@router.get(_TENANT)
async def get_tenant_budget(request: Request, tenant: str) -> Response:
    """What is set for the tenant as a whole, what holds, how it stands, and which levels have budgets of their own."""
    return await _get(request, tenant, Level.TENANT, "")


@router.put(_TENANT)
async def set_tenant_budget(request: Request, tenant: str) -> Response:
    """Replace what is set for the tenant as a whole; only operators of the installation may."""
    return await _set(request, tenant, Level.TENANT, "")


@router.delete(_TENANT)
async def drop_tenant_budget(request: Request, tenant: str) -> Response:
    """Forget what is set for the tenant: the installation's limits hold again. Only its operators may."""
    return await _drop(request, tenant, Level.TENANT, "")


@router.get(_LEVEL)
async def get_budget(request: Request, tenant: str, level: str, subject: str) -> Response:
    """What is set for a team or a key, and how it stands."""
    return await _get(request, tenant, level, subject)


@router.put(_LEVEL)
async def set_budget(request: Request, tenant: str, level: str, subject: str) -> Response:
    """Replace what is set for a team or a key."""
    return await _set(request, tenant, level, subject)


@router.delete(_LEVEL)
async def drop_budget(request: Request, tenant: str, level: str, subject: str) -> Response:
    """Forget what is set for a team or a key: only the levels above limit it."""
    return await _drop(request, tenant, level, subject)


async def _begun(request: Request, route: str) -> Call:
    """Who asks. No budget refuses operators of the installation here: nobody else could undo one that is used up, or
    cannot be read, and is their own."""
    call = await known(request, route)
    if not (Role.OPERATOR in call.actor.roles and call.actor.tenant == call.services.settings.admin_tenant):
        await admitted(call)
    return call


async def _get(request: Request, tenant: str, level: str, subject: str) -> Response:
    call = await _begun(request, "budget_get")
    Query(request)
    return await _told(call, _account(await administered_and_there(call, tenant), level, subject))


async def _set(request: Request, tenant: str, level: str, subject: str) -> Response:
    call = await _begun(request, "budget_set")
    Query(request)
    name = await _changed(call, tenant, level, subject)
    body = await call.body(BudgetSent)
    version = if_match(request)

    async def replace() -> Response:
        settings, document = call.services.tenant_settings, stored(body.sent)
        await settings.store.put(
            call.actor,
            name.tenant,
            Topic.BUDGET,
            subject_of(name),
            document,
            expected_version=version,
            at=datetime.now(UTC),
        )
        settings.forget(name.tenant, Topic.BUDGET)
        return await _told(call, name)

    return await once(call, body.data, replace)


async def _drop(request: Request, tenant: str, level: str, subject: str) -> Response:
    call = await _begun(request, "budget_drop")
    Query(request)
    name = await _changed(call, tenant, level, subject)
    version = if_match(request)

    async def forget() -> Response:
        settings = call.services.tenant_settings
        await settings.store.drop(
            call.actor,
            name.tenant,
            Topic.BUDGET,
            subject_of(name),
            expected_version=version,
            at=datetime.now(UTC),
        )
        settings.forget(name.tenant, Topic.BUDGET)
        return await _told(call, name)

    return await once(call, b"", forget)


async def _changed(call: Call, tenant: str, level: str, subject: str) -> AccountName:
    """The account whose budget is to be changed: a tenant's own operators divide what it has, and cannot add to it."""
    name = _account(await administered_and_there(call, tenant), level, subject)
    if name.level is Level.TENANT:
        require_installation(call)
    return name


def _account(tenant: TenantId, level: str, subject: str) -> AccountName:
    """Raises `InvalidNameError` for a level, team or key that there cannot be."""
    match level:
        case Level.TENANT if not subject:
            return AccountName(tenant=tenant, level=Level.TENANT)
        case Level.TEAM:
            if (team := read_team(subject)) is not None:
                return AccountName(tenant=tenant, level=Level.TEAM, subject=team)
            raise InvalidNameError("a team", subject)
        case Level.KEY:
            if _KEY.fullmatch(subject):
                return AccountName(tenant=tenant, level=Level.KEY, subject=subject)
            raise InvalidNameError("a key", subject[:128])
        case _:
            raise InvalidNameError("a level", level[:64], reason="budgets are of a `team` or a `key`")


async def _told(call: Call, name: AccountName) -> Response:
    """The level as it is now."""
    documents = await call.services.tenant_settings.of_tenant(name.tenant, Topic.BUDGET)
    setting = documents.get(subject_of(name))
    sent = BudgetSent() if setting is None else read_stored(setting.document)
    if sent is None:
        raise BudgetUnreadableError
    account = await call.services.budgets.limits.account(name)
    standings = await call.services.budgets.ledger.standings((account,))
    body = BudgetAnswer(
        tenant=name.tenant,
        level=name.level.value,
        subject=name.subject or None,
        budget=sent,
        state=level_state(standings.accounts[0]),
        others=sorted(each for each in documents if each) if name.level is Level.TENANT else None,
        version=0 if setting is None else setting.version,
        changed_at=None if setting is None else setting.changed_at,
        changed_by=None if setting is None else setting.changed_by,
    )
    return answer(body, headers=etag(body.version))
