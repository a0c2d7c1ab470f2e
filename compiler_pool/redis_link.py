"""One Redis, asked with little patience. What it does not answer is an answer: nothing here raises for it."""

import asyncio
import time
from dataclasses import dataclass
from typing import Any, Final

import structlog
from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError, ResponseError
from redis.exceptions import TimeoutError as RedisTimeoutError

from compiler_pool.cache_metrics import CacheMetrics
from compiler_pool.circuit import Circuit
from compiler_pool.errors import RedisUrlError
from compiler_pool.second_tier import Operation, Silence

_log = structlog.get_logger(__name__)

_MAX_CONNECTIONS: Final = 16
"""A command takes a connection for under a millisecond."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the command returned."""

    value: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Unanswered:
    """Nothing is known of what the command did."""

    why: Silence


class RedisLink:
    """A few connections, a deadline on every command, and a breaker; `close` ends it. Raises RedisUrlError."""

    def __init__(self, url: str, *, timeout_seconds: float, metrics: CacheMetrics) -> None:
        self._timeout_seconds, self._metrics = timeout_seconds, metrics
        self._circuit = Circuit()
        pool = _pool(url, timeout_seconds)
        self._redis = Redis(connection_pool=pool)
        self._running: set[asyncio.Task[Any]] = set()
        self._pool = pool

    @property
    def is_down(self) -> bool:
        """Whether it has not answered lately."""
        return self._circuit.is_open

    async def ask(self, operation: Operation, *command: str | bytes | int) -> Answer | Unanswered:
        """Run one command within the deadline."""
        started = time.monotonic()
        if not self._circuit.allows(started):
            return self._unanswered(operation, Silence.OPEN)
        is_told = False
        try:
            value = await self._run(command)
        except Exception as error:  # whatever a client library raises: no compile may fail for it
            is_told = True
            if not isinstance(error, RedisError | OSError | TimeoutError):
                _log.exception("an unforeseen end of a call to Redis")
            why = _why(error)
            if why is Silence.WRONG_TYPE:
                self._circuit.succeeded()
            else:
                self._circuit.failed(time.monotonic())
            return self._unanswered(operation, why)
        else:
            is_told = True
            self._circuit.succeeded()
            self._metrics.answered(operation, time.monotonic() - started)
            return Answer(value=value)
        finally:
            if not is_told:
                self._circuit.abandoned()

    async def close(self) -> None:
        """Close every connection."""
        if self._running:
            await asyncio.wait(self._running, timeout=self._timeout_seconds)
        await self._redis.aclose()
        await self._pool.aclose()

    async def _run(self, command: tuple[str | bytes | int, ...]) -> Any:
        """The command in a task of its own: seen to end in a result although it had been cancelled, and a caller who is
        cancelled, or whose time is up, has to be let go all the same."""
        running = asyncio.get_running_loop().create_task(self._execute(command))
        self._running.add(running)
        running.add_done_callback(self._ended)
        try:
            await asyncio.wait({running}, timeout=self._timeout_seconds)
            if not running.done():
                raise TimeoutError
            return running.result()
        finally:
            running.cancel()

    async def _execute(self, command: tuple[str | bytes | int, ...]) -> Any:
        return await self._redis.execute_command(*command)  # type: ignore[no-untyped-call]

    def _ended(self, running: asyncio.Task[Any]) -> None:
        self._running.discard(running)
        if not running.cancelled():
            running.exception()  # whoever asked may have left

    def _unanswered(self, operation: Operation, why: Silence) -> Unanswered:
        self._metrics.unanswered(operation, why, is_open=self._circuit.is_open)
        return Unanswered(why=why)


def _pool(url: str, timeout_seconds: float) -> BlockingConnectionPool:
    try:
        pool = BlockingConnectionPool.from_url(
            url,
            max_connections=_MAX_CONNECTIONS,
            timeout=timeout_seconds,
            socket_timeout=timeout_seconds,
            socket_connect_timeout=timeout_seconds,
            # The breaker decides when to ask again; a retry inside a command would hold a compile up.
            retry=Retry(NoBackoff(), 0),
            protocol=2,
        )
        # Options of the URL's query go to every connection: one that is not known would fail each of them.
        pool.connection_class(**pool.connection_kwargs)
    except (TypeError, ValueError, LookupError):
        raise RedisUrlError("not a URL of a Redis, or with an option that is not known") from None
    return pool


def _why(error: Exception) -> Silence:
    if isinstance(error, TimeoutError | RedisTimeoutError):
        return Silence.TIMEOUT
    if isinstance(error, ResponseError):
        return Silence.WRONG_TYPE if str(error).startswith("WRONGTYPE") else Silence.REFUSED
    return Silence.CONNECTION
