"""Reads a GGUF file of a Llama, Qwen2 or Qwen3 decoder into Hugging Face's names, shapes and row order."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
from gguf import GGUFReader
from gguf.quants import dequantize

from inference_node.errors import ModelFileError, UnsupportedModelError

_CLASSES: Final = {"llama": "LlamaForCausalLM", "qwen2": "Qwen2ForCausalLM", "qwen3": "Qwen3ForCausalLM"}

_TOP_LEVEL_NAMES: Final = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}
_BLOCK_NAMES: Final = {
    "attn_norm.weight": "input_layernorm.weight",
    "attn_q.weight": "self_attn.q_proj.weight",
    "attn_k.weight": "self_attn.k_proj.weight",
    "attn_v.weight": "self_attn.v_proj.weight",
    "attn_output.weight": "self_attn.o_proj.weight",
    "attn_q.bias": "self_attn.q_proj.bias",
    "attn_k.bias": "self_attn.k_proj.bias",
    "attn_v.bias": "self_attn.v_proj.bias",
    "attn_output.bias": "self_attn.o_proj.bias",
    "attn_q_norm.weight": "self_attn.q_norm.weight",
    "attn_k_norm.weight": "self_attn.k_norm.weight",
    "ffn_norm.weight": "post_attention_layernorm.weight",
    "ffn_gate.weight": "mlp.gate_proj.weight",
    "ffn_up.weight": "mlp.up_proj.weight",
    "ffn_down.weight": "mlp.down_proj.weight",
}


class GgufFile:
    """One open GGUF file. Reading is lazy: tensors are dequantised one at a time, so that peak memory is one tensor."""

    def __init__(self, path: Path) -> None:
        self.path: Final = path
        try:
            self._reader = GGUFReader(path)
        except (OSError, ValueError, IndexError, KeyError) as error:
            raise ModelFileError(path=str(path), reason=f"not a readable GGUF file: {error}") from error
        self.architecture: Final[str] = self.field("general.architecture")
        if self.architecture not in _CLASSES:
            raise UnsupportedModelError(
                setting="general.architecture", value=self.architecture, supported=", ".join(_CLASSES)
            )

    def field(self, name: str) -> Any:
        """The value of a metadata field, in Python's own types.

        Raises:
            ModelFileError: the file has no such field.
        """
        value = self.optional_field(name)
        if value is None:
            raise ModelFileError(path=str(self.path), reason=f"GGUF field {name} is missing")
        return value

    def optional_field(self, name: str) -> Any:
        """As `field`, or None where the file has none."""
        entry = self._reader.fields.get(name)
        return None if entry is None else entry.contents()

    @property
    def context_tokens(self) -> int:
        """What the model was made for."""
        return int(self._own("context_length"))

    def config(self) -> dict[str, Any]:
        """The model's `config.json`, in Hugging Face's names."""
        self._refuse_unimplemented()
        num_heads = int(self._own("attention.head_count"))
        hidden_size = int(self._own("embedding_length"))
        # The epsilon and theta were stored as 32-bit floats; their shortest spelling is what the author wrote.
        epsilon = float(str(np.float32(self._own("attention.layer_norm_rms_epsilon"))))
        theta = float(str(np.float32(self._own("rope.freq_base"))))
        shapes = {tensor.name: [int(size) for size in tensor.shape] for tensor in self._reader.tensors}
        if "token_embd.weight" not in shapes:
            raise ModelFileError(path=str(self.path), reason="tensor token_embd.weight is missing")
        return {
            "architectures": [_CLASSES[self.architecture]],
            "model_type": self.architecture,
            "hidden_size": hidden_size,
            "intermediate_size": int(self._own("feed_forward_length")),
            "num_hidden_layers": int(self._own("block_count")),
            "num_attention_heads": num_heads,
            "num_key_value_heads": int(self._own("attention.head_count_kv")),
            "head_dim": int(self._head_size() or hidden_size // num_heads),
            "hidden_act": "silu",
            "max_position_embeddings": self.context_tokens,
            "rms_norm_eps": epsilon,
            "rope_theta": theta,
            "vocab_size": shapes["token_embd.weight"][1],
            "tie_word_embeddings": "output.weight" not in shapes,
            "attention_bias": "blk.0.attn_q.bias" in shapes,
            "mlp_bias": False,
            "bos_token_id": self.optional_field("tokenizer.ggml.bos_token_id"),
            "eos_token_id": int(self.field("tokenizer.ggml.eos_token_id")),
            "torch_dtype": "bfloat16",
        }

    def tensors(self) -> Iterator[tuple[str, np.ndarray[Any, np.dtype[np.float32]]]]:
        """Every tensor as (Hugging Face name, float32 array [rows, columns] or [rows])."""
        num_heads = {
            "q_proj": int(self._own("attention.head_count")),
            "k_proj": int(self._own("attention.head_count_kv")),
        }
        for tensor in self._reader.tensors:
            name = _hugging_face_name(tensor.name)
            values = np.asarray(dequantize(tensor.data, tensor.tensor_type), dtype=np.float32)
            projection = name.split(".")[-2]
            # Only Llama's rows are stored in pairs; the other families' rotation has halves there too.
            if self.architecture == "llama" and projection in num_heads:
                values = _undo_rope_interleaving(values, num_heads[projection])
            yield name, values

    def _own(self, name: str) -> Any:
        """A field of the file's architecture."""
        return self.field(f"{self.architecture}.{name}")

    def _head_size(self) -> int | None:
        sizes = [
            self.optional_field(f"{self.architecture}.{name}")
            for name in ("attention.key_length", "attention.value_length", "rope.dimension_count")
        ]
        told = {int(size) for size in sizes if size is not None}
        if len(told) > 1:
            raise UnsupportedModelError(
                setting="head size", value=sorted(told), supported="one size for keys, values and rotation"
            )
        return next(iter(told), None)

    def _refuse_unimplemented(self) -> None:
        for name, neutral in (("rope.scaling.type", "none"), ("attention.sliding_window", 0), ("expert_count", 0)):
            setting = f"{self.architecture}.{name}"
            value = self.optional_field(setting)
            if value not in (None, neutral):
                raise UnsupportedModelError(setting=setting, value=value, supported=str(neutral))


def _hugging_face_name(gguf_name: str) -> str:
    if gguf_name in _TOP_LEVEL_NAMES:
        return _TOP_LEVEL_NAMES[gguf_name]
    prefix, _, rest = gguf_name.partition(".")
    layer, _, suffix = rest.partition(".")
    if prefix == "blk" and layer.isdecimal() and suffix in _BLOCK_NAMES:
        return f"model.layers.{layer}.{_BLOCK_NAMES[suffix]}"
    raise UnsupportedModelError(
        setting="tensor", value=gguf_name, supported="the tensors of a Llama, Qwen2 or Qwen3 decoder"
    )


def _undo_rope_interleaving(
    rows: np.ndarray[Any, np.dtype[np.float32]], num_heads: int
) -> np.ndarray[Any, np.dtype[np.float32]]:
    """GGUF pairs the two halves of each head row by row for its rotation; ours rotates halves, as Hugging Face's."""
    paired = rows.reshape(num_heads, len(rows) // num_heads // 2, 2, *rows.shape[1:])
    return np.ascontiguousarray(paired.swapaxes(1, 2).reshape(rows.shape))
