"""`/v1/admin/tenants/{tenant}/serving-policy[/{family}]`: what a tenant lets its callers do, by family of contracts."""

from datetime import UTC, datetime

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from gateway.admin.authority import administered_and_there
from gateway.call import Call, answer, begin
from gateway.idempotency import once
from gateway.policies.documents import FAMILY, FAMILY_RULE, is_family, read_stored, stored, told
from gateway.policies.protocol import ServingPolicyAnswer, ServingPolicySent
from gateway.query import Query, etag, if_match
from policy.serving_levels import ANY_BELOW, families_of
from registry.errors import InvalidNameError
from registry.identifiers import TenantId
from registry.store.tenant_settings import Topic

router = APIRouter()

_TENANT = "/v1/admin/tenants/{tenant}/serving-policy"
_FAMILY = _TENANT + "/{family:path}"


@router.get(_TENANT)
async def get_tenant_policy(request: Request, tenant: str) -> Response:
    """What the tenant's own document says, what holds, and which families have documents."""
    return await _get(request, tenant, None)


@router.put(_TENANT)
async def set_tenant_policy(request: Request, tenant: str) -> Response:
    """Replace the tenant's document."""
    return await _set(request, tenant, None)


@router.delete(_TENANT)
async def drop_tenant_policy(request: Request, tenant: str) -> Response:
    """Forget the tenant's document: the installation's own policy holds again."""
    return await _drop(request, tenant, None)


@router.get(_FAMILY)
async def get_family_policy(request: Request, tenant: str, family: str) -> Response:
    """What the family's document says, and what holds there."""
    return await _get(request, tenant, family)


@router.put(_FAMILY)
async def set_family_policy(request: Request, tenant: str, family: str) -> Response:
    """Replace the family's document."""
    return await _set(request, tenant, family)


@router.delete(_FAMILY)
async def drop_family_policy(request: Request, tenant: str, family: str) -> Response:
    """Forget the family's document: what holds for the levels above holds again."""
    return await _drop(request, tenant, family)


async def _get(request: Request, tenant: str, family: str | None) -> Response:
    call = await begin(request, "serving_policy_get")
    Query(request)
    subject = _subject(family)
    # Who writes a tenant's contracts has to know what will be done with them.
    is_own = call.actor.tenant == tenant
    of = call.actor.tenant if is_own else await administered_and_there(call, tenant)
    return await _told(call, of, family, subject)


async def _set(request: Request, tenant: str, family: str | None) -> Response:
    call = await begin(request, "serving_policy_set")
    Query(request)
    subject = _subject(family)
    of = await administered_and_there(call, tenant)
    body = await call.body(ServingPolicySent)
    version = if_match(request)

    async def replace() -> Response:
        settings = call.services.tenant_settings
        await settings.store.put(
            call.actor,
            of,
            Topic.SERVING,
            subject,
            stored(body.sent),
            expected_version=version,
            at=datetime.now(UTC),
        )
        settings.forget(of, Topic.SERVING)
        return await _told(call, of, family, subject)

    return await once(call, body.data, replace)


async def _drop(request: Request, tenant: str, family: str | None) -> Response:
    call = await begin(request, "serving_policy_drop")
    Query(request)
    subject = _subject(family)
    of = await administered_and_there(call, tenant)
    version = if_match(request)

    async def forget() -> Response:
        settings = call.services.tenant_settings
        await settings.store.drop(
            call.actor, of, Topic.SERVING, subject, expected_version=version, at=datetime.now(UTC)
        )
        settings.forget(of, Topic.SERVING)
        return await _told(call, of, family, subject)

    return await once(call, b"", forget)


def _subject(family: str | None) -> str:
    if family is None:
        return ""
    if not is_family(family):
        raise InvalidNameError("a family of contracts", family, reason=FAMILY_RULE)
    return FAMILY + family


async def _told(call: Call, tenant: TenantId, family: str | None, subject: str) -> Response:
    """The level as it is now."""
    documents = await call.services.tenant_settings.of_tenant(tenant, Topic.SERVING)
    policies = await call.services.policies.of_tenant(tenant)
    setting = documents.get(subject)
    sent = None if setting is None else read_stored(setting.document)
    effective = policies.of_families(() if family is None else _levels_of(family))
    body = ServingPolicyAnswer(
        tenant=tenant,
        family=family,
        policy=sent or ServingPolicySent(),
        effective=told(effective),
        families=None
        if family is not None
        else sorted(each.removeprefix(FAMILY) for each in documents if each.startswith(FAMILY)),
        version=0 if setting is None else setting.version,
        changed_at=None if setting is None else setting.changed_at,
        changed_by=None if setting is None else setting.changed_by,
    )
    return answer(body, headers=etag(body.version))


def _levels_of(family: str) -> tuple[str, ...]:
    owner, _, name = family.rpartition("/")
    stem = name.removesuffix(ANY_BELOW)
    families = families_of(stem, owner=owner or None)
    return families if stem == name else (*families[:-1], family)
