"""A sequence that has to be open before its request's deadline."""

from contextlib import AbstractAsyncContextManager
from types import TracebackType

from gateway.deadline import Deadline
from gateway.errors import DeadlinePassedError
from gateway.nodes import OpenSequence


class OpenedInTime(AbstractAsyncContextManager[OpenSequence]):
    """Enters `opening` within the deadline, which ends with the block. Not a stack of generators: a request opens one.

    Raises:
        DeadlinePassedError: it was not open in time.
    """

    __slots__ = ("_deadline", "_opening")

    def __init__(self, opening: AbstractAsyncContextManager[OpenSequence], deadline: Deadline) -> None:
        self._opening, self._deadline = opening, deadline

    async def __aenter__(self) -> OpenSequence:
        try:
            return await self._deadline.within(self._opening.__aenter__)
        except TimeoutError:
            self._deadline.over()
            raise DeadlinePassedError from None
        except BaseException:
            self._deadline.over()
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        try:
            return await self._opening.__aexit__(kind, error, trace)
        finally:
            self._deadline.over()
