"""Keys and values of the sequences that run: a fixed number of places, each as long as the context."""

from typing import Final

import torch

from inference_node.model_config import ModelConfig

LayerKeysValues = tuple[torch.Tensor, torch.Tensor]
"""Keys and values of one sequence in one layer, each [1, kv heads, tokens, head size]."""


def kv_bytes_per_token(config: ModelConfig, dtype: torch.dtype) -> int:
    """What one token of context costs."""
    return config.num_layers * 2 * config.kv_size * dtype.itemsize


class KvCache:
    """Owns the memory: [layers, places x context, keys | values]. Rows past a sequence's length are never read.

    One place per sequence, taken and given back by the step loop. Memory is reserved at once; on a CPU the system
    backs it with pages only as they are written.
    """

    def __init__(
        self,
        config: ModelConfig,
        *,
        num_places: int,
        context_tokens: int,
        dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        self.num_places: Final = num_places
        self.context_tokens: Final = context_tokens
        self._config = config
        self._rows = torch.empty(
            (config.num_layers, num_places * context_tokens, 2 * config.kv_size), dtype=dtype, device=device
        )
        self.layers: Final = self._rows.unbind(0)
        """Per layer: [places x context, keys | values]."""

    def row(self, place: int, position: int) -> int:
        """Where in a layer a token of a sequence lives."""
        return place * self.context_tokens + position

    def views(self, place: int, num_tokens: int) -> list[LayerKeysValues]:
        """The first `num_tokens` of a sequence, per layer, without a copy."""
        config = self._config
        # [layers, tokens, keys | values, kv heads, head size]; strides do not merge layers with keys | values.
        tokens = self._rows.narrow(1, place * self.context_tokens, num_tokens).view(
            config.num_layers, num_tokens, 2, config.num_kv_heads, config.head_size
        )
        keys = tokens.select(2, 0).transpose(1, 2).unsqueeze(1).unbind(0)
        values = tokens.select(2, 1).transpose(1, 2).unsqueeze(1).unbind(0)
        return list(zip(keys, values, strict=True))
