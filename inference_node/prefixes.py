"""Beginnings of prompts that stay computed: rendered, computed once, and pinned in the cache."""

import asyncio
import re
from collections.abc import Sequence
from functools import partial
from typing import Final

from inference_node.block_pool import Pinned, PinRefused
from inference_node.engine import TorchEngine
from inference_node.errors import ChatTemplateError, RefusedRequestError
from inference_node.opening import OpenStream, StreamOpener
from inference_node.prompt import PromptEncoder
from inference_node.protocol import ChatMessage, Finish, NodeFault, PinnedPrefix, PrefixRequest, Sampling, ToolOffer
from inference_node.slices import BLOCK_TOKENS
from inference_node.snapshots.protocol import SavedRequest

_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
_RETRY_AFTER_SECONDS: Final = 1.0


def beginning_ids(prompts: PromptEncoder, messages: Sequence[ChatMessage], tools: Sequence[ToolOffer]) -> list[int]:
    """The tokens that all prompts begin with whose messages begin with these.

    Found by rendering some of them, since a template may write a turn differently once others follow.

    Raises:
        ChatTemplateError: the template refuses all of them.
    """
    followers = [[], *([ChatMessage(role=role, content=text)] for role in ("user", "assistant") for text in ("a", "1"))]
    found: list[list[int]] = []
    refusals: list[ChatTemplateError] = []
    for turns in followers:
        try:
            found.append(prompts.encode([*messages, *turns], tools))
        except ChatTemplateError as error:  # some want turns to alternate
            refusals.append(error)
    if not found:
        raise refusals[0]
    ids = found[0]
    for other in found[1:]:
        num_equal = next((at for at, (one, two) in enumerate(zip(ids, other, strict=False)) if one != two), None)
        ids = ids[: min(len(ids), len(other)) if num_equal is None else num_equal]
    return ids


class PrefixShelf:
    """Used from the event loop that serves. A name is pinned once; pinning it again replaces what it was."""

    def __init__(self, engine: TorchEngine, opener: StreamOpener) -> None:
        self._engine: Final = engine
        self._opener: Final = opener
        self._pinned: dict[str, PinnedPrefix] = {}
        self._turn: Final = asyncio.Lock()

    def listed(self) -> list[PinnedPrefix]:
        """By name."""
        return [self._pinned[name] for name in sorted(self._pinned)]

    async def pin(self, name: str, request: PrefixRequest) -> PinnedPrefix:
        """Compute and keep a prefix.

        Raises:
            RefusedRequestError: `malformed_request`, too short among that; `context_length_exceeded`; `prefix_limit`;
                `overloaded`, where there was no room to compute it.
        """
        if not _NAME.fullmatch(name):
            raise _malformed("a prefix is named by up to 64 letters, digits, dots, dashes and underscores")
        try:
            token_ids = await asyncio.to_thread(beginning_ids, self._engine.prompts, request.messages, request.tools)
        except ChatTemplateError as error:
            raise _malformed(error.reason) from error
        num_pinned = len(token_ids) // BLOCK_TOKENS * BLOCK_TOKENS
        if not num_pinned:
            message = f"these messages are {len(token_ids)} tokens; at least a block of {BLOCK_TOKENS} can be pinned"
            raise _malformed(message, limit=BLOCK_TOKENS, observed=len(token_ids))
        async with self._turn:
            # One token more than the blocks: of a prompt, all but the last token can be found.
            salt = await self._computed(name, request, [*token_ids[:num_pinned], token_ids[0]])
            pinning = partial(self._pin, name, [*token_ids[:num_pinned], token_ids[0]], salt)
            await asyncio.wrap_future(self._engine.loop.between_steps(pinning))
            prefix = PinnedPrefix(
                name=name,
                partition=request.partition,
                adapter=request.adapter,
                prompt_tokens=len(token_ids),
                pinned_tokens=num_pinned,
            )
            self._pinned[name] = prefix
            return prefix

    async def unpin(self, name: str) -> PinnedPrefix:
        """Let a prefix go when its room is needed. Raises RefusedRequestError: `prefix_not_found`."""
        async with self._turn:
            if name not in self._pinned:
                raise RefusedRequestError(
                    NodeFault(code="prefix_not_found", message="no prefix of this name is pinned")
                )
            await asyncio.wrap_future(self._engine.loop.between_steps(partial(self._engine.loop.pool.unpin, name)))
            return self._pinned.pop(name)

    async def _computed(self, name: str, request: PrefixRequest, prompt_ids: list[int]) -> str:
        """Decode one token after the prefix, which computes it; what its blocks are found by."""
        asked = SavedRequest(
            request_id=f"prefix {name}",
            artifact_key=None,
            sampling=Sampling(temperature=0, seed=0),
            max_tokens=1,
            stop=[],
            top_logprobs=None,
            partition=request.partition,
            adapter=request.adapter,
            reasoning=None,
            drafts=False,
        )
        stream = self._opener.queue(asked, prompt_ids)
        try:
            finish = await _ended(stream)
        finally:
            self._engine.loop.cancel(stream.sequence)
        if finish.stop_cause not in {"max_tokens", "end_of_sequence"}:
            raise _no_room(f"the prefix could not be computed: {finish.stop_cause}")
        return stream.sequence.request.prefix_salt

    def _pin(self, name: str, prompt_ids: Sequence[int], salt: str) -> None:
        """On the loop's thread."""
        pool = self._engine.loop.pool
        # Whatever is pinned, a sequence of a whole context has to find room: or it would wait for ever.
        others = {block for pin in pool.pins() if pin.name != name for block in pin.blocks}
        limit = pool.num_blocks - -(-self._engine.identity.context_tokens // BLOCK_TOKENS)
        num_blocks = len(prompt_ids) // BLOCK_TOKENS
        if len(others) + num_blocks > limit:
            message = f"a context of tokens has to stay free beside what is pinned: at most {limit} blocks are"
            raise _over_limit(message, limit=limit, observed=len(others) + num_blocks)
        table = pool.match(prompt_ids, salt=salt)
        try:
            result = pool.pin(name, table, num_blocks * BLOCK_TOKENS)
        finally:
            pool.release(table)
        _check(result)


async def _ended(stream: OpenStream) -> Finish:
    while True:
        for event in await stream.outbox.next_events():
            if isinstance(event, Finish):
                return event


def _check(result: Pinned | PinRefused) -> None:
    if isinstance(result, Pinned):
        return
    if result.reason == "not_cached":
        raise _no_room("the prefix was computed and had to give way at once")
    message = f"{result.reason.replace('_', ' ')}: {result.observed} of at most {result.limit}"
    raise _over_limit(message, limit=result.limit, observed=result.observed)


def _malformed(message: str, *, limit: int | None = None, observed: int | None = None) -> RefusedRequestError:
    return RefusedRequestError(NodeFault(code="malformed_request", message=message, limit=limit, observed=observed))


def _over_limit(message: str, *, limit: int, observed: int) -> RefusedRequestError:
    return RefusedRequestError(NodeFault(code="prefix_limit", message=message, limit=limit, observed=observed))


def _no_room(message: str) -> RefusedRequestError:
    return RefusedRequestError(NodeFault(code="overloaded", message=message), retry_after_seconds=_RETRY_AFTER_SECONDS)
