"""The adapters that a node has, each in a slot, and how many sequences run under each."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Final

import torch

from inference_node.adapters.adapter_file import read_adapter
from inference_node.adapters.adapter_tiles import AdapterTile, cut_into_tiles, rows_of_a_tile
from inference_node.adapters.errors import AdapterInUseError, AdapterMissingError, AdaptersFullError
from inference_node.adapters.lease import AdapterLease
from inference_node.adapters.low_rank import LowRankLayers
from inference_node.decoder_layer import ProjectionName
from inference_node.model_config import ModelConfig
from inference_node.step_batch import StepBatch


@dataclass(slots=True, kw_only=True, eq=False)
class _Held:
    """An adapter in its slot."""

    slot: int
    adapter: LowRankLayers
    rank: int
    num_sequences: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldAdapter:
    """What is told of an adapter."""

    digest: str
    rank: int
    num_bytes: int
    num_sequences: int


class AdapterBank:
    """`put`, `lease`, `remove` and `held` from any thread; `apply` from the step loop's.

    When all slots are taken, the adapter that no sequence runs under and that was asked for least recently goes.
    """

    def __init__(
        self,
        base: ModelConfig,
        *,
        base_digest: Callable[[], str],
        max_adapters: int,
        max_rank: int,
        dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        """`base_digest` may take long at first: all of the model's weights are read for it."""
        self.base_digest: Final = base_digest
        self.max_adapters: Final = max_adapters
        self._base = base
        self._max_rank = max_rank
        self._dtype = dtype
        self._device = device
        self._lock = Lock()
        self._held: OrderedDict[str, _Held] = OrderedDict()
        """By digest, the least recently used first."""
        self._slots: list[LowRankLayers | None] = [None] * (max_adapters + 1)
        self._rows_of_slot = [1] * (max_adapters + 1)
        self._batch: StepBatch | None = None
        self._tiles: Sequence[AdapterTile] = ()

    def put(self, digest: str, body: bytes) -> bool:
        """Take an adapter; whether it was there already. Its products are laid out and tried: seconds for large ones.

        Raises:
            AdapterError: it cannot be used here (`read_adapter`), or nothing can make room for it.
        """
        with self._lock:
            if digest in self._held:
                self._held.move_to_end(digest)
                return True
        read = read_adapter(body, self._base, digest=digest, base_digest=self.base_digest(), max_rank=self._max_rank)
        adapter = LowRankLayers.of(read, self._base, dtype=self._dtype, device=self._device)
        num_rows = rows_of_a_tile(adapter)
        with self._lock:
            if digest in self._held:
                return True
            slot = self._free_slot()
            self._slots[slot], self._rows_of_slot[slot] = adapter, num_rows
            self._held[digest] = _Held(slot=slot, adapter=adapter, rank=read.config.rank)
        return False

    def lease(self, digest: str) -> AdapterLease:
        """Hold an adapter for a sequence. Raises AdapterMissingError."""
        with self._lock:
            held = self._held.get(digest)
            if held is None:
                raise AdapterMissingError(digest=digest)
            self._held.move_to_end(digest)
            held.num_sequences += 1
            return AdapterLease(self, slot=held.slot, digest=digest)

    def give_back(self, digest: str) -> None:
        """A lease is over; only the lease itself calls this."""
        with self._lock:
            self._held[digest].num_sequences -= 1

    def remove(self, digest: str) -> None:
        """Let an adapter go.

        Raises:
            AdapterInUseError: a sequence runs under it.
            AdapterMissingError: it is not here.
        """
        with self._lock:
            held = self._held.get(digest)
            if held is None:
                raise AdapterMissingError(digest=digest)
            if held.num_sequences:
                raise AdapterInUseError(digest=digest, num_sequences=held.num_sequences)
            self._drop(digest)

    def held(self) -> list[HeldAdapter]:
        """All of them, the most recently used first."""
        with self._lock:
            return [
                HeldAdapter(
                    digest=digest,
                    rank=held.rank,
                    num_bytes=held.adapter.num_bytes,
                    num_sequences=held.num_sequences,
                )
                for digest, held in reversed(self._held.items())
            ]

    def apply(
        self, layer: int, projection: ProjectionName, inputs: torch.Tensor, outputs: torch.Tensor, batch: StepBatch
    ) -> None:
        """Add to the rows of each run what its adapter adds to this projection, in place."""
        if batch is not self._batch:
            # The same for every projection of a step. The batch is kept, so that no other one can be at its place.
            self._batch, self._tiles = batch, cut_into_tiles(batch.adapter_rows, self._rows_of_slot, self._device)
        for tile in self._tiles:
            adapter = self._slots[tile.slot]
            if adapter is None:
                raise AdapterMissingError(digest=f"of slot {tile.slot}")  # nobody holds a lease: never in silence
            product = adapter.layers[layer].get(projection)
            if product is not None:
                tile.add_(product, inputs, outputs)

    def _free_slot(self) -> int:
        """Called under the lock."""
        if len(self._held) >= self.max_adapters:
            idle = next((digest for digest, held in self._held.items() if not held.num_sequences), None)
            if idle is None:
                raise AdaptersFullError(max_adapters=self.max_adapters)
            self._drop(idle)
        return next(slot for slot in range(1, self.max_adapters + 1) if self._slots[slot] is None)

    def _drop(self, digest: str) -> None:
        self._slots[self._held.pop(digest).slot] = None
