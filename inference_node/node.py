"""A node's life: loading, serving, draining, or broken; and what a request goes through before its first event."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from threading import Thread
from time import perf_counter
from typing import Final

import structlog

from compiler_pool.frame import KeyRing
from inference_node.adapters.desk import AdapterDesk
from inference_node.engine import TorchEngine, load_engine
from inference_node.errors import ModelError, RefusedRequestError
from inference_node.metrics import NodeMetrics
from inference_node.opening import OpenStream, StreamOpener
from inference_node.prefixes import PrefixShelf
from inference_node.protocol import ArtifactStored, GenerateRequest, NodeFault, NodeIdentity
from inference_node.settings import NodeSettings
from inference_node.snapshots.desk import SnapshotDesk, sequence_not_found
from inference_node.snapshots.protocol import KeysValuesChoice

_log = structlog.get_logger(__name__)

_RETRY_AFTER_SECONDS: Final = 1.0
_STOP_SECONDS: Final = 2.0
"""A step, which is all that a loop has to end before it stops, takes a fraction of this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Serving:
    """What a loaded node serves with."""

    engine: TorchEngine
    opener: StreamOpener
    adapters: AdapterDesk
    snapshots: SnapshotDesk
    prefixes: PrefixShelf


class Node:
    """One model behind the protocol. Loads on a thread of its own, so that it can say meanwhile that it is loading."""

    def __init__(self, settings: NodeSettings) -> None:
        self.settings: Final = settings
        self.metrics: Final = NodeMetrics()
        self._ring = KeyRing.from_text(settings.artifact_keys.get_secret_value())
        self._engine: TorchEngine | None = None
        self._parts: _Serving | None = None
        self._streams: set[OpenStream] = set()
        self._load_failure: str | None = None
        self._is_draining = False
        self._num_open = 0

    def start_loading(self) -> None:
        """Begin; `not_ready_reason` tells when it is done."""
        Thread(target=self._load, name="load", daemon=True).start()

    def begin_drain(self) -> None:
        """Refuse what is new; what was taken comes to its end, or is cancelled after `drain_seconds`.

        Returns at once: fit for a signal handler. A second call waits no longer.
        """
        if not self._is_draining:
            self._is_draining = True
            Thread(target=self._drain, name="drain", daemon=True).start()
        else:
            Thread(target=self.stop, name="stop", daemon=True).start()

    def stop(self) -> None:
        """End the step loop, and with it every sequence."""
        self._is_draining = True
        if self._engine is not None and not self._engine.loop.stop(timeout_seconds=_STOP_SECONDS):
            _log.error("step_loop_did_not_stop", seconds=_STOP_SECONDS)

    def _drain(self) -> None:
        if self._engine is not None and not self._engine.loop.drain(timeout_seconds=self.settings.drain_seconds):
            _log.warning("not_drained_in_time", seconds=self.settings.drain_seconds)
        self.stop()

    @property
    def not_ready_reason(self) -> str | None:
        """Why requests are refused now; None: they are served."""
        if self._is_draining:
            return "draining"
        if self._load_failure is not None:
            return f"the model could not be loaded: {self._load_failure}"
        if self._engine is None:
            return "the model is loading"
        if self._engine.loop.failure is not None:
            return f"the engine has failed: {self._engine.loop.failure}"
        return None

    @property
    def has_failed(self) -> bool:
        """Whether waiting is no use: only a new process can serve."""
        return self._load_failure is not None or (self._engine is not None and self._engine.loop.failure is not None)

    def identity(self) -> NodeIdentity:
        """Who this node is. Raises RefusedRequestError until it can serve."""
        return self._serving().engine.identity

    async def put_artifact(self, key: str, frame: bytes) -> ArtifactStored:
        """Keep an artifact. Raises RefusedRequestError."""
        engine = self._serving().engine
        is_known = await asyncio.to_thread(engine.artifacts.put, key, frame)
        return ArtifactStored(artifact_key=key, already_present=is_known)

    @property
    def adapters(self) -> AdapterDesk:
        """What sequences may run under. Raises RefusedRequestError until the node can serve."""
        return self._serving().adapters

    @property
    def prefixes(self) -> PrefixShelf:
        """What stays computed. Raises RefusedRequestError until the node can serve."""
        return self._serving().prefixes

    async def open_stream(self, request: GenerateRequest) -> OpenStream:
        """Check a request and queue its sequence; `close_stream` must follow. Raises RefusedRequestError."""
        opener = self._serving().opener
        return await self._counted(lambda: opener.open(request))

    async def restore_stream(self, data: bytes, *, request_id: str | None) -> OpenStream:
        """Queue a saved sequence where it stands, under its own request id or another; `close_stream` must follow.

        Raises RefusedRequestError.
        """
        serving = self._serving()

        async def reopen() -> OpenStream:
            snapshot = await serving.snapshots.read(data)
            return await serving.opener.reopen(snapshot, request_id=request_id or snapshot.header.request.request_id)

        return await self._counted(reopen)

    async def save(self, request_id: str, choice: KeysValuesChoice) -> bytes:
        """Take the sequence of a request out; two of one name are nobody's. Raises RefusedRequestError."""
        serving = self._serving()
        named = [stream for stream in self._streams if stream.asked.request_id == request_id]
        if len(named) != 1:
            raise sequence_not_found()
        return await serving.snapshots.save(named[0], choice)

    def close_stream(self, stream: OpenStream) -> None:
        """The reader is done, or gone."""
        self._num_open -= 1
        self._streams.discard(stream)
        if self._engine is not None:
            self._engine.loop.cancel(stream.sequence)

    async def _counted(self, opening: Callable[[], Coroutine[None, None, OpenStream]]) -> OpenStream:
        """Streams that are being opened count as open."""
        settings = self.settings
        num_running = self._serving().engine.identity.max_sequences
        max_open = num_running + settings.max_waiting + settings.max_unread_streams
        if self._num_open >= max_open:
            raise RefusedRequestError(
                NodeFault(
                    code="overloaded",
                    message="too many streams are open",
                    limit=max_open,
                    observed=self._num_open,
                ),
                retry_after_seconds=_RETRY_AFTER_SECONDS,
            )
        self._num_open += 1
        try:
            stream = await opening()
        except BaseException:
            self._num_open -= 1
            raise
        self._streams.add(stream)
        return stream

    def _serving(self) -> _Serving:
        reason = self.not_ready_reason
        if self._is_draining:
            raise RefusedRequestError(NodeFault(code="draining", message="this node is shutting down"))
        if reason is not None or self._parts is None:
            raise RefusedRequestError(NodeFault(code="not_ready", message=reason or "the model is loading"))
        return self._parts

    def _load(self) -> None:
        started = perf_counter()
        try:
            engine = load_engine(self.settings, self._ring, self.metrics, lambda line: _log.info("loading", doing=line))
            adapters = AdapterDesk(engine.adapters)
            opener = StreamOpener(engine, adapters, max_stop_characters=self.settings.max_stop_characters)
            self._parts = _Serving(
                engine=engine,
                opener=opener,
                adapters=adapters,
                prefixes=PrefixShelf(engine, opener),
                snapshots=SnapshotDesk(
                    engine,
                    self._ring,
                    engine.model_digest,
                    max_bytes=self.settings.max_snapshot_bytes,
                ),
            )
            self._engine = engine
        except (ModelError, OSError) as error:
            self._load_failure = str(error)
            _log.error("model_not_loaded", reason=str(error))
        except Exception as error:
            self._load_failure = f"{type(error).__name__}: {error}"
            _log.exception("model_not_loaded")
        else:
            _log.info("ready", seconds=round(perf_counter() - started, 2))
