"""The decoder: Llama, Qwen2 and Qwen3, for inference only, on rows of several sequences at once."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import torch
import torch.nn.functional as F  # noqa: N812 - its usual name

from inference_node.kv_cache import KvCache
from inference_node.model_config import ModelConfig
from inference_node.projection import Projection
from inference_node.rotary import RotaryTables, rotate_
from inference_node.row_padding import CANDIDATES, NO_PADDING, RowPadding, RowProbe, find_row_padding
from inference_node.step_batch import Slice, StepBatch


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DecoderLayer:
    """One block. q, k, v are one product, gate and up another: small steps are bound by how often weights are read."""

    input_norm: torch.Tensor
    qkv: Projection
    query_norm: torch.Tensor | None
    key_norm: torch.Tensor | None
    output: Projection
    inner_norm: torch.Tensor
    gate_up: Projection
    down: Projection

    @classmethod
    def of(cls, config: ModelConfig, weights: Mapping[str, torch.Tensor], layer: int) -> "DecoderLayer":
        """Take a layer's tensors by their Hugging Face names."""
        prefix = f"model.layers.{layer}."
        attention = prefix + "self_attn."

        def stacked(*names: str) -> torch.Tensor:
            return torch.cat([weights[name] for name in names])

        return cls(
            input_norm=weights[prefix + "input_layernorm.weight"],
            qkv=Projection.of(
                stacked(*(f"{attention}{name}_proj.weight" for name in "qkv")),
                stacked(*(f"{attention}{name}_proj.bias" for name in "qkv")) if config.has_qkv_bias else None,
            ),
            query_norm=weights[attention + "q_norm.weight"] if config.has_head_norms else None,
            key_norm=weights[attention + "k_norm.weight"] if config.has_head_norms else None,
            output=Projection.of(
                weights[attention + "o_proj.weight"],
                weights[attention + "o_proj.bias"] if config.has_output_bias else None,
            ),
            inner_norm=weights[prefix + "post_attention_layernorm.weight"],
            gate_up=Projection.of(stacked(prefix + "mlp.gate_proj.weight", prefix + "mlp.up_proj.weight")),
            down=Projection.of(weights[prefix + "mlp.down_proj.weight"]),
        )


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
        self._embedding = weights["model.embed_tokens.weight"].to(device=device, dtype=dtype)
        self._layers = [
            DecoderLayer.of(config, _moved(weights, f"model.layers.{layer}.", device, dtype), layer)
            for layer in range(config.num_layers)
        ]
        self._norm = weights["model.norm.weight"].to(device=device, dtype=dtype)
        head = self._embedding if config.has_tied_embeddings else weights["lm_head.weight"].to(device, dtype)
        self._head = Projection.of(head)
        self._rotary = RotaryTables.build(config, num_positions=context_tokens, dtype=dtype, device=device)
        self.row_padding: RowPadding | None = CANDIDATES[0]
        """How steps are padded; None: no padding makes rows agree, so each slice is computed alone."""

    @torch.inference_mode()
    def forward(self, slices: Sequence[Slice], cache: KvCache) -> torch.Tensor:
        """Run one step: store the slices' keys and values, and return logits for those that need them.

        Logits are float32 [slices that need logits, vocabulary], in the slices' order.
        """
        if self.row_padding is not None:
            return self._forward(slices, cache, self.row_padding)
        return torch.cat([self._forward([part], cache, NO_PADDING) for part in slices])

    @torch.inference_mode()
    def choose_row_padding(self, *, max_rows: int, max_logit_rows: int) -> RowPadding | None:
        """Measure, on one layer and on the head, what padding keeps rows independent, and use it from now on."""
        cache = KvCache(self.config, num_places=max_rows, context_tokens=1, dtype=self.dtype, device=self.device)
        with_one_layer = self._layers[:1]

        def hidden(inputs: range, padding: RowPadding) -> torch.Tensor:
            slices = [
                Slice(place=place, start=0, token_ids=[token % self.config.vocabulary_size], needs_logits=False)
                for place, token in enumerate(inputs)
            ]
            return self._hidden(self._batch(slices, cache, padding), cache, with_one_layer)[: len(inputs)]

        def logits(inputs: range, padding: RowPadding) -> torch.Tensor:
            rows = [*inputs, *[0] * (padding.padded(len(inputs)) - len(inputs))]
            token_ids = torch.tensor(rows, device=self.device) % self.config.vocabulary_size
            return self._logits(F.embedding(token_ids, self._embedding))[: len(inputs)]

        self.row_padding = find_row_padding(
            [
                RowProbe(compute=hidden, max_rows=max_rows),
                RowProbe(compute=logits, max_rows=max_logit_rows),
            ]
        )
        return self.row_padding

    def _forward(self, slices: Sequence[Slice], cache: KvCache, padding: RowPadding) -> torch.Tensor:
        batch = self._batch(slices, cache, padding)
        hidden = self._hidden(batch, cache, self._layers)
        if not batch.num_logit_rows:
            return hidden.new_empty((0, self.config.vocabulary_size), dtype=torch.float32)
        return self._logits(hidden[batch.logit_rows])[: batch.num_logit_rows].float()

    def _batch(self, slices: Sequence[Slice], cache: KvCache, padding: RowPadding) -> StepBatch:
        group = self.config.num_heads // self.config.num_kv_heads
        return StepBatch.build(slices, cache, padding, group=group, dtype=self.dtype)

    def _logits(self, hidden: torch.Tensor) -> torch.Tensor:
        return self._head(self._normed(hidden, self._norm))

    def _hidden(self, batch: StepBatch, cache: KvCache, layers: Sequence[DecoderLayer]) -> torch.Tensor:
        """The last layer's output for all padded rows; keys and values of the real rows are stored on the way."""
        config = self.config
        cosine = self._rotary.cosine[batch.positions].unsqueeze(1)
        sine = self._rotary.sine[batch.positions].unsqueeze(1)
        filler = self._embedding.new_zeros((batch.num_padded_rows - batch.num_rows, config.query_size))
        hidden = F.embedding(batch.token_ids, self._embedding)
        for index, layer in enumerate(layers):
            qkv = layer.qkv(self._normed(hidden, layer.input_norm))
            self._rotate(qkv, layer, cosine, sine)
            cache.layers[index].index_copy_(0, batch.cache_rows, qkv[: batch.num_rows, config.query_size :])
            hidden = hidden + layer.output(self._attend(qkv, batch, index, filler))
            gate, up = layer.gate_up(self._normed(hidden, layer.inner_norm)).chunk(2, dim=-1)
            hidden = hidden + layer.down(F.silu(gate) * up)
        return hidden

    def _rotate(self, qkv: torch.Tensor, layer: DecoderLayer, cosine: torch.Tensor, sine: torch.Tensor) -> None:
        """Rotate (and, where the family does, normalise) query and key heads in place."""
        config = self.config
        heads = qkv.view(len(qkv), -1, config.head_size)
        queries_keys = heads[:, : config.num_heads + config.num_kv_heads]
        if layer.query_norm is not None and layer.key_norm is not None:
            queries, keys = torch.split(queries_keys, [config.num_heads, config.num_kv_heads], dim=1)
            queries.copy_(self._normed(queries, layer.query_norm))
            keys.copy_(self._normed(keys, layer.key_norm))
        rotate_(queries_keys, cosine, sine)

    def _attend(self, qkv: torch.Tensor, batch: StepBatch, layer: int, filler: torch.Tensor) -> torch.Tensor:
        """Attention of each slice over its own sequence, one call each: no row sees another's length."""
        config = self.config
        queries = qkv.view(len(qkv), -1, config.head_size)[: batch.num_rows, : config.num_heads]
        queries = queries.view(batch.num_rows, config.num_kv_heads, -1, config.head_size)
        attended = [
            _attend_slice(part, *keys_values[layer], mask)
            for part, keys_values, mask in zip(
                torch.split(queries, list(batch.slice_rows)), batch.keys_values, batch.masks, strict=True
            )
        ]
        return torch.cat([*attended, filler]) if len(filler) or len(attended) > 1 else attended[0]

    def _normed(self, rows: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return F.rms_norm(rows, (rows.shape[-1],), weight, self.config.norm_epsilon)


def _attend_slice(
    queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, mask: torch.Tensor | None
) -> torch.Tensor:
    """[rows, kv heads, group, size] to [rows, query size].

    The query heads of one key head stand as rows of one problem, so that grouped attention needs no copies of keys.
    """
    num_rows, num_kv_heads, group, size = queries.shape
    stacked = queries.permute(1, 2, 0, 3).reshape(1, num_kv_heads, group * num_rows, size)
    attended = F.scaled_dot_product_attention(stacked, keys, values, attn_mask=mask)
    return attended.view(num_kv_heads, group, num_rows, size).permute(2, 0, 1, 3).reshape(num_rows, -1)


def _moved(
    weights: Mapping[str, torch.Tensor], prefix: str, device: torch.device, dtype: torch.dtype
) -> dict[str, torch.Tensor]:
    """The tensors under a prefix, on the model's device in its dtype."""
    return {name: tensor.to(device, dtype) for name, tensor in weights.items() if name.startswith(prefix)}


ForwardStep = Callable[[Sequence[Slice], KvCache], torch.Tensor]
"""`Decoder.forward`, as the step loop sees it."""
