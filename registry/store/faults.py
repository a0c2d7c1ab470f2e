"""The one place where a driver's exception becomes the registry's.

StoreUnavailableError          (registry.errors)
├── TransientStoreError        the transaction was rolled back whole; the same again may succeed
└── StoreVersionError          the database was made by a newer version
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Final, ParamSpec, TypeVar

from sqlalchemy.exc import DBAPIError, IntegrityError, InterfaceError, OperationalError, SQLAlchemyError

from registry.errors import StoreUnavailableError

MAX_TRIES: Final = 4
_FIRST_PAUSE_SECONDS: Final = 0.01

_ROLLED_BACK_STATES: Final = frozenset({"40001", "40P01"})
"""PostgreSQL's serialization failure and deadlock: https://www.postgresql.org/docs/current/errcodes-appendix.html"""

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


class TransientStoreError(StoreUnavailableError):
    """Nothing was written; `retried` methods try again before anybody sees it."""


class StoreVersionError(StoreUnavailableError):
    """Refused rather than read by code that does not know what it holds."""

    def __init__(self, revision: str) -> None:
        super().__init__()
        self.args = (f"the database is at {revision!r}, which this version does not know: start the newer version",)
        self.revision = revision


@contextmanager
def mapped(*, commits: bool) -> Iterator[None]:
    """Let nothing of SQLAlchemy, of a driver or of a socket out.

    `commits` says whether work inside is committed: a connection lost then leaves open whether it was, and only what
    the database itself says was rolled back may be tried again.

    Integrity errors pass: where one is expected it is caught beside its statement; any other is a fault of ours and
    must not be taken for an outage.
    """
    try:
        yield
    except IntegrityError:
        raise
    except (OperationalError, InterfaceError, DBAPIError) as error:
        if _was_rolled_back(error) or (error.connection_invalidated and not commits):
            raise TransientStoreError from error
        raise StoreUnavailableError from error
    except (SQLAlchemyError, OSError, TimeoutError) as error:
        raise StoreUnavailableError from error


def _was_rolled_back(error: DBAPIError) -> bool:
    return getattr(error.orig, "sqlstate", None) in _ROLLED_BACK_STATES


def retried(
    method: Callable[_Parameters, Awaitable[_Result]],
) -> Callable[_Parameters, Awaitable[_Result]]:
    """A method that is one transaction, tried again at most `MAX_TRIES` times in all while it is rolled back."""

    @wraps(method)
    async def again(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
        for attempt in range(1, MAX_TRIES):
            try:
                return await method(*args, **kwargs)
            except TransientStoreError:
                await asyncio.sleep(_FIRST_PAUSE_SECONDS * 2**attempt)
        return await method(*args, **kwargs)

    return again
