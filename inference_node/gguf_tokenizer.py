"""Builds a `tokenizer.json` and its companions from what a GGUF file says of its tokenizer."""

from typing import Any

from tokenizers import Tokenizer

from compiler_pool.errors import TokenizerError
from compiler_pool.tokenizers.gguf import read_gguf
from compiler_pool.tokenizers.vocabulary import EngineDocument
from inference_node.errors import ModelFileError
from inference_node.gguf_file import GgufFile

_CONTROL = 3

# GGUF names one end token; these others end a turn wherever a model has them as control tokens.
_END_TOKEN_TEXTS = ("<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|end_of_text|>", "</s>")


def build_tokenizer(gguf: GgufFile) -> Tokenizer:
    """The tokenizer of a GGUF file, as the compiler pool reads it: masks and prompts have one reading of the file.

    Raises:
        ModelFileError: a tokenizer that is not read, or not whole; guessing would shift token boundaries.
    """
    try:
        document = read_gguf(gguf.path).engine
    except TokenizerError as error:
        raise ModelFileError(path=str(gguf.path), reason=str(error)) from error
    assert isinstance(document, EngineDocument), "a GGUF file tells its merges, not ranks"
    try:
        return Tokenizer.from_str(document.text)
    except Exception as error:  # the library raises nothing more specific
        raise ModelFileError(path=str(gguf.path), reason=f"its tokenizer does not hold together: {error}") from error


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
        "model_max_length": gguf.context_tokens,
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
