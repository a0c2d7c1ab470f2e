"""`/v1/admin/tenants/{tenant}/rules[/{family}]`: what finished answers have to pass beyond their contract."""

from datetime import UTC, datetime

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from gateway.admin.authority import administered_and_there
from gateway.call import Call, answer, begin
from gateway.idempotency import once
from gateway.policies.documents import FAMILY, FAMILY_RULE, is_family
from gateway.query import Query, etag, if_match
from gateway.rules.documents import read_document, stored
from gateway.rules.errors import RulesUnreadableError
from gateway.rules.protocol import RuleSetAnswer, RuleSetSent
from gateway.rules.setting import require_usable
from policy.roles import Action
from registry.errors import InvalidNameError
from registry.identifiers import TenantId
from registry.permissions import require
from registry.store.tenant_settings import Topic

router = APIRouter()

_TENANT = "/v1/admin/tenants/{tenant}/rules"
_FAMILY = _TENANT + "/{family:path}"


@router.get(_TENANT)
async def get_tenant_rules(request: Request, tenant: str) -> Response:
    """The tenant's own document, and which families have one."""
    return await _get(request, tenant, None)


@router.put(_TENANT)
async def set_tenant_rules(request: Request, tenant: str) -> Response:
    """Replace the tenant's document."""
    return await _set(request, tenant, None)


@router.delete(_TENANT)
async def drop_tenant_rules(request: Request, tenant: str) -> Response:
    """Forget the tenant's document."""
    return await _drop(request, tenant, None)


@router.get(_FAMILY)
async def get_family_rules(request: Request, tenant: str, family: str) -> Response:
    """The family's document."""
    return await _get(request, tenant, family)


@router.put(_FAMILY)
async def set_family_rules(request: Request, tenant: str, family: str) -> Response:
    """Replace the family's document."""
    return await _set(request, tenant, family)


@router.delete(_FAMILY)
async def drop_family_rules(request: Request, tenant: str, family: str) -> Response:
    """Forget the family's document; the tenant's stays."""
    return await _drop(request, tenant, family)


async def _get(request: Request, tenant: str, family: str | None) -> Response:
    call = await begin(request, "rules_get")
    Query(request)
    subject = _subject(family)
    of = await _of_interest(call, tenant)
    # Who writes contracts has to know what else answers under them must pass; who only calls learns it by the answers.
    require(call.actor, Action.REGISTER_REVISION)
    return await _told(call, of, family, subject)


async def _set(request: Request, tenant: str, family: str | None) -> Response:
    call = await begin(request, "rules_set")
    Query(request)
    subject = _subject(family)
    of = await _of_interest(call, tenant)
    require(call.actor, Action.SET_POLICY)
    body = await call.body(RuleSetSent)
    version = if_match(request)

    async def replace() -> Response:
        services = call.services
        await require_usable(body.sent, of, checker=services.rule_processes, reach=services.webhooks)
        settings, document = services.tenant_settings, stored(body.sent)
        await settings.store.put(
            call.actor, of, Topic.RULES, subject, document, expected_version=version, at=datetime.now(UTC)
        )
        settings.forget(of, Topic.RULES)
        return await _told(call, of, family, subject)

    return await once(call, body.data, replace)


async def _drop(request: Request, tenant: str, family: str | None) -> Response:
    call = await begin(request, "rules_drop")
    Query(request)
    subject = _subject(family)
    of = await _of_interest(call, tenant)
    require(call.actor, Action.SET_POLICY)
    version = if_match(request)

    async def forget() -> Response:
        settings = call.services.tenant_settings
        await settings.store.drop(call.actor, of, Topic.RULES, subject, expected_version=version, at=datetime.now(UTC))
        settings.forget(of, Topic.RULES)
        return await _told(call, of, family, subject)

    return await once(call, b"", forget)


async def _of_interest(call: Call, tenant: str) -> TenantId:
    """The tenant of the path, if it is the caller's own, or an operator of the installation asks.

    Raises:
        ForbiddenError: the caller is no operator, and it is another's.
        NotFoundError: it is another's; whether it is there is not said.
    """
    return call.actor.tenant if call.actor.tenant == tenant else await administered_and_there(call, tenant)


def _subject(family: str | None) -> str:
    if family is None:
        return ""
    if not is_family(family):
        raise InvalidNameError("a family of contracts", family, reason=FAMILY_RULE)
    return FAMILY + family


async def _told(call: Call, tenant: TenantId, family: str | None, subject: str) -> Response:
    """The level as it is now."""
    documents = await call.services.tenant_settings.of_tenant(tenant, Topic.RULES)
    setting = documents.get(subject)
    sent = RuleSetSent.model_validate({}) if setting is None else read_document(setting.document)
    if sent is None:
        raise RulesUnreadableError
    families = sorted(each.removeprefix(FAMILY) for each in documents if each.startswith(FAMILY))
    body = RuleSetAnswer(
        tenant=tenant,
        family=family,
        rules=sent,
        families=families if family is None else None,
        version=0 if setting is None else setting.version,
        changed_at=None if setting is None else setting.changed_at,
        changed_by=None if setting is None else setting.changed_by,
    )
    return answer(body, headers=etag(body.version))
