"""What a request says of who sends it, and whether its credentials are for its path."""

from starlette.requests import Request

from gateway.auth.authenticator import Caller
from gateway.auth.route_scopes import wanted_scopes
from gateway.errors import InsufficientScopeError, UnauthenticatedError


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
    """Raises `InsufficientScopeError` unless the caller's credentials may be used there."""
    wanted = wanted_scopes(method, path)
    if wanted and not wanted & caller.scopes:
        raise InsufficientScopeError(tuple(sorted(wanted)))
