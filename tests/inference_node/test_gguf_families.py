"""A GGUF file of each family, laid out as llama.cpp's conversion does, gives the model that it was made from."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gguf
import pytest
import torch
from gguf import GGUFWriter
from safetensors.torch import load_file
from tokenizers import Tokenizer

from compiler_pool.tokenizer import load_tokenizer
from inference_node.errors import ModelFileError, UnsupportedModelError
from inference_node.gguf_file import GgufFile
from inference_node.model_config import ModelConfig, read_model_config
from inference_node.model_weights import read_weights
from inference_node.prepare import prepare_model
from inference_node.slices import Slice
from tests.inference_node.model_worlds import load_decoder, new_cache, tiny_config, write_model

NAMES = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "lm_head": "output",
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
PRINTABLE = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
BYTES = [chr(code) for code in PRINTABLE] + [chr(0x100 + number) for number in range(256 - len(PRINTABLE))]
PIECES = [*BYTES, "ab"]
CONTROL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
WIDTH = 272
"""Of the logits: tokens, and padding after them."""

FAMILIES: dict[str, dict[str, Any]] = {
    "llama": {},
    "llama with biases": {"attention_bias": True, "tie_word_embeddings": False},
    "qwen2": {"model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"], "num_hidden_layers": 3},
    "qwen3": {"model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"], "head_dim": 32},
}


def gguf_name(name: str) -> str:
    stem, _, kind = name.rpartition(".")
    if stem in NAMES:
        return f"{NAMES[stem]}.{kind}"
    _, _, layer, rest = stem.split(".", 3)
    return f"blk.{layer}.{NAMES[rest]}.{kind}"


def interleaved(rows: torch.Tensor, num_heads: int) -> torch.Tensor:
    """A head's first and second half, row by row in turn."""
    size = len(rows) // num_heads
    return rows.reshape(num_heads, 2, size // 2, -1).transpose(1, 2).reshape(rows.shape)


def new_writer(
    path: Path, config: ModelConfig, *, splitting: str = "qwen2", merges: Sequence[str] = ("a b",)
) -> GGUFWriter:
    """A file with everything but tensors."""
    writer = GGUFWriter(path, config.family)
    writer.add_context_length(config.context_tokens)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_heads)
    writer.add_head_count_kv(config.num_kv_heads)
    writer.add_layer_norm_rms_eps(config.norm_epsilon)
    writer.add_rope_freq_base(config.rope_theta)
    writer.add_key_length(config.head_size)
    writer.add_value_length(config.head_size)
    padding = [f"[PAD{number}]" for number in range(WIDTH - len(PIECES) - len(CONTROL))]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(splitting)
    writer.add_token_list([*PIECES, *CONTROL, *padding])
    writer.add_token_types([1] * len(PIECES) + [3] * len(CONTROL) + [5] * len(padding))
    writer.add_token_merges(merges)
    writer.add_eos_token_id(len(PIECES) + 2)
    writer.add_chat_template("{{ messages[0].content }}")
    return writer


def finish(writer: GGUFWriter) -> None:
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_gguf(path: Path, directory: Path) -> Path:
    """The model of a directory as one file."""
    config = read_model_config(directory)
    writer = new_writer(path, config)
    heads = {"q_proj": config.num_heads, "k_proj": config.num_kv_heads}
    for name, tensor in load_file(directory / "model.safetensors").items():
        projection = name.split(".")[-2]
        is_paired = config.family == "llama" and projection in heads
        stored = interleaved(tensor, heads[projection]) if is_paired else tensor
        writer.add_tensor(gguf_name(name), stored.contiguous().numpy(), raw_dtype=gguf.GGMLQuantizationType.F32)
    finish(writer)
    return path


@pytest.mark.parametrize("family", FAMILIES)
def test_a_gguf_file_gives_the_logits_of_the_model_it_was_made_from(
    family: str, model_directory: Path, tmp_path: Path
) -> None:
    config = tiny_config(vocab_size=WIDTH, **FAMILIES[family])
    original = write_model(tmp_path / "original", model_directory, config)
    converted = prepare_model(write_gguf(tmp_path / "model.gguf", original), tmp_path / "cache", lambda line: None)
    assert read_model_config(converted) == read_model_config(original)
    ids = [number * 7 % WIDTH for number in range(40)]
    whole = Slice(blocks=[0, 1, 2], start=0, token_ids=ids, num_prompt_tokens=40, num_logits=40)
    # Both in bfloat16, in which a converted directory stores its weights.
    first, second = (load_decoder(directory, dtype=torch.bfloat16) for directory in (original, converted))
    assert torch.equal(first.forward([whole], new_cache(first)), second.forward([whole], new_cache(second)))
    assert {name: tensor.shape for name, tensor in read_weights(converted, second.config).items()} == {
        name: tensor.shape for name, tensor in read_weights(original, first.config).items()
    }


def test_a_converted_file_has_the_tokenizer_of_the_file(model_directory: Path, tmp_path: Path) -> None:
    original = write_model(tmp_path / "original", model_directory, tiny_config(vocab_size=WIDTH, model_type="qwen2"))
    path = write_gguf(tmp_path / "model.gguf", original)
    converted = prepare_model(path, tmp_path / "cache", lambda line: None)
    assert load_tokenizer(converted).digest == load_tokenizer(path).digest
    assert load_tokenizer(converted).vocabulary_size == WIDTH
    text = "<|im_start|>two words, 123<|im_end|>"
    tokenizer = Tokenizer.from_file(str(converted / "tokenizer.json"))
    assert tokenizer.decode(tokenizer.encode(text).ids, skip_special_tokens=False) == text


def test_a_file_is_converted_once_and_another_of_the_same_name_elsewhere(model_directory: Path, tmp_path: Path) -> None:
    config = tiny_config(vocab_size=WIDTH)
    lines: list[str] = []
    first = write_gguf(tmp_path / "m.gguf", write_model(tmp_path / "a", model_directory, config))
    directory = prepare_model(first, tmp_path / "cache", lines.append)
    assert any("converting" in line for line in lines)
    lines.clear()
    assert prepare_model(first, tmp_path / "cache", lines.append) == directory
    assert lines == [f"model is ready in {directory}"]
    write_gguf(first, write_model(tmp_path / "b", model_directory, config, seed=1))
    assert prepare_model(first, tmp_path / "cache", lines.append) != directory


def test_a_directory_is_used_as_it_is(tmp_path: Path) -> None:
    assert prepare_model(tmp_path, tmp_path / "cache", lambda line: None) == tmp_path
    with pytest.raises(ModelFileError, match="no such file"):
        prepare_model(tmp_path / "none.gguf", tmp_path / "cache", lambda line: None)


def test_a_splitting_that_is_not_read_is_refused(model_directory: Path, tmp_path: Path) -> None:
    original = write_model(tmp_path / "original", model_directory, tiny_config(vocab_size=WIDTH))
    writer = new_writer(tmp_path / "m.gguf", read_model_config(original), splitting="unheard-of")
    writer.add_tensor("token_embd.weight", torch.zeros(WIDTH, 64).numpy())
    finish(writer)
    with pytest.raises(ModelFileError, match="unheard-of"):
        prepare_model(tmp_path / "m.gguf", tmp_path / "cache", lambda line: None)


def test_merges_without_their_tokens_are_refused(model_directory: Path, tmp_path: Path) -> None:
    original = write_model(tmp_path / "original", model_directory, tiny_config(vocab_size=WIDTH))
    writer = new_writer(tmp_path / "m.gguf", read_model_config(original), merges=["a c"])
    writer.add_tensor("token_embd.weight", torch.zeros(WIDTH, 64).numpy())
    finish(writer)
    with pytest.raises(ModelFileError, match="ac"):
        prepare_model(tmp_path / "m.gguf", tmp_path / "cache", lambda line: None)


@pytest.mark.parametrize(
    ("family", "field", "value"),
    [("llama", "rope.scaling.type", "yarn"), ("qwen2", "attention.sliding_window", 4096), ("qwen3", "expert_count", 8)],
)
def test_what_is_not_implemented_is_refused_by_name(
    family: str, field: str, value: str | int, model_directory: Path, tmp_path: Path
) -> None:
    original = write_model(tmp_path / "original", model_directory, tiny_config(vocab_size=WIDTH, model_type=family))
    writer = new_writer(tmp_path / "m.gguf", read_model_config(original))
    if isinstance(value, str):
        writer.add_string(f"{family}.{field}", value)
    else:
        writer.add_uint32(f"{family}.{field}", value)
    finish(writer)
    with pytest.raises(UnsupportedModelError) as caught:
        GgufFile(tmp_path / "m.gguf").config()
    assert caught.value.setting == f"{family}.{field}"


def test_another_architecture_is_refused(tmp_path: Path) -> None:
    finish(GGUFWriter(tmp_path / "m.gguf", "mamba"))
    with pytest.raises(UnsupportedModelError, match="mamba"):
        GgufFile(tmp_path / "m.gguf")
