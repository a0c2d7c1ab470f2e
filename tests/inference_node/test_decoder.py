import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from inference_node.decoder import Decoder
from inference_node.errors import ModelFileError, UnsupportedModelError
from inference_node.model_config import read_model_config
from inference_node.model_weights import read_weights
from inference_node.slices import BLOCK_TOKENS, Slice
from tests.inference_node.model_worlds import load_decoder, new_cache, tiny_config, write_model

LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}
FAMILIES = {
    "llama": tiny_config(),
    "llama untied": tiny_config(tie_word_embeddings=False),
    "llama with biases": tiny_config(attention_bias=True),
    "llama with stretched rotations": tiny_config(rope_scaling=LLAMA3),
    "llama with new rope names": tiny_config(rope_parameters={"rope_theta": 5000.0, "rope_type": "default"}),
    "qwen2": tiny_config(model_type="qwen2", architectures=["Qwen2ForCausalLM"]),
    "qwen3": tiny_config(model_type="qwen3", architectures=["Qwen3ForCausalLM"], head_dim=32),
}


PLACE_BLOCKS = 512 // BLOCK_TOKENS


def whole(place: int, ids: list[int], *, start: int = 0, num_logits: int = 1) -> Slice:
    """Blocks of 512 tokens' room: the place's own. Positions from 0 are a prompt, later ones come one by one."""
    blocks = range(place * PLACE_BLOCKS, (place + 1) * PLACE_BLOCKS)
    num_prompt_tokens = start or len(ids)
    return Slice(blocks=blocks, start=start, token_ids=ids, num_prompt_tokens=num_prompt_tokens, num_logits=num_logits)


def random_ids(count: int, seed: int = 0) -> list[int]:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, 49152, (count,), generator=generator).tolist()


@pytest.mark.parametrize("family", FAMILIES)
def test_logits_agree_with_the_reference_implementation(family: str, model_directory: Path, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    directory = write_model(tmp_path / "model", model_directory, FAMILIES[family])
    peer = transformers.AutoModelForCausalLM.from_pretrained(directory, dtype=torch.float32)
    ids = random_ids(100)
    with torch.inference_mode():
        expected = peer(torch.tensor([ids])).logits[0]
    decoder = load_decoder(directory)
    cache = new_cache(decoder)
    actual = [decoder.forward([whole(0, ids[:70])], cache)[0]]
    actual += [decoder.forward([whole(0, [ids[at]], start=at)], cache)[0] for at in range(70, 100)]
    torch.testing.assert_close(torch.stack(actual), expected[69:], atol=2e-4, rtol=2e-4)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_sequence_is_bitwise_the_same_in_any_company(model_directory: Path, dtype: torch.dtype) -> None:
    decoder = load_decoder(model_directory, dtype=dtype)
    prompts = [random_ids(20 + 31 * place, seed=place) for place in range(8)]
    alone, mixed = new_cache(decoder), new_cache(decoder, num_blocks=9 * PLACE_BLOCKS)
    expected = [decoder.forward([whole(place, prompt)], alone)[0] for place, prompt in enumerate(prompts)]
    # Prompts in pairs, in other places, then single tokens in companies of every size, beside a forced run.
    for pair in range(0, 8, 2):
        logits = decoder.forward([whole((place + 3) % 8, prompts[place]) for place in (pair + 1, pair)], mixed)
        assert torch.equal(logits[1], expected[pair])
        assert torch.equal(logits[0], expected[pair + 1])
    for company in ([0], [3, 1], [2, 0, 5], [7, 6, 5, 4, 3, 2, 1, 0]):
        steps = [whole(place, [11 + place], start=len(prompts[place])) for place in company]
        single = [decoder.forward([step], alone)[0] for step in steps]
        moved = [
            whole((place + 3) % 8, list(step.token_ids), start=step.start)
            for place, step in zip(company, steps, strict=True)
        ]
        run = whole(8, random_ids(9, seed=99), num_logits=0)
        together = decoder.forward([*moved, run], mixed)
        for row, logits in zip(together, single, strict=True):
            assert torch.equal(row, logits)


def test_where_no_padding_helps_slices_are_computed_one_by_one(tiny_decoder: Decoder, tiny_directory: Path) -> None:
    lone = load_decoder(tiny_directory)
    lone.row_padding = None
    cache = new_cache(lone)
    slices = [whole(place, random_ids(5 + place, seed=place)) for place in range(3)]
    together = lone.forward(slices, cache)
    for part, row in zip(slices, together, strict=True):
        torch.testing.assert_close(row, tiny_decoder.forward([part], new_cache(tiny_decoder))[0])


def test_a_step_without_logits_returns_none_of_them(tiny_decoder: Decoder) -> None:
    part = whole(0, [1, 2, 3], num_logits=0)
    assert tiny_decoder.forward([part], new_cache(tiny_decoder)).shape == (0, 49152)


def test_weights_in_several_files_behind_an_index_are_read(model_directory: Path, tmp_path: Path) -> None:
    directory = write_model(tmp_path / "model", model_directory, tiny_config())
    expected = load_decoder(directory).forward([whole(0, [1, 2, 3])], new_cache(load_decoder(directory)))
    weights = load_file(directory / "model.safetensors")
    names = sorted(weights)
    shards = {"a.safetensors": names[:5], "b.safetensors": names[5:]}
    for file, members in shards.items():
        save_file({name: weights[name] for name in members}, directory / file)
    index = {"weight_map": {name: file for file, members in shards.items() for name in members}}
    (directory / "model.safetensors.index.json").write_text(json.dumps(index))
    (directory / "model.safetensors").unlink()
    sharded = load_decoder(directory)
    assert torch.equal(sharded.forward([whole(0, [1, 2, 3])], new_cache(sharded)), expected)


def test_an_index_cannot_lead_out_of_its_directory(model_directory: Path, tmp_path: Path) -> None:
    directory = write_model(tmp_path / "model", model_directory, tiny_config())
    index = {"weight_map": {"model.norm.weight": "../elsewhere.safetensors"}}
    (directory / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(ModelFileError, match="not in its directory"):
        read_weights(directory, read_model_config(directory))


def test_a_file_cut_short_is_refused(model_directory: Path, tmp_path: Path) -> None:
    directory = write_model(tmp_path / "model", model_directory, tiny_config())
    data = (directory / "model.safetensors").read_bytes()
    (directory / "model.safetensors").write_bytes(data[: len(data) // 2])
    with pytest.raises(ModelFileError, match="not a whole safetensors file"):
        read_weights(directory, read_model_config(directory))


@pytest.mark.parametrize(
    ("change", "error", "names"),
    [
        ({"drop": "model.norm.weight"}, ModelFileError, "model.norm.weight is missing"),
        ({"shape": "model.norm.weight"}, ModelFileError, "has shape"),
        ({"extra": "model.layers.0.self_attn.sinks"}, UnsupportedModelError, "sinks"),
    ],
)
def test_tensors_that_do_not_make_the_model_are_refused(
    change: dict[str, str], error: type[Exception], names: str, model_directory: Path, tmp_path: Path
) -> None:
    directory = write_model(tmp_path / "model", model_directory, tiny_config())
    weights = load_file(directory / "model.safetensors")
    match change:
        case {"drop": name}:
            del weights[name]
        case {"shape": name}:
            weights[name] = torch.zeros(3)
        case {"extra": name}:
            weights[name] = torch.zeros(3)
    save_file(weights, directory / "model.safetensors")
    with pytest.raises(error, match=names):
        read_weights(directory, read_model_config(directory))


@pytest.mark.parametrize(
    ("changes", "setting"),
    [
        ({"model_type": "mamba"}, "model_type"),
        ({"hidden_act": "gelu"}, "hidden_act"),
        ({"mlp_bias": True}, "mlp_bias"),
        ({"rope_scaling": {"rope_type": "yarn", "factor": 4.0}}, "rope_type"),
        ({"rope_scaling": {"type": "dynamic", "factor": 2.0}}, "rope_type"),
        ({"rope_parameters": {"rope_type": "longrope", "rope_theta": 1e4}}, "rope_type"),
        ({"model_type": "qwen2", "use_sliding_window": True, "sliding_window": 128}, "use_sliding_window"),
        ({"layer_types": ["full_attention", "sliding_attention"]}, "layer_types"),
        ({"sliding_window": 4096}, "sliding_window"),
        ({"quantization_config": {"quant_method": "gptq"}}, "quantization_config"),
        ({"partial_rotary_factor": 0.5}, "partial_rotary_factor"),
        ({"num_key_value_heads": 3}, "num_key_value_heads"),
    ],
)
def test_what_is_not_implemented_is_refused_by_name(changes: dict[str, Any], setting: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(tiny_config(**changes)))
    with pytest.raises(UnsupportedModelError) as caught:
        read_model_config(tmp_path)
    assert caught.value.setting == setting


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"model_type": "llama"}', '{"model_type": "llama", "hidden_size": []}']
)
def test_a_config_that_is_not_one_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(text)
    with pytest.raises((ModelFileError, UnsupportedModelError)):
        read_model_config(tmp_path)


def test_sliding_windows_that_are_switched_off_are_no_obstacle(tmp_path: Path) -> None:
    config = tiny_config(model_type="qwen2", use_sliding_window=False, sliding_window=32768)
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert read_model_config(tmp_path).has_qkv_bias
