"""A node's life: loading, serving, draining, or broken; and what a request goes through before its first event."""

import asyncio
from dataclasses import dataclass
from threading import Thread
from time import perf_counter
from typing import Final

import structlog

from compiler_pool.frame import KeyRing
from inference_node.engine import TorchEngine, load_engine
from inference_node.errors import ChatTemplateError, ModelError, RefusedRequestError
from inference_node.metrics import NodeMetrics
from inference_node.outbox import Outbox
from inference_node.protocol import ArtifactStored, GenerateRequest, NodeFault, NodeIdentity
from inference_node.sampler import SamplingChoice
from inference_node.sequence import DecodingSequence, SequenceRequest
from inference_node.settings import NodeSettings

_log = structlog.get_logger(__name__)

_RETRY_AFTER_SECONDS: Final = 1.0
_STOP_SECONDS: Final = 2.0
"""A step, which is all that a loop has to end before it stops, takes a fraction of this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenStream:
    """A sequence on its way, and where its events come out."""

    sequence: DecodingSequence
    outbox: Outbox


class Node:
    """One model behind the protocol. Loads on a thread of its own, so that it can say meanwhile that it is loading."""

    def __init__(self, settings: NodeSettings) -> None:
        self.settings: Final = settings
        self.metrics: Final = NodeMetrics()
        self._ring = KeyRing.from_text(settings.artifact_keys.get_secret_value())
        self._engine: TorchEngine | None = None
        self._load_failure: str | None = None
        self._is_draining = False
        self._num_open = 0
        self._max_open = settings.max_sequences + settings.max_waiting + settings.max_unread_streams

    def start_loading(self) -> None:
        """Begin; `not_ready_reason` tells when it is done."""
        Thread(target=self._load, name="load", daemon=True).start()

    def begin_drain(self) -> None:
        """Refuse what is new and end what runs as cancelled. Returns at once: fit for a signal handler."""
        if not self._is_draining:
            self._is_draining = True
            Thread(target=self.stop, name="drain", daemon=True).start()

    def stop(self) -> None:
        """End the step loop, and with it every sequence."""
        self._is_draining = True
        if self._engine is not None and not self._engine.loop.stop(timeout_seconds=_STOP_SECONDS):
            _log.error("step_loop_did_not_stop", seconds=_STOP_SECONDS)

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
        return self._serving().identity

    async def put_artifact(self, key: str, frame: bytes) -> ArtifactStored:
        """Keep an artifact. Raises RefusedRequestError."""
        engine = self._serving()
        is_known = await asyncio.to_thread(engine.artifacts.put, key, frame)
        return ArtifactStored(artifact_key=key, already_present=is_known)

    async def open_stream(self, request: GenerateRequest) -> OpenStream:
        """Check a request and queue its sequence; `close_stream` must follow. Raises RefusedRequestError."""
        engine = self._serving()
        if self._num_open >= self._max_open:
            raise RefusedRequestError(
                NodeFault(
                    code="overloaded",
                    message="too many streams are open",
                    limit=self._max_open,
                    observed=self._num_open,
                ),
                retry_after_seconds=_RETRY_AFTER_SECONDS,
            )
        self._num_open += 1
        try:
            return await self._open_stream(engine, request)
        except BaseException:
            self._num_open -= 1
            raise

    def close_stream(self, stream: OpenStream) -> None:
        """The reader is done, or gone."""
        self._num_open -= 1
        self._serving_loop_cancel(stream.sequence)

    async def _open_stream(self, engine: TorchEngine, request: GenerateRequest) -> OpenStream:
        self._check_stop_strings(request.stop)
        matcher = None
        if request.artifact_key is not None:
            matcher = await asyncio.to_thread(engine.artifacts.matcher, request.artifact_key)
        try:
            prompt_ids = await asyncio.to_thread(engine.prompts.encode, request.messages, request.tools)
        except ChatTemplateError as error:
            raise RefusedRequestError(NodeFault(code="malformed_request", message=error.reason)) from error
        context_tokens = engine.identity.context_tokens
        if len(prompt_ids) >= context_tokens:
            raise RefusedRequestError(
                NodeFault(
                    code="context_length_exceeded",
                    message=f"the prompt has {len(prompt_ids)} tokens; the context holds {context_tokens}, "
                    "and at least one is for the answer",
                    limit=context_tokens - 1,
                    observed=len(prompt_ids),
                )
            )
        sampling = request.sampling
        outbox = Outbox()
        sequence = DecodingSequence(
            SequenceRequest(
                request_id=request.request_id,
                prompt_ids=prompt_ids,
                choice=SamplingChoice(temperature=sampling.temperature, top_p=sampling.top_p, seed=sampling.seed),
                max_tokens=request.max_tokens,
                stop_strings=request.stop,
                matcher=matcher,
                num_top_logprobs=request.top_logprobs,
            ),
            engine.tokenizer,
            outbox,
            context_tokens=context_tokens,
        )
        engine.loop.submit(sequence)
        return OpenStream(sequence=sequence, outbox=outbox)

    def _check_stop_strings(self, stop_strings: list[str]) -> None:
        limit = self.settings.max_stop_characters
        for stop in stop_strings:
            if not 1 <= len(stop) <= limit:
                raise RefusedRequestError(
                    NodeFault(
                        code="malformed_request",
                        message=f"a stop string has 1 to {limit} characters",
                        limit=limit,
                        observed=len(stop),
                    )
                )

    def _serving(self) -> TorchEngine:
        reason = self.not_ready_reason
        if self._is_draining:
            raise RefusedRequestError(NodeFault(code="draining", message="this node is shutting down"))
        if reason is not None or self._engine is None:
            raise RefusedRequestError(NodeFault(code="not_ready", message=reason or "the model is loading"))
        return self._engine

    def _serving_loop_cancel(self, sequence: DecodingSequence) -> None:
        if self._engine is not None:
            self._engine.loop.cancel(sequence)

    def _load(self) -> None:
        started = perf_counter()
        try:
            self._engine = load_engine(
                self.settings, self._ring, self.metrics, lambda line: _log.info("loading", doing=line)
            )
        except (ModelError, OSError) as error:
            self._load_failure = str(error)
            _log.error("model_not_loaded", reason=str(error))
        except Exception as error:
            self._load_failure = f"{type(error).__name__}: {error}"
            _log.exception("model_not_loaded")
        else:
            _log.info("ready", seconds=round(perf_counter() - started, 2))
