"""An adapter is read whole and as it was meant, or refused by what is wrong with it."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load, save, save_file

from inference_node.adapters.adapter_file import LoraAdapter, adapter_digest, module_name, read_adapter
from inference_node.adapters.errors import (
    AdapterDigestError,
    AdapterError,
    AdapterFileError,
    AdapterMismatchError,
    UnsupportedAdapterError,
)
from inference_node.adapters.lora_config import read_lora_config
from inference_node.adapters.packing import main, pack_adapter
from inference_node.model_config import ModelConfig
from inference_node.snapshots.model_digest import model_digest
from tests.inference_node.adapters.adapter_worlds import BASE, base_of, lora_members, lora_tensors, new_adapter

TINY = ModelConfig(
    family="llama",
    hidden_size=8,
    intermediate_size=12,
    num_layers=2,
    num_heads=2,
    num_kv_heads=1,
    head_size=4,
    vocabulary_size=32,
    context_tokens=64,
    norm_epsilon=1e-5,
    rope_theta=1e4,
    rope_scaling=None,
    has_tied_embeddings=True,
    has_qkv_bias=False,
    has_output_bias=False,
    has_head_norms=False,
)
DIGEST, BODY = new_adapter(TINY)


def read(digest: str, body: bytes, *, base: ModelConfig = TINY, base_digest: str = BASE) -> LoraAdapter:
    return read_adapter(body, base, digest=digest, base_digest=base_digest, max_rank=16)


def file_of(tensors: dict[str, torch.Tensor], **changes: Any) -> bytes:
    return save(tensors, metadata={"adapter_config": json.dumps(lora_members(**changes)), "base_digest": BASE})


def test_an_ordinary_adapter_is_read() -> None:
    adapter = read(DIGEST, BODY)
    assert adapter.config.rank == 4
    assert adapter.config.scale == 2.0
    shrink, expand = adapter.pair(1, "k_proj")
    assert (shrink.shape, expand.shape) == ((4, 8), (4, 4))


def test_a_rank_stabilised_scale_is_by_the_root_of_the_rank() -> None:
    assert read(*new_adapter(TINY, use_rslora=True, r=16, lora_alpha=8)).config.scale == 2.0


def test_the_digest_is_of_the_function_and_not_of_the_file() -> None:
    config = read_lora_config(lora_members(), max_rank=16)
    reordered = lora_members(target_modules=list(reversed(lora_members()["target_modules"])), lora_alpha=8.0)
    same = read_lora_config(reordered | {"lora_dropout": 0.9, "peft_version": "1"}, max_rank=16)
    tensors = lora_tensors(TINY, config)
    assert adapter_digest(same, tensors, BASE) == adapter_digest(config, tensors, BASE) == DIGEST

    louder = read_lora_config(lora_members(lora_alpha=9), max_rank=16)
    other = tensors | {f"{module_name(0, 'q_proj')}.lora_A.weight": torch.zeros(4, 8)}
    digests = {
        DIGEST,
        adapter_digest(louder, tensors, BASE),
        adapter_digest(config, other, BASE),
        adapter_digest(config, tensors, "sha256:" + "c" * 64),
        adapter_digest(config, {name: tensor.bfloat16() for name, tensor in tensors.items()}, BASE),
    }
    assert len(digests) == 5


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("peft_type", "IA3"),
        ("task_type", "SEQ_CLS"),
        ("bias", "all"),
        ("lora_bias", True),
        ("use_dora", True),
        ("use_dora", 1),
        ("fan_in_fan_out", True),
        ("modules_to_save", ["lm_head"]),
        ("layers_to_transform", [0]),
        ("layers_pattern", "layers"),
        ("rank_pattern", {"q_proj": 2}),
        ("alpha_pattern", {"q_proj": 2}),
        ("init_lora_weights", "pissa"),
        ("init_lora_weights", "pissa_niter_16"),
        ("layer_replication", [[0, 1]]),
        ("trainable_token_indices", [1]),
        ("an_option_of_the_future", False),
        ("r", 17),
        ("target_modules", "all-linear"),
        ("target_modules", []),
        ("target_modules", ["q_proj", "lm_head"]),
        ("target_modules", ["q_proj", {}]),
    ],
)
def test_what_would_make_it_another_function_is_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(UnsupportedAdapterError) as refused:
        read_lora_config(lora_members(**{name: value}), max_rank=16)
    assert refused.value.setting == name


@pytest.mark.parametrize(
    ("name", "value"),
    [("r", 0), ("r", True), ("r", 1.0), ("r", None), ("lora_alpha", "8"), ("lora_alpha", 1e7), ("lora_alpha", 10**400),
     ("use_rslora", "yes")],
)  # fmt: skip
def test_a_member_without_sense_is_refused(name: str, value: object) -> None:
    with pytest.raises(AdapterFileError, match=name):
        read_lora_config(lora_members(**{name: value}), max_rank=16)


def test_options_that_are_off_are_taken_in_any_spelling() -> None:
    off = lora_members(use_dora=None, modules_to_save=[], rank_pattern=None, an_option_of_the_future=None)
    assert read_lora_config(off, max_rank=16) == read_lora_config(lora_members(), max_rank=16)


def test_an_adapter_for_another_base_is_refused() -> None:
    with pytest.raises(AdapterMismatchError, match="base's digest"):
        read(DIGEST, BODY, base_digest="sha256:" + "c" * 64)
    with pytest.raises(AdapterMismatchError, match="missing"):
        read(DIGEST, save(load(BODY), metadata={"adapter_config": json.dumps(lora_members())}))


def test_an_adapter_of_another_shape_is_refused() -> None:
    tensors = load(BODY)
    name = f"{module_name(1, 'down_proj')}.lora_A.weight"
    with pytest.raises(AdapterMismatchError, match=name):
        read(DIGEST, file_of(tensors | {name: torch.zeros(4, 8)}))


def test_content_under_another_digest_is_refused() -> None:
    with pytest.raises(AdapterDigestError):
        read("sha256:" + "0" * 64, BODY)
    with pytest.raises(AdapterDigestError):
        read(DIGEST, file_of(load(BODY), lora_alpha=9))


def test_a_missing_tensor_is_named() -> None:
    tensors = load(BODY)
    name = sorted(tensors)[3]
    with pytest.raises(AdapterFileError, match=name):
        read(DIGEST, file_of({other: tensor for other, tensor in tensors.items() if other != name}))


@pytest.mark.parametrize("surplus", ["base_model.model.lm_head.weight", f"{module_name(2, 'q_proj')}.lora_A.weight"])
def test_a_surplus_tensor_is_refused_by_name(surplus: str) -> None:
    with pytest.raises(UnsupportedAdapterError, match=surplus):
        read(DIGEST, file_of(load(BODY) | {surplus: torch.zeros(4, 8)}))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_values_that_are_not_finite_are_refused(value: float) -> None:
    tensors = load(BODY)
    tensors[sorted(tensors)[5]][0, 0] = value
    with pytest.raises(AdapterFileError, match="not finite"):
        read(DIGEST, file_of(tensors))


def test_a_dtype_that_is_no_floating_one_is_refused() -> None:
    tensors = load(BODY)
    name = min(tensors)
    with pytest.raises(UnsupportedAdapterError, match="dtype"):
        read(DIGEST, file_of(tensors | {name: tensors[name].to(torch.int8)}))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\x00",
        b"\xff" * 64,
        (2).to_bytes(8, "little") + b"{}",
        (2).to_bytes(8, "little") + b"[]",
        (20).to_bytes(8, "little") + b'{"__metadata__":[1]}',
        (100_000).to_bytes(8, "little") + b"[" * 100_000,
        save({}, metadata={"base_digest": BASE}),
        save({}, metadata={"base_digest": BASE, "adapter_config": "["}),
        save({}, metadata={"base_digest": BASE, "adapter_config": "[]"}),
        BODY[:-1],
        BODY + b"\x00",
    ],
    ids=range(12),
)
def test_what_is_no_adapter_is_refused(body: bytes) -> None:
    with pytest.raises(AdapterError):
        read(DIGEST, body)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_no_changed_byte_goes_unnoticed(data: st.DataObject) -> None:
    """Spaces at the header's end are no part of what is read; everything else is."""
    place = data.draw(st.integers(0, len(BODY) - 1))
    changed = bytearray(BODY)
    changed[place] ^= data.draw(st.integers(1, 255))
    try:
        adapter = read(DIGEST, bytes(changed))
    except AdapterError:
        return
    assert adapter.config == read(DIGEST, BODY).config
    assert all(torch.equal(tensor, load(BODY)[name]) for name, tensor in adapter.tensors.items())


def test_a_peft_directory_is_packed_for_its_base(tiny_directory: Path, tmp_path: Path, capsys: Any) -> None:
    base, members = base_of(tiny_directory), lora_members()
    tensors = lora_tensors(base, read_lora_config(members, max_rank=16))
    (tmp_path / "adapter_config.json").write_text(json.dumps(members))
    save_file(tensors, tmp_path / "adapter_model.safetensors")

    assert main([str(tmp_path), str(tiny_directory), str(tmp_path / "out")]) == 0

    digest = capsys.readouterr().out.strip()
    body = (tmp_path / "out").read_bytes()
    adapter = read(digest, body, base=base, base_digest=model_digest(tiny_directory))
    assert torch.equal(adapter.pair(0, "q_proj")[0], tensors[f"{module_name(0, 'q_proj')}.lora_A.weight"])


def test_a_directory_that_is_no_adapter_is_not_packed(tmp_path: Path, capsys: Any) -> None:
    with pytest.raises(AdapterFileError, match="no readable"):
        pack_adapter(tmp_path, base_digest=BASE)
    assert main([str(tmp_path), str(tmp_path), str(tmp_path / "out")]) == 1
    assert "no readable" in capsys.readouterr().err
    assert main([]) == 2
