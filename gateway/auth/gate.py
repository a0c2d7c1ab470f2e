"""What a request says of who sends it, and whether its credentials are for its path."""

from starlette.requests import Request

from gateway.auth.authenticator import Caller
from gateway.auth.route_scopes import wanted_scopes
from gateway.errors import (
    GatewayError,
    IdentityProviderUnavailableError,
    InsufficientScopeError,
    StoreUnavailableError,
    TenantDisabledError,
    UnauthenticatedError,
)


def sent_authorization(request: Request) -> str | None:
    """The one `Authorization` header; None where there is none.

    Raises:
        UnauthenticatedError: there are several. Whatever stood between us and the caller may have looked at another.
    """
    sent = request.headers.getlist("authorization")
    if len(sent) > 1:
        raise UnauthenticatedError(missing=False)
    return sent[0] if sent else None


def require_scope(caller: Caller, *, method: str, path: str) -> None:
    """Raises `InsufficientScopeError` where the caller's credentials have scopes and may not be used there.

    Whose credentials have none is asked for roles by what answers, whose refusal says which role it takes.
    """
    if caller.scopes is None:
        return
    wanted = wanted_scopes(method, path)
    if wanted and not wanted & caller.scopes:
        raise InsufficientScopeError(tuple(sorted(wanted)))


def refusal_reason(error: GatewayError) -> str:
    """What metrics call it; a closed list."""
    match error:
        case UnauthenticatedError(is_missing=True):
            return "missing"
        case UnauthenticatedError():
            return "not_good"
        case TenantDisabledError():
            return "tenant_disabled"
        case InsufficientScopeError():
            return "scope"
        case StoreUnavailableError() | IdentityProviderUnavailableError():
            return "unavailable"
        case _:
            return "other"
