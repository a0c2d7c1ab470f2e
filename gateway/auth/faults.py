"""The registry's word for a database that does not answer becomes the gateway's, which says it of keys."""

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from gateway.errors import StoreUnavailableError
from registry.errors import StoreUnavailableError as RegistryUnavailableError
from registry.store.faults import retried

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


def or_unavailable(method: Callable[_Parameters, Awaitable[_Result]]) -> Callable[_Parameters, Awaitable[_Result]]:
    """Tried again while that may help; then the registry's word for it becomes the gateway's."""
    again = retried(method)

    @wraps(method)
    async def asked(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
        try:
            return await again(*args, **kwargs)
        except RegistryUnavailableError as error:
            raise StoreUnavailableError from error

    return asked
