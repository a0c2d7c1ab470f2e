"""From what was asked to a sequence that waits for its place: all that can be refused before the first event."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final

from inference_node.adapters.desk import AdapterDesk
from inference_node.engine import TorchEngine
from inference_node.errors import ChatTemplateError, RefusedRequestError
from inference_node.matcher import GrammarMatcher
from inference_node.outbox import Outbox
from inference_node.protocol import GenerateRequest, NodeFault
from inference_node.reasoning.dialects import ReasoningDialect, UnreadableFraming
from inference_node.reasoning.span import ReasoningSpan
from inference_node.sampling import SamplingChoice
from inference_node.sequence import DecodingSequence
from inference_node.sequence_request import SequenceRequest
from inference_node.snapshots.blob import Snapshot
from inference_node.snapshots.protocol import SavedRequest
from inference_node.snapshots.restored_state import RestoredState
from inference_node.snapshots.restoring import replay, restored_state


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OpenStream:
    """A sequence on its way, where its events come out, and what was asked for beside its prompt."""

    sequence: DecodingSequence
    outbox: Outbox
    asked: SavedRequest


class StreamOpener:
    """Used from the event loop that serves; what takes long runs on other threads."""

    def __init__(self, engine: TorchEngine, adapters: AdapterDesk, *, max_stop_characters: int) -> None:
        self._engine: Final = engine
        self._adapters: Final = adapters
        self._max_stop_characters: Final = max_stop_characters

    async def open(self, request: GenerateRequest) -> OpenStream:
        """Queue a request's sequence. Raises RefusedRequestError."""
        self._check_reasoning(request)
        asked = SavedRequest.model_validate(request.model_dump(exclude={"messages", "tools"}))
        matcher = await self._matcher(asked)
        encode = partial(self._engine.prompts.prompt, wants_thought=request.reasoning is not None)
        try:
            prompt = await asyncio.to_thread(encode, request.messages, request.tools)
        except ChatTemplateError as error:
            raise RefusedRequestError(NodeFault(code="malformed_request", message=error.reason)) from error
        asked = asked.model_copy(update={"is_thought_open": prompt.is_thought_open})
        stream = self._stream(asked, prompt.token_ids, matcher)
        with _unless_refused(stream):
            self._engine.loop.submit(stream.sequence)
        return stream

    async def reopen(self, snapshot: Snapshot, *, request_id: str) -> OpenStream:
        """Queue a saved sequence where it stands. Raises RefusedRequestError."""
        header = snapshot.header
        asked = header.request.model_copy(update={"request_id": request_id})
        engine = self._engine
        state = restored_state(snapshot, engine.config, vocabulary_size=engine.identity.vocabulary_size)
        stream = self._stream(asked, header.prompt_ids, await self._matcher(asked), state)
        with _unless_refused(stream):
            await asyncio.to_thread(replay, stream.sequence, header)
            engine.loop.submit(stream.sequence)
        return stream

    def queue(self, asked: SavedRequest, prompt_ids: list[int]) -> OpenStream:
        """Queue a sequence without a contract over these tokens. Raises RefusedRequestError."""
        stream = self._stream(asked, prompt_ids, None)
        with _unless_refused(stream):
            self._engine.loop.submit(stream.sequence)
        return stream

    async def _matcher(self, asked: SavedRequest) -> GrammarMatcher | None:
        self._check_stop_strings(asked.stop)
        if asked.artifact_key is None:
            return None
        return await asyncio.to_thread(self._engine.artifacts.matcher, asked.artifact_key)

    def _stream(
        self,
        asked: SavedRequest,
        prompt_ids: list[int],
        matcher: GrammarMatcher | None,
        restored: RestoredState | None = None,
    ) -> OpenStream:
        context_tokens = self._engine.identity.context_tokens
        num_tokens = len(prompt_ids) + (0 if restored is None else len(restored.answer_ids))
        if num_tokens >= context_tokens:
            raise RefusedRequestError(
                NodeFault(
                    code="context_length_exceeded",
                    message=f"the prompt has {num_tokens} tokens; the context holds {context_tokens}, "
                    "and at least one is for the answer",
                    limit=context_tokens - 1,
                    observed=num_tokens,
                )
            )
        sampling = asked.sampling
        request = SequenceRequest(
            request_id=asked.request_id,
            prompt_ids=prompt_ids,
            choice=SamplingChoice(
                temperature=sampling.temperature,
                top_p=sampling.top_p,
                seed=sampling.seed,
                top_k=sampling.top_k,
                damping=sampling.repetition_damping,
            ),
            max_tokens=asked.max_tokens,
            stop_strings=asked.stop,
            matcher=matcher,
            num_top_logprobs=asked.top_logprobs,
            partition=asked.partition,
            adapter=self._adapters.lease(asked.adapter),
            may_draft=asked.drafts,
            span=self._span(asked),
            restored=restored,
        )
        outbox = Outbox()
        sequence = DecodingSequence(request, self._engine.tokenizer, outbox, context_tokens=context_tokens)
        return OpenStream(sequence=sequence, outbox=outbox, asked=asked)

    def _check_reasoning(self, request: GenerateRequest) -> None:
        """Before anything is spent on it: a thought that cannot be told from the answer is not begun."""
        framing = self._engine.prompts.framing
        if request.reasoning is None or isinstance(framing, ReasoningDialect):
            return
        message = "this model's chat template knows of no thought before an answer"
        if isinstance(framing, UnreadableFraming):
            message = f"thoughts as this model frames them (`{framing.name}`) are not served: {framing.why}"
        raise RefusedRequestError(NodeFault(code="reasoning_unsupported", message=message))

    def _span(self, asked: SavedRequest) -> ReasoningSpan | None:
        markers = self._engine.prompts.markers
        if asked.reasoning is None or markers is None:
            return None
        return ReasoningSpan(
            markers,
            self._engine.tokenizer,
            is_begun=asked.is_thought_open,
            budget_tokens=asked.reasoning.budget_tokens,
        )

    def _check_stop_strings(self, stop_strings: list[str]) -> None:
        limit = self._max_stop_characters
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


@contextmanager
def _unless_refused(stream: OpenStream) -> Iterator[None]:
    """A sequence that does not come as far as the loop has no last event to let its adapter go."""
    try:
        yield
    except BaseException:
        stream.sequence.request.adapter.release()
        raise
