"""A result that another thread brings: a future for the many that arrive together and are mostly asked without waiting.

A `concurrent.futures.Future` has a lock and a condition of its own, which for a step of 128 masks costs the step loop
as much as the rest of starting them. These share one condition, and whoever brings several says so once.
"""

from concurrent.futures import CancelledError
from threading import Condition
from typing import Final, Generic, TypeVar

_Value = TypeVar("_Value")

_ARRIVED: Final = Condition()
"""Of all: those who wait are few, and look again when anything arrives."""


class Arrival(Generic[_Value]):
    """Brought at most once: `deliver`, `fail` or `cancel`, then `announce` for all that were brought together."""

    __slots__ = ("_error", "_is_here", "_value")

    _value: _Value

    def __init__(self) -> None:
        self._is_here = False
        self._error: BaseException | None = None

    def done(self) -> bool:
        """Whether it is here, or never will be."""
        return self._is_here

    def cancelled(self) -> bool:
        """Whether it never will be."""
        return self._is_here and isinstance(self._error, CancelledError)

    def result(self, timeout: float | None = None) -> _Value:
        """Wait for it, and raise what was brought in its place.

        Raises:
            TimeoutError: not here after so many seconds.
            CancelledError: it never will be.
        """
        if not self._is_here:
            with _ARRIVED:
                if not _ARRIVED.wait_for(self.done, timeout):
                    raise TimeoutError
        if self._error is not None:
            raise self._error
        return self._value

    def deliver(self, value: _Value) -> None:
        """Here it is."""
        self._value = value
        self._is_here = True

    def fail(self, error: BaseException) -> None:
        """This came in its place."""
        self._error = error
        self._is_here = True

    def cancel(self) -> None:
        """Nobody will bring it."""
        self.fail(CancelledError())


def announce() -> None:
    """Wake whoever waits for something that was brought."""
    with _ARRIVED:
        _ARRIVED.notify_all()
