"""The model on a CPU, as the step loop asks for it."""

from collections.abc import Sequence
from typing import Final

import torch

from inference_node.decoder import Decoder
from inference_node.kv_cache import KvCache
from inference_node.slices import Slice


class CpuRunner:
    """A decoder with its cache. Logits are float32, each step's own, and there when `forward` returns."""

    looks_ahead: Final = False
    reuses_logits: Final = False

    def __init__(self, decoder: Decoder, cache: KvCache) -> None:
        self.decoder: Final = decoder
        self.cache: Final = cache

    def forward(self, slices: Sequence[Slice], ahead: torch.Tensor | None = None) -> torch.Tensor:
        """As `ModelRunner` says; tokens are always known here before a step is laid out."""
        assert ahead is None, "a runner that does not look ahead is given its tokens"
        return self.decoder.forward(slices, self.cache)

    def read_keys_values(self, blocks: Sequence[int], num_tokens: int) -> torch.Tensor:
        """As `ModelRunner` says."""
        return self.cache.read(blocks, num_tokens)

    def write_keys_values(self, blocks: Sequence[int], keys_values: torch.Tensor) -> None:
        """As `ModelRunner` says."""
        self.cache.write(blocks, keys_values)
