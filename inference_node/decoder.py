"""The decoder: Llama, Qwen2 and Qwen3, for inference only, on rows of several sequences at once."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import torch
import torch.nn.functional as F  # noqa: N812 - its usual name

from inference_node.attention import AttentionByParts, StepAttention
from inference_node.decoder_layer import DecoderLayer, ProjectionAdapters, ProjectionName
from inference_node.kv_cache import KvCache
from inference_node.model_config import ModelConfig
from inference_node.projection import Projection
from inference_node.rotary import RotaryTables, rotate_
from inference_node.row_padding import CANDIDATES, NO_PADDING, RowPadding, RowProbe, find_row_padding
from inference_node.slices import Slice, attention_parts
from inference_node.step_batch import StepBatch

_MAX_LAYER_COUNTS: Final = 160
_MAX_HEAD_COUNTS: Final = 24
"""Row counts that are tried at load time. A layer's products take a millisecond, the head's many times that."""


class Decoder:
    """The whole model. Stateless between steps but for the cache that a step is given."""

    def __init__(
        self,
        config: ModelConfig,
        weights: Mapping[str, torch.Tensor],
        *,
        context_tokens: int,
        dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        self.config: Final = config
        self.dtype: Final = dtype
        self.device: Final = device
        # One layer at a time: peak memory is the model and one layer, not two models.
        self.embedding: Final = weights["model.embed_tokens.weight"].to(device=device, dtype=dtype)
        self.layers: Final = [
            DecoderLayer.of(config, _moved(weights, f"model.layers.{layer}.", device, dtype), layer)
            for layer in range(config.num_layers)
        ]
        self.final_norm: Final = weights["model.norm.weight"].to(device=device, dtype=dtype)
        head = self.embedding if config.has_tied_embeddings else weights["lm_head.weight"].to(device, dtype)
        self.head: Final = Projection.of(head)
        self.rotary: Final = RotaryTables.build(config, num_positions=context_tokens, dtype=dtype, device=device)
        self.row_padding: RowPadding | None = CANDIDATES[0]
        """How steps are padded; None: no padding makes rows agree, so each part of a slice is computed alone."""
        self.adapters: ProjectionAdapters | None = None
        """What adds adapters' products; None: no slice may name one."""

    @torch.inference_mode()
    def forward(self, slices: Sequence[Slice], cache: KvCache) -> torch.Tensor:
        """Run one step: store the slices' keys and values, and return logits for the rows that need them.

        Logits are float32 [sum of `num_logits`, vocabulary], in the slices' order.
        """
        if self.row_padding is not None:
            return self._forward(slices, cache, self.row_padding)
        alone = [part for whole in slices for part in _cut(whole)]
        return torch.cat([self._forward([part], cache, NO_PADDING) for part in alone])

    def hidden(
        self, batch: StepBatch, cache: KvCache, attention: StepAttention, *, num_layers: int | None = None
    ) -> torch.Tensor:
        """The last layer's output for all padded rows; keys and values are stored on the way.

        Never waits for the device, and its shapes follow from the batch's: it can be captured and replayed.
        """
        config = self.config
        cosine = self.rotary.cosine[batch.positions].unsqueeze(1)
        sine = self.rotary.sine[batch.positions].unsqueeze(1)
        hidden = F.embedding(batch.token_ids, self.embedding)
        num_stored = len(batch.cache_rows)
        for index, layer in enumerate(self.layers[:num_layers]):
            qkv = self._project(index, "qkv", self._normed(hidden, layer.input_norm), batch)
            heads = qkv.view(len(qkv), -1, config.head_size)
            self._rotate(heads, layer, cosine, sine)
            cache.layers[index].index_copy_(0, batch.cache_rows, qkv[:num_stored, config.query_size :])
            attended = attention.attend(heads[:, : config.num_heads], index)
            hidden = hidden + self._project(index, "output", attended, batch)
            gate_up = self._project(index, "gate_up", self._normed(hidden, layer.inner_norm), batch)
            gate, up = gate_up.chunk(2, dim=-1)
            hidden = hidden + self._project(index, "down", F.silu(gate) * up, batch)
        return hidden

    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """[rows, hidden size] to [rows, vocabulary], in the model's dtype."""
        return self.head(self._normed(hidden, self.final_norm))

    @torch.inference_mode()
    def choose_row_padding(self, *, max_rows: int, max_logit_rows: int) -> RowPadding | None:
        """Measure, on one layer and on the head, what padding keeps rows independent, and use it from now on.

        `max_rows` is the most tokens of a step, `max_logit_rows` the most that need logits, those after drafts too.
        """
        cache = KvCache(self.config, num_blocks=max_rows, dtype=self.dtype, device=self.device)
        vocabulary_size = self.config.vocabulary_size

        def hidden(inputs: range, padding: RowPadding) -> torch.Tensor:
            slices = [
                Slice(blocks=[block], start=0, token_ids=[token % vocabulary_size], num_prompt_tokens=1, num_logits=0)
                for block, token in enumerate(inputs)
            ]
            batch = StepBatch.build(slices, cache, padding)
            return self.hidden(batch, cache, _Unattended(), num_layers=1)[: len(inputs)]

        def logits(inputs: range, padding: RowPadding) -> torch.Tensor:
            rows = [*inputs, *[0] * (padding.padded(len(inputs)) - len(inputs))]
            token_ids = torch.tensor(rows, device=self.device) % vocabulary_size
            return self.logits(F.embedding(token_ids, self.embedding))[: len(inputs)]

        self.row_padding = find_row_padding(
            [
                RowProbe(compute=hidden, max_rows=max_rows, max_counts=_MAX_LAYER_COUNTS),
                RowProbe(compute=logits, max_rows=max_logit_rows, max_counts=_MAX_HEAD_COUNTS),
            ]
        )
        return self.row_padding

    def _forward(self, slices: Sequence[Slice], cache: KvCache, padding: RowPadding) -> torch.Tensor:
        batch, attention = self._prepared(slices, cache, padding)
        hidden = self.hidden(batch, cache, attention)
        if not batch.num_logit_rows:
            return hidden.new_empty((0, self.config.vocabulary_size), dtype=torch.float32)
        return self.logits(hidden[batch.logit_rows])[: batch.num_logit_rows].float()

    def _prepared(
        self, slices: Sequence[Slice], cache: KvCache, padding: RowPadding
    ) -> tuple[StepBatch, AttentionByParts]:
        batch = StepBatch.build(slices, cache, padding)
        return batch, AttentionByParts(slices, cache, self.config, num_padded_rows=batch.num_padded_rows)

    def _project(self, layer: int, name: ProjectionName, rows: torch.Tensor, batch: StepBatch) -> torch.Tensor:
        """Every product of every layer goes through here."""
        outputs = self.layers[layer].projection(name)(rows)
        if batch.adapter_rows:
            assert self.adapters is not None, "a slice names an adapter where none can be loaded"
            self.adapters.apply(layer, name, rows, outputs, batch)
        return outputs

    def _rotate(self, heads: torch.Tensor, layer: DecoderLayer, cosine: torch.Tensor, sine: torch.Tensor) -> None:
        """Rotate (and, where the family does, normalise) query and key heads in place; values stay."""
        config = self.config
        queries_keys = heads[:, : config.num_heads + config.num_kv_heads]
        if layer.query_norm is not None and layer.key_norm is not None:
            queries, keys = torch.split(queries_keys, [config.num_heads, config.num_kv_heads], dim=1)
            queries.copy_(self._normed(queries, layer.query_norm))
            keys.copy_(self._normed(keys, layer.key_norm))
        rotate_(queries_keys, cosine, sine)

    def _normed(self, rows: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return F.rms_norm(rows, (rows.shape[-1],), weight, self.config.norm_epsilon)


class _Unattended:
    """Stands for attention where products are measured: parts attend apart from each other in any case."""

    def attend(self, queries: torch.Tensor, layer: int) -> torch.Tensor:  # noqa: ARG002 - as the protocol says
        return queries.flatten(1)


def _cut(whole: Slice) -> list[Slice]:
    """The parts of a slice as slices of their own, each with the logits of its own rows."""
    parts: list[Slice] = []
    start, num_left = whole.start, len(whole.token_ids)
    for num_rows in attention_parts(whole):
        offset = start - whole.start
        num_left -= num_rows
        parts.append(
            replace(
                whole,
                start=start,
                token_ids=whole.token_ids[offset : offset + num_rows],
                num_logits=max(0, min(num_rows, whole.num_logits - num_left)),
            )
        )
        start += num_rows
    return parts


def _moved(
    weights: Mapping[str, torch.Tensor], prefix: str, device: torch.device, dtype: torch.dtype
) -> dict[str, torch.Tensor]:
    """The tensors under a prefix, on the model's device in its dtype."""
    return {name: tensor.to(device, dtype) for name, tensor in weights.items() if name.startswith(prefix)}
