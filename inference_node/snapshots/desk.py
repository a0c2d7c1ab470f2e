"""Where sequences leave a node as bytes, and come in again."""

import asyncio
from concurrent.futures import Future
from functools import partial
from typing import Final

import torch

from compiler_pool.frame import KeyRing
from inference_node.ending import Ending
from inference_node.engine import TorchEngine
from inference_node.errors import RefusedRequestError
from inference_node.opening import OpenStream
from inference_node.protocol import NodeFault
from inference_node.snapshots.blob import MAX_HEADER_BYTES, Snapshot, opened, sealed
from inference_node.snapshots.protocol import KeysValuesChoice, SavedModel
from inference_node.snapshots.restoring import check_model
from inference_node.snapshots.saving import num_kept, snapshot_of

_MAX_AT_ONCE: Final = 2
"""Snapshots that are made or read at one time: each takes memory twice over."""


class SnapshotDesk:
    """Used from the event loop that serves."""

    def __init__(self, engine: TorchEngine, ring: KeyRing, digest: "Future[str]", *, max_bytes: int) -> None:
        """`digest`: of the model, as soon as it is known."""
        self._engine: Final = engine
        self._ring: Final = ring
        self._digest: Final = digest
        self._max_bytes: Final = max_bytes
        self._turns: Final = asyncio.Semaphore(_MAX_AT_ONCE)

    async def save(self, stream: OpenStream, choice: KeysValuesChoice) -> bytes:
        """Take a sequence out: its stream ends as `saved`, with what can be sent without knowing how it goes on.

        Raises:
            RefusedRequestError: it is over, or there is too much of it; then it goes on.
        """
        async with self._turns:
            model = await self._model()
            taken = self._engine.loop.between_steps(partial(self._take, stream, choice))
            keys_values = await asyncio.wrap_future(taken)
            return await asyncio.to_thread(self._bytes_of, stream, keys_values, model)

    async def read(self, data: bytes) -> Snapshot:
        """A snapshot that can go on here. Raises RefusedRequestError."""
        async with self._turns:
            snapshot = await asyncio.to_thread(opened, data, self._ring, max_bytes=self._max_bytes)
            check_model(snapshot.header.model, await self._model())
            return snapshot

    def _take(self, stream: OpenStream, choice: KeysValuesChoice) -> torch.Tensor:
        """Its keys and values, and it runs no more. On the loop's thread."""
        sequence, loop = stream.sequence, self._engine.loop
        running = loop.find(stream.asked.request_id)
        if running is None or running.sequence is not sequence or sequence.is_cancelled:
            raise sequence_not_found()
        num_tokens = num_kept(sequence) if choice == "include" else 0
        keys_values = torch.empty((0, 0, 0))
        if num_tokens:
            keys_values = self._engine.runner.read_keys_values(running.table.blocks, num_tokens)
        limit = self._max_bytes - MAX_HEADER_BYTES
        if keys_values.nbytes > limit:
            message = "its keys and values are too many bytes; save it with keys_values=recompute"
            fault = NodeFault(code="body_too_large", message=message, limit=limit, observed=keys_values.nbytes)
            raise RefusedRequestError(fault)
        loop.end(running, Ending(cause="saved"))
        return keys_values

    def _bytes_of(self, stream: OpenStream, keys_values: torch.Tensor, model: SavedModel) -> bytes:
        snapshot = snapshot_of(stream.sequence, keys_values, stream.asked, model)
        return sealed(snapshot, self._ring, max_bytes=self._max_bytes)

    async def _model(self) -> SavedModel:
        identity = self._engine.identity
        return SavedModel(
            name=identity.model,
            # One future for all: who stops waiting for it must not cancel it.
            model_digest=await asyncio.shield(asyncio.wrap_future(self._digest)),
            dtype=identity.dtype,
            tokenizer_digest=identity.tokenizer_digest,
            chat_template_digest=identity.chat_template_digest,
            engine_version=identity.engine_version,
            device=identity.device,
        )


def sequence_not_found() -> RefusedRequestError:
    """Nobody by that name decodes here, or no more."""
    return RefusedRequestError(
        NodeFault(code="sequence_not_found", message="no sequence of this request runs or waits here; it may be over")
    )
