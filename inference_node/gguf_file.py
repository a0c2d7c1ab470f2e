"""Reads a Llama-architecture GGUF file into Hugging Face's names, shapes and row order."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from gguf import GGUFReader
from gguf.quants import dequantize

from inference_node.errors import ModelFileError, UnsupportedModelError

_TOP_LEVEL_NAMES = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}
_BLOCK_NAMES = {
    "attn_norm.weight": "input_layernorm.weight",
    "attn_q.weight": "self_attn.q_proj.weight",
    "attn_k.weight": "self_attn.k_proj.weight",
    "attn_v.weight": "self_attn.v_proj.weight",
    "attn_output.weight": "self_attn.o_proj.weight",
    "ffn_norm.weight": "post_attention_layernorm.weight",
    "ffn_gate.weight": "mlp.gate_proj.weight",
    "ffn_up.weight": "mlp.up_proj.weight",
    "ffn_down.weight": "mlp.down_proj.weight",
}


class GgufFile:
    """One open GGUF file. Reading is lazy: tensors are dequantised one at a time, so that peak memory is one tensor."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._reader = GGUFReader(path)
        except (OSError, ValueError, IndexError, KeyError) as error:
            raise ModelFileError(path=str(path), reason=f"not a readable GGUF file: {error}") from error
        architecture = self.field("general.architecture")
        if architecture != "llama":
            raise UnsupportedModelError(setting="general.architecture", value=architecture, supported="llama")

    def field(self, name: str) -> Any:
        """The value of a metadata field, in Python's own types.

        Raises:
            ModelFileError: the file has no such field.
        """
        value = self.optional_field(name)
        if value is None:
            raise ModelFileError(path=str(self._path), reason=f"GGUF field {name} is missing")
        return value

    def optional_field(self, name: str) -> Any:
        """As `field`, or None where the file has none."""
        entry = self._reader.fields.get(name)
        return None if entry is None else entry.contents()

    def config(self) -> dict[str, Any]:
        """The model's `config.json`, in Hugging Face's names."""
        if self.optional_field("llama.rope.scaling.type") not in (None, "none"):
            raise UnsupportedModelError(
                setting="llama.rope.scaling.type", value=self.field("llama.rope.scaling.type"), supported="none"
            )
        num_heads = int(self.field("llama.attention.head_count"))
        hidden_size = int(self.field("llama.embedding_length"))
        # The epsilon and theta were stored as 32-bit floats; their shortest spelling is what the author wrote.
        epsilon = float(str(np.float32(self.field("llama.attention.layer_norm_rms_epsilon"))))
        theta = float(str(np.float32(self.field("llama.rope.freq_base"))))
        return {
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            "hidden_size": hidden_size,
            "intermediate_size": int(self.field("llama.feed_forward_length")),
            "num_hidden_layers": int(self.field("llama.block_count")),
            "num_attention_heads": num_heads,
            "num_key_value_heads": int(self.field("llama.attention.head_count_kv")),
            "head_dim": int(self.optional_field("llama.rope.dimension_count") or hidden_size // num_heads),
            "hidden_act": "silu",
            "max_position_embeddings": int(self.field("llama.context_length")),
            "rms_norm_eps": epsilon,
            "rope_theta": theta,
            "vocab_size": len(self.field("tokenizer.ggml.tokens")),
            "tie_word_embeddings": all(tensor.name != "output.weight" for tensor in self._reader.tensors),
            "attention_bias": False,
            "mlp_bias": False,
            "bos_token_id": self.optional_field("tokenizer.ggml.bos_token_id"),
            "eos_token_id": int(self.field("tokenizer.ggml.eos_token_id")),
            "torch_dtype": "bfloat16",
        }

    def tensors(self) -> Iterator[tuple[str, np.ndarray[Any, np.dtype[np.float32]]]]:
        """Every tensor as (Hugging Face name, float32 array [rows, columns] or [rows])."""
        num_heads = int(self.field("llama.attention.head_count"))
        num_kv_heads = int(self.field("llama.attention.head_count_kv"))
        for tensor in self._reader.tensors:
            name = _hugging_face_name(tensor.name)
            values = np.asarray(dequantize(tensor.data, tensor.tensor_type), dtype=np.float32)
            if name.endswith("q_proj.weight"):
                values = _undo_rope_interleaving(values, num_heads)
            elif name.endswith("k_proj.weight"):
                values = _undo_rope_interleaving(values, num_kv_heads)
            yield name, values


def _hugging_face_name(gguf_name: str) -> str:
    if gguf_name in _TOP_LEVEL_NAMES:
        return _TOP_LEVEL_NAMES[gguf_name]
    prefix, _, rest = gguf_name.partition(".")
    layer, _, suffix = rest.partition(".")
    if prefix == "blk" and layer.isdecimal() and suffix in _BLOCK_NAMES:
        return f"model.layers.{layer}.{_BLOCK_NAMES[suffix]}"
    raise UnsupportedModelError(
        setting="tensor", value=gguf_name, supported="the tensors of a Llama decoder without biases"
    )


def _undo_rope_interleaving(
    rows: np.ndarray[Any, np.dtype[np.float32]], num_heads: int
) -> np.ndarray[Any, np.dtype[np.float32]]:
    """GGUF pairs the two halves of each head row by row for its rotation; ours rotates halves, as Hugging Face's."""
    num_rows, num_columns = rows.shape
    paired = rows.reshape(num_heads, num_rows // num_heads // 2, 2, num_columns)
    return np.ascontiguousarray(paired.swapaxes(1, 2).reshape(num_rows, num_columns))
