"""A small but real tokenizer in Hugging Face's format: every byte, a few merges, three special tokens."""

import json
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from compiler_pool.tokenizer import BoundTokenizer, load_tokenizer

_MERGES = ("Ġ a", "t h", "th e", '" :', '" ,', '{ "', '" }', "t r", "u e", "tr ue", "0 0", "a a", "aa aa")


def byte_alphabet() -> list[str]:
    """GPT-2's character for each byte, in the order of the bytes."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    moved = iter(range(0x100, 0x200))
    return [chr(byte) if byte in printable else chr(next(moved)) for byte in range(0x100)]


def tokenizer_document(*, normaliser: dict[str, Any] | None = None) -> dict[str, Any]:
    """The parsed `tokenizer.json`."""
    pieces = [*byte_alphabet(), *(merge.replace(" ", "") for merge in _MERGES)]
    names = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {
                "id": len(pieces) + at, "content": name, "single_word": False, "lstrip": False, "rstrip": False,
                "normalized": False, "special": True,
            }
            for at, name in enumerate(names)
        ],
        "normalizer": normaliser,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": True},
        "post_processor": None,
        "decoder": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False},
        "model": {
            "type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": "",
            "end_of_word_suffix": "", "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
            "vocab": {piece: at for at, piece in enumerate(pieces)},
            "merges": list(_MERGES),
        },
    }  # fmt: skip


def write_tokenizer(path: Path, document: dict[str, Any] | None = None) -> Path:
    """Write a tokenizer.json to `path` and return it."""
    path.write_text(json.dumps(document or tokenizer_document()), encoding="utf-8")
    return path


@cache
def tiny_tokenizer() -> BoundTokenizer:
    """The small tokenizer, loaded once."""
    with TemporaryDirectory() as directory:
        return load_tokenizer(write_tokenizer(Path(directory) / "tokenizer.json"))
