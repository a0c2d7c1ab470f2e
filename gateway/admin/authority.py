"""For which tenants an operator may act: their own, or every one where they are of the tenant that runs it all."""

from gateway.auth.operator import Operator
from gateway.auth.records import MAX_TENANT_CHARACTERS
from gateway.call import Call
from policy.roles import Action
from registry.errors import ForbiddenError, NotFoundError
from registry.identifiers import TenantId
from registry.permissions import require


def acting(call: Call) -> Operator:
    """Who asks, as the audit will name them."""
    actor = call.actor
    return Operator(principal=actor.principal, key_id=actor.key_id, tenant=actor.tenant)


def acts_for_all(call: Call) -> bool:
    """Whether an operator asks who acts for every tenant. Raises `ForbiddenError` if it is no operator."""
    require(call.actor, Action.ADMINISTER)
    return call.actor.tenant == call.services.settings.admin_tenant


def require_installation(call: Call) -> None:
    """Raises `ForbiddenError` unless an operator of the installation asks."""
    if not acts_for_all(call):
        raise ForbiddenError(Action.ADMINISTER, reason="only operators of the installation may do that")


def administered(call: Call, tenant: str) -> TenantId:
    """The tenant of a path, for whom the caller may act.

    Raises:
        ForbiddenError: the caller is no operator.
        NotFoundError: it is another's, or can be nobody's; whether it is there is not said.
    """
    is_own = call.actor.tenant == tenant
    if not (acts_for_all(call) or is_own) or len(tenant) > MAX_TENANT_CHARACTERS or not tenant.isprintable():
        raise NotFoundError("tenant", tenant)
    return TenantId(tenant)


async def administered_and_there(call: Call, tenant: str) -> TenantId:
    """As `administered`, once the tenant is known to be there."""
    of = administered(call, tenant)
    if await call.services.tenants.find(of) is None:
        raise NotFoundError("tenant", tenant)
    return of
