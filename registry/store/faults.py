"""The one place where a driver's exception becomes the registry's.

Most become this; what was asked for with a value that no row can have becomes InvalidNameError (registry.errors).

StoreUnavailableError          (registry.errors)
├── TransientStoreError        the transaction was rolled back whole; the same again may succeed
└── StoreVersionError          the database was made by a newer version
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Final, ParamSpec, TypeVar

from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError

from registry.errors import InvalidNameError, StoreUnavailableError

MAX_TRIES: Final = 4
_FIRST_PAUSE_SECONDS: Final = 0.01

_ROLLED_BACK_STATES: Final = frozenset({"40001", "40P01"})
"""PostgreSQL's serialization failure and deadlock: https://www.postgresql.org/docs/current/errcodes-appendix.html"""

_VALUE_STATES: Final = "22"
"""PostgreSQL's class of errors about values: U+0000 in a text, a number out of range, a text too long. As above."""

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
    except (UnicodeEncodeError, OverflowError) as error:  # drivers let half characters and huge numbers get this far
        raise _impossible_value() from error
    except DBAPIError as error:
        if str(getattr(error.orig, "sqlstate", None)).startswith(_VALUE_STATES):
            raise _impossible_value() from error
        if _was_rolled_back(error) or (error.connection_invalidated and not commits):
            raise TransientStoreError from error
        raise StoreUnavailableError from error
    except (SQLAlchemyError, OSError, TimeoutError) as error:
        raise StoreUnavailableError from error


def _impossible_value() -> InvalidNameError:
    return InvalidNameError(
        "kept or looked for", "a text or number of this request", reason="it holds U+0000 or is out of range"
    )


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
