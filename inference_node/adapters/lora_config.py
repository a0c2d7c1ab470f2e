"""What an adapter's configuration says, in PEFT's words; what would make it another function is refused by name."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite, sqrt
from typing import Any, Final

from inference_node.adapters.errors import AdapterFileError, UnsupportedAdapterError

ATTENTION_MODULES: Final = ("q_proj", "k_proj", "v_proj", "o_proj")
MLP_MODULES: Final = ("gate_proj", "up_proj", "down_proj")
MODULES: Final = (*ATTENTION_MODULES, *MLP_MODULES)

_READ: Final = {"peft_type", "task_type", "r", "lora_alpha", "target_modules", "use_rslora", "init_lora_weights"}

_WITHOUT_EFFECT: Final = {
    "auto_mapping", "base_model_name_or_path", "revision", "inference_mode", "lora_dropout", "peft_version",
    "runtime_config", "megatron_core", "qalora_group_size", "ensure_weight_tying",
}  # fmt: skip
"""About training, about where the base came from (which is judged by its digest), or parts of options that are off."""

_NEUTRAL: Final[Mapping[str, tuple[object, ...]]] = {
    "bias": ("none",),
    "fan_in_fan_out": (False,),
    "use_dora": (False,),
    "lora_bias": (False,),
    "use_qalora": (False,),
    "use_bdlora": (False,),
    "rank_pattern": ({},),
    "alpha_pattern": ({},),
    "loftq_config": ({},),
    "modules_to_save": ([],),
    "layers_pattern": ([],),
    "exclude_modules": ([],),
    "target_parameters": ([],),
}
"""Options that change the function, with the values (besides null) that switch them off. Any other name has to be null:
an option that a later PEFT has is not one that may be left out."""

_INITIAL_ALONE: Final = (True, False, "gaussian", "orthogonal", "eva")
"""Ways to begin that leave the base as it was. Others (`pissa`, `olora`, `corda`, `loftq`) train a changed one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoraConfig:
    """`W + scale * B A` for each of the target modules in every layer."""

    rank: int
    alpha: float
    is_rank_stabilised: bool
    """`use_rslora`: the scale is alpha by the root of the rank."""
    target_modules: tuple[str, ...]
    """In the order of `MODULES`."""

    @property
    def scale(self) -> float:
        """What the product is multiplied by."""
        return self.alpha / (sqrt(self.rank) if self.is_rank_stabilised else self.rank)

    def canonical(self) -> str:
        """The same text for the same function, whoever wrote the file."""
        members = {
            "lora_alpha": self.alpha,
            "r": self.rank,
            "target_modules": list(self.target_modules),
            "use_rslora": self.is_rank_stabilised,
        }
        return json.dumps(members, sort_keys=True, separators=(",", ":"))


def read_lora_config(members: Mapping[str, Any], *, max_rank: int) -> LoraConfig:
    """Read the members of `adapter_config.json`.

    Raises:
        AdapterFileError: a member is missing or has no sense.
        UnsupportedAdapterError: it asks for what is not implemented, or for a rank above `max_rank`.
    """
    if members.get("peft_type") != "LORA":
        raise UnsupportedAdapterError(setting="peft_type", value=members.get("peft_type"), supported="LORA")
    if members.get("task_type") not in (None, "CAUSAL_LM"):
        raise UnsupportedAdapterError(setting="task_type", value=members["task_type"], supported="CAUSAL_LM")
    for name, value in members.items():
        if name not in _READ and name not in _WITHOUT_EFFECT:
            _refuse_unless_off(name, value)
    begun = members.get("init_lora_weights")
    if begun is not None and not any(begun is known or begun == known for known in _INITIAL_ALONE):
        raise UnsupportedAdapterError(
            setting="init_lora_weights", value=begun, supported="those that leave the base unchanged"
        )
    return LoraConfig(
        rank=_rank(members.get("r"), max_rank),
        alpha=_alpha(members.get("lora_alpha")),
        is_rank_stabilised=_flag("use_rslora", members.get("use_rslora", False)),
        target_modules=_target_modules(members.get("target_modules")),
    )


def _refuse_unless_off(name: str, value: object) -> None:
    off = _NEUTRAL.get(name, ())
    # `False == 0`, and a number is no switch.
    if value is None or any(type(value) is type(neutral) and value == neutral for neutral in off):
        return
    raise UnsupportedAdapterError(
        setting=name, value=value, supported=" or ".join([*(json.dumps(neutral) for neutral in off), "null"])
    )


def _rank(value: object, max_rank: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise AdapterFileError(reason=f"r is {value!r:.100}, not a rank")
    if value > max_rank:
        raise UnsupportedAdapterError(setting="r", value=value, supported=f"up to {max_rank}")
    return value


def _alpha(value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or abs(value) > 1e6 or not isfinite(value):
        raise AdapterFileError(reason=f"lora_alpha is {value!r:.100}, not a number up to a million")
    return float(value)


def _flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise AdapterFileError(reason=f"{name} is {value!r:.100}, not true or false")
    return value


def _target_modules(value: object) -> tuple[str, ...]:
    """A text would be a pattern over module names, which is PEFT's to read."""
    if not isinstance(value, list) or not value:
        raise UnsupportedAdapterError(
            setting="target_modules", value=value, supported=f"a list of {', '.join(MODULES)}"
        )
    for name in value:
        if name not in MODULES:
            raise UnsupportedAdapterError(setting="target_modules", value=name, supported=", ".join(MODULES))
    return tuple(name for name in MODULES if name in value)
