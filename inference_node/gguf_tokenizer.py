"""Builds a `tokenizer.json` and its companions from what a GGUF file says of its tokenizer."""

from typing import Any

from tokenizers import AddedToken, Tokenizer, decoders, pre_tokenizers
from tokenizers.models import BPE

from inference_node.errors import UnsupportedModelError
from inference_node.gguf_file import GgufFile

_NORMAL = 1
_CONTROL = 3
_USER_DEFINED = 4

# GGUF names one end token; these others end a turn wherever a model has them as control tokens.
_END_TOKEN_TEXTS = ("<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|end_of_text|>", "</s>")


def build_tokenizer(gguf: GgufFile) -> Tokenizer:
    """The byte-level BPE of a GGUF file.

    Raises:
        UnsupportedModelError: another kind of tokenizer or pre-tokenizer; guessing would shift token boundaries.
    """
    kind = gguf.field("tokenizer.ggml.model")
    if kind != "gpt2":
        raise UnsupportedModelError(setting="tokenizer.ggml.model", value=kind, supported="gpt2")
    pre_tokenizer = gguf.optional_field("tokenizer.ggml.pre")
    if pre_tokenizer != "smollm":
        raise UnsupportedModelError(setting="tokenizer.ggml.pre", value=pre_tokenizer, supported="smollm")
    texts: list[str] = gguf.field("tokenizer.ggml.tokens")
    merges = [tuple(merge.split(" ", 1)) for merge in gguf.field("tokenizer.ggml.merges")]
    tokenizer = Tokenizer(BPE(vocab={text: index for index, text in enumerate(texts)}, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    for text, token_type in zip(texts, gguf.field("tokenizer.ggml.token_type"), strict=True):
        if token_type == _CONTROL:
            tokenizer.add_special_tokens([AddedToken(text, special=True, normalized=False)])
        elif token_type == _USER_DEFINED:
            tokenizer.add_tokens([AddedToken(text, special=False, normalized=False)])
        elif token_type != _NORMAL:
            raise UnsupportedModelError(
                setting="tokenizer.ggml.token_type", value=token_type, supported="normal, control, user-defined"
            )
    return tokenizer


def tokenizer_config(gguf: GgufFile) -> dict[str, Any]:
    """`tokenizer_config.json`: chat template and the roles of special tokens."""
    texts = gguf.field("tokenizer.ggml.tokens")

    def text_of(field: str) -> str | None:
        index = gguf.optional_field(f"tokenizer.ggml.{field}_token_id")
        return None if index is None else texts[index]

    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": text_of("bos"),
        "eos_token": text_of("eos"),
        "unk_token": text_of("unknown"),
        "pad_token": text_of("padding"),
        "add_bos_token": bool(gguf.optional_field("tokenizer.ggml.add_bos_token")),
        "add_prefix_space": False,
        "clean_up_tokenization_spaces": False,
        "model_max_length": int(gguf.field("llama.context_length")),
        "chat_template": gguf.field("tokenizer.chat_template"),
    }


def generation_config(gguf: GgufFile) -> dict[str, Any]:
    """`generation_config.json` with every id that ends a turn, the file's own first."""
    texts = gguf.field("tokenizer.ggml.tokens")
    types = gguf.field("tokenizer.ggml.token_type")
    end_ids = [int(gguf.field("tokenizer.ggml.eos_token_id"))]
    for index, (text, token_type) in enumerate(zip(texts, types, strict=True)):
        if token_type == _CONTROL and text in _END_TOKEN_TEXTS and index not in end_ids:
            end_ids.append(index)
    return {"bos_token_id": gguf.optional_field("tokenizer.ggml.bos_token_id"), "eos_token_id": end_ids}
