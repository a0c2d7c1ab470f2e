"""`/v1/policy`: a tenant's rules for its own registry."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from gateway.call import answer, begin
from gateway.contract_answers import RegistryPolicyAnswer
from gateway.contract_protocol import RegistryPolicySent
from gateway.idempotency import once
from gateway.query import Query, etag, if_match
from policy.governance import PromotionSafety, RegistryPolicy
from registry.store.records import PolicyRecord

router = APIRouter()


@router.get("/v1/policy")
async def get_policy(request: Request) -> Response:
    """The policy in force; version 0 is the default."""
    call = await begin(request, "policy_get")
    Query(request)
    return _policy(await call.catalogue.policies.policy(call.actor.tenant))


@router.put("/v1/policy")
async def set_policy(request: Request) -> Response:
    """Replace the policy."""
    call = await begin(request, "policy_set")
    Query(request)
    body = await call.body(RegistryPolicySent)
    version, sent = if_match(request), body.sent
    policy = RegistryPolicy(
        require_signature=sent.require_signature,
        two_person_promotion=sent.two_person_promotion,
        promotion_safety=PromotionSafety(sent.promotion_safety),
        compatibility=sent.compatibility,
        allow_governed=sent.allow_governed,
        protected_aliases=frozenset(sent.protected_aliases),
    )

    async def replace() -> Response:
        return _policy(await call.catalogue.policies.set_policy(call.actor, policy, expected_version=version))

    return await once(call, body.data, replace)


def _policy(record: PolicyRecord) -> Response:
    policy = record.policy
    body = RegistryPolicyAnswer(
        require_signature=policy.require_signature,
        two_person_promotion=policy.two_person_promotion,
        promotion_safety=policy.promotion_safety.value,
        compatibility=policy.compatibility,
        allow_governed=policy.allow_governed,
        protected_aliases=sorted(policy.protected_aliases),
        version=record.version,
        changed_at=record.changed_at,
        changed_by=record.changed_by,
    )
    return answer(body, headers=etag(record.version))
