"""What a model directory's `config.json` says, reduced to what our decoder needs; anything else is refused by name."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from inference_node.errors import ModelFileError, UnsupportedModelError

_FAMILIES: Final = ("llama", "qwen2", "qwen3")


@dataclass(frozen=True, slots=True, kw_only=True)
class Llama3Scaling:
    """Llama 3.1's stretching of slow rotations (`rope_type: llama3`)."""

    factor: float
    low_freq_factor: float
    high_freq_factor: float
    original_context_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelConfig:
    """A decoder of the Llama family: pre-norm, rotary, grouped-query attention, SwiGLU."""

    family: str
    hidden_size: int
    intermediate_size: int
    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_size: int
    vocabulary_size: int
    context_tokens: int
    norm_epsilon: float
    rope_theta: float
    rope_scaling: Llama3Scaling | None
    has_tied_embeddings: bool
    has_qkv_bias: bool
    has_output_bias: bool
    has_head_norms: bool
    """Qwen3 normalises each head of q and k before it is rotated."""

    @property
    def query_size(self) -> int:
        """Width of all query heads side by side."""
        return self.num_heads * self.head_size

    @property
    def kv_size(self) -> int:
        """Width of all key heads side by side, and of all value heads."""
        return self.num_kv_heads * self.head_size


def read_model_config(directory: Path) -> ModelConfig:
    """Read `config.json`.

    Raises:
        ModelFileError: missing, not JSON, or without a member that has no default.
        UnsupportedModelError: it asks for what this engine does not implement.
    """
    path = directory / "config.json"
    try:
        raw = json.loads(path.read_bytes())  # noqa: TID251 - the operator's own model file, not a caller's text
        if not isinstance(raw, dict):
            raise TypeError("not a JSON object")
        return _model_config(raw)
    except (OSError, ValueError, TypeError) as error:
        raise ModelFileError(path=str(path), reason=str(error)) from error
    except KeyError as error:
        raise ModelFileError(path=str(path), reason=f"member {error} is missing") from error


def _model_config(raw: Mapping[str, Any]) -> ModelConfig:
    family = raw.get("model_type")
    if family not in _FAMILIES:
        raise UnsupportedModelError(setting="model_type", value=family, supported=", ".join(_FAMILIES))
    _refuse_unimplemented(raw)
    num_heads = int(raw["num_attention_heads"])
    num_kv_heads = int(raw.get("num_key_value_heads") or num_heads)
    hidden_size = int(raw["hidden_size"])
    head_size = int(raw.get("head_dim") or hidden_size // num_heads)
    if num_kv_heads < 1 or num_heads % num_kv_heads:
        raise UnsupportedModelError(
            setting="num_key_value_heads", value=num_kv_heads, supported=f"a divisor of {num_heads}"
        )
    if head_size % 2:
        raise UnsupportedModelError(setting="head_dim", value=head_size, supported="an even number")
    has_bias = bool(raw.get("attention_bias", family == "qwen2"))
    return ModelConfig(
        family=str(family),
        hidden_size=hidden_size,
        intermediate_size=int(raw["intermediate_size"]),
        num_layers=int(raw["num_hidden_layers"]),
        num_heads=num_heads,
        num_kv_heads=num_kv_heads,
        head_size=head_size,
        vocabulary_size=int(raw["vocab_size"]),
        context_tokens=int(raw["max_position_embeddings"]),
        norm_epsilon=float(raw.get("rms_norm_eps", 1e-6)),
        rope_theta=_rope_theta(raw),
        rope_scaling=_rope_scaling(raw),
        has_tied_embeddings=bool(raw.get("tie_word_embeddings", False)),
        has_qkv_bias=family == "qwen2" or has_bias,
        has_output_bias=family != "qwen2" and has_bias,
        has_head_norms=family == "qwen3",
    )


def _refuse_unimplemented(raw: Mapping[str, Any]) -> None:
    """Settings that change the arithmetic and that we do not have: a model run without them would be another model."""
    if raw.get("hidden_act", "silu") != "silu":
        raise UnsupportedModelError(setting="hidden_act", value=raw["hidden_act"], supported="silu")
    if raw.get("mlp_bias"):
        raise UnsupportedModelError(setting="mlp_bias", value=raw["mlp_bias"], supported="false")
    if raw.get("use_sliding_window"):
        raise UnsupportedModelError(setting="use_sliding_window", value=True, supported="false")
    if raw["model_type"] == "llama" and raw.get("sliding_window") is not None:
        raise UnsupportedModelError(setting="sliding_window", value=raw["sliding_window"], supported="null")
    kinds = set(raw.get("layer_types") or ()) - {"full_attention"}
    if kinds:
        raise UnsupportedModelError(setting="layer_types", value=sorted(kinds), supported="full_attention")
    if raw.get("quantization_config"):
        raise UnsupportedModelError(setting="quantization_config", value="set", supported="unquantised weights")
    if raw.get("partial_rotary_factor", 1.0) != 1.0:
        raise UnsupportedModelError(
            setting="partial_rotary_factor", value=raw["partial_rotary_factor"], supported="1.0"
        )


def _rope_parameters(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """Newer files say `rope_parameters`, older ones `rope_scaling`; null is no scaling."""
    parameters = raw.get("rope_parameters") or raw.get("rope_scaling") or {}
    if not isinstance(parameters, dict):
        raise TypeError("rope_parameters is not an object")
    return parameters


def _rope_theta(raw: Mapping[str, Any]) -> float:
    return float(_rope_parameters(raw).get("rope_theta") or raw.get("rope_theta") or 10_000.0)


def _rope_scaling(raw: Mapping[str, Any]) -> Llama3Scaling | None:
    parameters = _rope_parameters(raw)
    if parameters.get("partial_rotary_factor", 1.0) != 1.0:
        raise UnsupportedModelError(
            setting="partial_rotary_factor", value=parameters["partial_rotary_factor"], supported="1.0"
        )
    kind = parameters.get("rope_type", parameters.get("type", "default"))
    if kind == "default":
        return None
    if kind != "llama3":
        raise UnsupportedModelError(setting="rope_type", value=kind, supported="default, llama3")
    return Llama3Scaling(
        factor=float(parameters["factor"]),
        low_freq_factor=float(parameters["low_freq_factor"]),
        high_freq_factor=float(parameters["high_freq_factor"]),
        original_context_tokens=int(parameters["original_max_position_embeddings"]),
    )
