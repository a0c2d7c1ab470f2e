"""The pool's service while it starts, serves and stops: its workers, and why it is not ready."""

import asyncio
from contextlib import suppress

import structlog

from compiler_pool.errors import WorkerStartError
from compiler_pool.frame import KeyRing
from compiler_pool.job import JobFinished
from compiler_pool.metrics import PoolMetrics
from compiler_pool.order import IdentityOrder, WorkerIdentity
from compiler_pool.process import WorkerPool
from compiler_pool.service import CompileService
from compiler_pool.settings import PoolSettings
from compiler_pool.tiers import open_tiers
from policy.limits import GOVERNED

_log = structlog.get_logger(__name__)

ENTRY = "compiler_pool.compile_job:factory"
"""What the workers run. Named, not imported: the engine loads in them and never here."""

_RETRY_SECONDS = 2.0
_NUM_RESERVED = 1
"""Workers that no single tenant can take."""


class Desk:
    """Owns the workers. `service` is None until they are ready, and `reason` says why."""

    def __init__(self, settings: PoolSettings) -> None:
        self._settings = settings
        self._ring = KeyRing.from_text(settings.artifact_keys.get_secret_value())
        self.metrics = PoolMetrics()
        self._tiers = open_tiers(settings, self._ring, self.metrics.cache)
        self._pool: WorkerPool | None = None
        self._opening: asyncio.Task[None] | None = None
        self._reason = "workers are starting"
        self.service: CompileService | None = None
        watch = self.metrics.watch
        watch("schemagate_compile_queue_depth", "Compiles waiting for a worker.", lambda: self._of_pool("num_queued"))
        watch("schemagate_compile_workers_ready", "Workers that are alive.", lambda: self._of_pool("num_ready"))
        watch("schemagate_compile_cache_bytes", "Bytes in the first tier.", lambda: float(self._tiers.first.num_bytes))
        self.metrics.watch_waiting(lambda urgency: self._pool.num_waiting(urgency) if self._pool is not None else 0)

    def open(self) -> None:
        """Begin to start the workers; returns at once."""
        self._opening = asyncio.get_running_loop().create_task(self._open())

    async def close(self) -> None:
        """Kill the workers, started or starting."""
        if self._opening is not None:
            self._opening.cancel()
            with suppress(asyncio.CancelledError):
                await self._opening
        if self._pool is not None:
            await self._pool.close()
        await self._tiers.close()

    @property
    def can_compile(self) -> bool:
        """Whether a request would find a worker alive."""
        return self.service is not None and self._pool is not None and self._pool.num_ready > 0

    @property
    def reasons(self) -> list[str]:
        """Why the pool is not at full strength; empty when it is."""
        if self._pool is None or self.service is None:
            return [self._reason]
        missing = self._pool.num_workers - self._pool.num_ready
        reasons = [f"{missing} of {self._pool.num_workers} workers are being replaced"] if missing > 0 else []
        return [*reasons, "the second cache tier does not answer"] if self._tiers.is_second_down else reasons

    async def _open(self) -> None:
        is_open = await self._try_open()
        while not is_open:
            await asyncio.sleep(_RETRY_SECONDS)
            is_open = await self._try_open()

    async def _try_open(self) -> bool:
        settings = self._settings
        try:
            pool = await WorkerPool.start(
                ENTRY,
                {"tokenizers": [str(path) for path in settings.tokenizer_paths]},
                num_workers=settings.num_workers,
                max_queued=settings.max_queued,
                budget=GOVERNED.compile,
                num_reserved=_NUM_RESERVED,
                start_seconds=settings.start_seconds,
                on_death=self.metrics.worker_died,
            )
        except (WorkerStartError, OSError) as error:
            self._reason = f"workers do not start: {error}"
            _log.error("workers do not start", error=str(error))
            return False
        order = IdentityOrder().model_dump_json().encode()
        answer = await pool.run(order, budget=GOVERNED.compile, deadline_seconds=settings.start_seconds)
        if not isinstance(answer, JobFinished):
            self._reason = f"a worker does not say what it holds: {answer}"
            await pool.close()
            return False
        self._pool = pool
        held = WorkerIdentity.model_validate_json(answer.payload).tokenizers
        self.service = CompileService(
            pool=pool,
            cache=self._tiers.cache,
            shared=self._tiers.shared,
            ring=self._ring,
            tokenizers=held,
            metrics=self.metrics,
        )
        _log.info("ready", num_workers=pool.num_workers, tokenizers=[tokenizer.name for tokenizer in held])
        return True

    def _of_pool(self, name: str) -> float:
        return float(getattr(self._pool, name)) if self._pool is not None else 0.0
