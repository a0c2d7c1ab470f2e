"""The decoder's layers on a device: fused kernels between the matrix products, keys and values read where they stand.

The same function as `Decoder`, with fewer roundings. Shapes follow from the number of rows alone and nothing waits for
the device, so a step can be captured and replayed.
"""

from typing import Final

import torch
import torch.nn.functional as F  # noqa: N812 - its usual name

from inference_node.decoder import Decoder
from inference_node.decoder_layer import DecoderLayer, ProjectionName
from inference_node.device_rows import DeviceRows
from inference_node.kv_cache import KvCache
from inference_node.projection import Projection
from inference_node.slices import BLOCK_TOKENS
from inference_node.step_batch import StepBatch
from kernels.decoder_rows import HeadNorms, HeadShape, Rotation, add_and_normalise, gate, rotate_and_store
from kernels.paged_attention import paged_attention


class DeviceDecoder:
    """A decoder's weights over rows that stand on its device.

    With `rows_per_product` every matrix product has exactly so many rows, whatever the step: rows must be a multiple.
    """

    def __init__(self, decoder: Decoder, cache: KvCache, *, context_tokens: int, rows_per_product: int | None) -> None:
        self.decoder: Final = decoder
        self.cache: Final = cache
        self._context_tokens = context_tokens
        self._rows_per_product = rows_per_product
        config = decoder.config
        self._shape = HeadShape(num_heads=config.num_heads, num_kv_heads=config.num_kv_heads, size=config.head_size)
        self._rotation = Rotation(cosine=decoder.rotary.cosine, sine=decoder.rotary.sine)

    def hidden(self, rows: DeviceRows, *, num_tiled_rows: int = 0, adapted: StepBatch | None = None) -> torch.Tensor:
        """The last layer's output, normalised; keys and values of real rows are stored on the way.

        `num_tiled_rows`: the first so many rows stand in tiles (`RowLayout`). `adapted`: which rows have adapters.
        """
        epsilon = self.decoder.config.norm_epsilon
        hidden = F.embedding(rows.token_ids, self.decoder.embedding)
        change: torch.Tensor | None = None
        for index, layer in enumerate(self.decoder.layers):
            hidden, normed = add_and_normalise(hidden, change, layer.input_norm, epsilon)
            qkv = self._project(index, "qkv", normed, adapted)
            queries = rotate_and_store(
                qkv,
                self.cache.layers[index],
                rows.places,
                shape=self._shape,
                rotation=self._rotation,
                norms=self._norms(layer),
                block_tokens=BLOCK_TOKENS,
            )
            attended = self._attend(queries, index, rows, num_tiled_rows)
            change = self._project(index, "output", attended, adapted)
            hidden, normed = add_and_normalise(hidden, change, layer.inner_norm, epsilon)
            gated = gate(self._project(index, "gate_up", normed, adapted))
            change = self._project(index, "down", gated, adapted)
        return add_and_normalise(hidden, change, self.decoder.final_norm, epsilon)[1]

    def write_logits(self, normed: torch.Tensor, rows: DeviceRows, logits: torch.Tensor) -> None:
        """Fill `logits` [n, vocabulary] for the first n of the rows that need them."""
        chosen = normed.index_select(0, rows.logit_rows[: len(logits)])
        step = self._rows_per_product or len(logits)
        for inputs, outputs in zip(torch.split(chosen, step), torch.split(logits, step), strict=True):
            _multiply_into(self.decoder.head, inputs, outputs)

    def _attend(self, queries: torch.Tensor, layer: int, rows: DeviceRows, num_tiled_rows: int) -> torch.Tensor:
        runs = [(0, num_tiled_rows, BLOCK_TOKENS), (num_tiled_rows, len(queries), 1)]
        attended = [
            paged_attention(
                queries[start:end],
                self.cache.layers[layer],
                rows.places.part(start, end),
                num_kv_heads=self._shape.num_kv_heads,
                block_tokens=BLOCK_TOKENS,
                max_tokens=self._context_tokens,
                rows_per_tile=rows_per_tile,
            )
            for start, end, rows_per_tile in runs
            if start < end
        ]
        return attended[0] if len(attended) == 1 else torch.cat(attended)

    def _project(self, layer: int, name: ProjectionName, rows: torch.Tensor, adapted: StepBatch | None) -> torch.Tensor:
        """Every product of every layer goes through here."""
        projection = self.decoder.layers[layer].projection(name)
        if self._rows_per_product is None or len(rows) <= self._rows_per_product:
            outputs = projection(rows)
        else:
            outputs = torch.cat([projection(part) for part in torch.split(rows, self._rows_per_product)])
        if adapted is not None:
            assert self.decoder.adapters is not None, "a slice names an adapter where none can be loaded"
            self.decoder.adapters.apply(layer, name, rows, outputs, adapted)
        return outputs

    def _norms(self, layer: DecoderLayer) -> HeadNorms | None:
        if layer.query_norm is None or layer.key_norm is None:
            return None
        return HeadNorms(query=layer.query_norm, key=layer.key_norm, epsilon=self.decoder.config.norm_epsilon)


def _multiply_into(projection: Projection, rows: torch.Tensor, outputs: torch.Tensor) -> None:
    """Without a copy of what may be 100 MB, where the layout of the weights allows it."""
    if projection.is_packed or projection.bias is not None:
        outputs.copy_(projection(rows))
    else:
        torch.mm(rows, projection.weight.t(), out=outputs)
