"""One Redis, asked to run scripts and with little patience. What it does not answer is an answer: nothing raises."""

import asyncio
import time
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import structlog
from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import NoScriptError, RedisError
from redis.exceptions import TimeoutError as RedisTimeoutError

from compiler_pool.circuit import Circuit
from gateway.budgets.scripts import Script
from gateway.tasks import TaskOwner

_log = structlog.get_logger(__name__)

_MAX_CONNECTIONS: Final = 8
"""A script holds one for well under a millisecond; more would only wait inside Redis."""
_MAX_TURN_SECONDS: Final = 10.0
"""How long a script waits for a connection before Redis counts as too slow. Each that runs has its own deadline, and
once the breaker is open nobody waits: this only bounds what a crowd does to itself."""


class RedisUrlError(ValueError):
    """Not a URL of a Redis, or with an option that is not known."""


class Silence(StrEnum):
    """Why there is no answer."""

    OPEN = "open"
    """It was not asked: it did not answer lately."""
    TURN = "turn"
    """No connection was free in time."""
    TIMEOUT = "timeout"
    CONNECTION = "connection"
    REFUSED = "refused"
    """It answered with an error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the script returned."""

    value: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Unanswered:
    """`may_have_run`: nothing is known of what the script did."""

    why: Silence
    may_have_run: bool


class RedisLink:
    """A few connections, a deadline on every script, and a breaker; `close` ends it.

    Raises:
        RedisUrlError: when it is made, for an address that no connection could be made to.
    """

    def __init__(self, url: str, *, timeout_seconds: float) -> None:
        self._timeout_seconds = timeout_seconds
        self._circuit = Circuit()
        self._turns = asyncio.Semaphore(_MAX_CONNECTIONS)
        self._pool = _pool(url, timeout_seconds)
        self._redis = Redis(connection_pool=self._pool)
        self._tasks = TaskOwner()
        self._was_down = False

    @property
    def is_down(self) -> bool:
        """Whether it has not answered lately."""
        return self._circuit.is_open

    async def run(self, script: Script, names: list[str], arguments: list[str | int]) -> Answer | Unanswered:
        """Run `script` within the deadline, in one round trip where Redis knows it."""
        try:
            async with asyncio.timeout(_MAX_TURN_SECONDS):
                await self._turns.acquire()
        except TimeoutError:
            self._circuit.failed(time.monotonic())
            return self._unanswered(Silence.TURN, may_have_run=False)
        try:
            # Asked only now: while this one waited for its turn, those before it may have found Redis gone.
            if not self._circuit.allows(time.monotonic()):
                return self._unanswered(Silence.OPEN, may_have_run=False)
            return await self._within_deadline(script, names, arguments)
        finally:
            self._turns.release()

    async def close(self) -> None:
        """Close every connection."""
        await self._tasks.close()
        await self._redis.aclose()
        await self._pool.aclose()

    async def _within_deadline(
        self, script: Script, names: list[str], arguments: list[str | int]
    ) -> Answer | Unanswered:
        # In a task of its own: a caller who is cancelled, or whose time is up, is let go whatever the client does.
        running = self._tasks.start(self._outcome(script, names, arguments), name="a script in Redis")
        is_told = False
        try:
            for _ in range(2):
                before = time.monotonic()
                await asyncio.wait({running}, timeout=self._timeout_seconds)
                # A timer that fires late means that this process was starved, not Redis: look once more.
                if running.done() or time.monotonic() - before < 1.5 * self._timeout_seconds:
                    break
            outcome = running.result() if running.done() else Unanswered(why=Silence.TIMEOUT, may_have_run=True)
            is_told = True
        finally:
            running.cancel()
            if not is_told:
                self._circuit.abandoned()
        if isinstance(outcome, Unanswered):
            self._circuit.failed(time.monotonic())
            return self._unanswered(outcome.why, may_have_run=outcome.may_have_run)
        self._circuit.succeeded()
        if self._was_down:
            self._was_down = False
            _log.info("the Redis of budgets answers again")
        return outcome

    async def _outcome(self, script: Script, names: list[str], arguments: list[str | int]) -> Answer | Unanswered:
        try:
            try:
                value = await self._redis.execute_command("EVALSHA", script.sha, len(names), *names, *arguments)  # type: ignore[no-untyped-call]
            except NoScriptError:
                # Restarted or flushed. This also makes it known again, and works where loading alone is not allowed.
                value = await self._redis.execute_command("EVAL", script.text, len(names), *names, *arguments)  # type: ignore[no-untyped-call]
            return Answer(value=value)
        except (TimeoutError, RedisTimeoutError):
            return Unanswered(why=Silence.TIMEOUT, may_have_run=True)
        except (OSError, RedisError) as error:
            is_connection = isinstance(error, OSError | ConnectionError) or "onnect" in type(error).__name__
            if not is_connection:
                _log.error("Redis refuses a script of budgets", why=str(error)[:200])
            return Unanswered(why=Silence.CONNECTION if is_connection else Silence.REFUSED, may_have_run=is_connection)

    def _unanswered(self, why: Silence, *, may_have_run: bool) -> Unanswered:
        # One line for each change of its state, not for each request.
        if self._circuit.is_open and not self._was_down:
            self._was_down = True
            _log.error("the Redis of budgets does not answer: this gateway grants its own share", why=str(why))
        return Unanswered(why=why, may_have_run=may_have_run)


def _pool(url: str, timeout_seconds: float) -> BlockingConnectionPool:
    try:
        pool = BlockingConnectionPool.from_url(
            url,
            max_connections=_MAX_CONNECTIONS,
            timeout=timeout_seconds,
            socket_timeout=2 * timeout_seconds,
            socket_connect_timeout=timeout_seconds,
            # The breaker decides when to ask again; a retry inside a call would hold a request up.
            retry=Retry(NoBackoff(), 0),
            protocol=2,
        )
        # Options of the URL's query go to every connection: one that is not known would fail each of them.
        pool.connection_class(**pool.connection_kwargs)
    except (TypeError, ValueError, LookupError):
        raise RedisUrlError("not a URL of a Redis, or with an option that is not known") from None
    return pool
