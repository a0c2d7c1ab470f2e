"""How every failure of a database is called, and which may be tried again."""

from collections.abc import Iterator

import pytest
from sqlalchemy.exc import (
    DBAPIError,
    IntegrityError,
    SQLAlchemyError,
)

from registry.errors import StoreUnavailableError
from registry.store import faults
from registry.store.faults import MAX_TRIES, TransientStoreError, mapped, retried


class _OnPurposeError(Exception):
    pass


def _subclasses(kind: type[BaseException]) -> Iterator[type[BaseException]]:
    yield kind
    for each in kind.__subclasses__():
        yield from _subclasses(each)


class _Driver(Exception):  # noqa: N818 - stands for a driver's own
    def __init__(self, sqlstate: str | None) -> None:
        super().__init__()
        self.sqlstate = sqlstate


def _made(kind: type[BaseException]) -> BaseException:
    return kind("statement", {}, _Driver(None)) if issubclass(kind, DBAPIError) else kind.__new__(kind)


@pytest.mark.parametrize("kind", sorted({*_subclasses(SQLAlchemyError), OSError, TimeoutError}, key=str))
def test_no_exception_of_library_or_socket_gets_out(kind: type[BaseException]) -> None:
    expected = IntegrityError if issubclass(kind, IntegrityError) else StoreUnavailableError
    with pytest.raises(expected), mapped(commits=True):
        raise _made(kind)


def test_an_exception_of_ours_is_left_alone() -> None:
    with pytest.raises(_OnPurposeError), mapped(commits=True):
        raise _OnPurposeError


@pytest.mark.parametrize(
    ("sqlstate", "lost", "commits", "is_transient"),
    [
        ("40001", False, True, True),
        ("40P01", False, True, True),
        ("40P01", False, False, True),
        ("57014", False, True, False),
        ("08006", False, True, False),
        (None, False, True, False),
        (None, True, False, True),
        (None, True, True, False),
    ],
)
def test_only_what_was_certainly_undone_may_be_tried_again(
    sqlstate: str | None,
    lost: bool,  # noqa: FBT001
    commits: bool,  # noqa: FBT001
    is_transient: bool,  # noqa: FBT001
) -> None:
    error = DBAPIError("statement", {}, _Driver(sqlstate), connection_invalidated=lost)
    with pytest.raises(StoreUnavailableError) as caught, mapped(commits=commits):
        raise error
    assert isinstance(caught.value, TransientStoreError) is is_transient
    assert caught.value.__cause__ is error


async def test_a_method_is_tried_so_often_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faults, "_FIRST_PAUSE_SECONDS", 0)
    tries: list[int] = []

    @retried
    async def fail(times: int) -> str:
        tries.append(len(tries))
        if len(tries) <= times:
            raise TransientStoreError
        return "done"

    assert await fail(MAX_TRIES - 1) == "done"
    assert len(tries) == MAX_TRIES
    tries.clear()
    with pytest.raises(TransientStoreError):
        await fail(MAX_TRIES)
    assert len(tries) == MAX_TRIES
