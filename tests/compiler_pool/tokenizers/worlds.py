"""Small tokenizers as each source spells them."""

import base64
import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.compiler_pool.tiny_tokenizer import byte_alphabet, tokenizer_document

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
PATTERN = r"\s+(?!\S)|\s+|[^\s]+"
SPACE_MARK = "\u2581"


def write_gguf(path: Path, fields: Mapping[str, Any], *, tensors: Mapping[str, Sequence[int]] | None = None) -> Path:
    """A GGUF file of version 3 without its tensors' values."""
    tensors = tensors or {}
    content = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(fields))
    for name, value in fields.items():
        content += _text(name) + struct.pack("<I", _kind(value)) + _value(value)
    for name, shape in tensors.items():
        content += _text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, 0, 0)
    path.write_bytes(content)
    return path


def byte_level_fields() -> dict[str, Any]:
    """The same tokenizer as `tiny_tokenizer.tokenizer_document` writes: GGUF lists the special ones with the others."""
    document = tokenizer_document()
    names = [token["content"] for token in document["added_tokens"]]
    pieces = list(document["model"]["vocab"])
    return {
        "general.architecture": "llama",
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "gpt-2",
        "tokenizer.ggml.tokens": pieces + names,
        "tokenizer.ggml.token_type": [NORMAL] * len(pieces) + [CONTROL] * len(names),
        "tokenizer.ggml.merges": document["model"]["merges"],
        "tokenizer.ggml.eos_token_id": len(pieces) + 2,
    }


def scored_pieces() -> dict[str, float]:
    """Text pieces of a SentencePiece vocabulary and their scores; they follow three special tokens and 256 bytes."""
    joined = [SPACE_MARK + "t", "he", SPACE_MARK + "the", "er", "in", SPACE_MARK + SPACE_MARK, "aa", "aaaa", '":', "re"]
    single = [SPACE_MARK, *(chr(code) for code in range(0x21, 0x7F)), "\u00e9"]
    return {piece: -float(at) for at, piece in enumerate([*joined, *single])}


def scored_fields() -> dict[str, Any]:
    """A SentencePiece vocabulary as a GGUF file tells it."""
    pieces = scored_pieces()
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *pieces]
    return {
        "general.architecture": "llama",
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.scores": [0.0] * 259 + list(pieces.values()),
        "tokenizer.ggml.token_type": [UNKNOWN, CONTROL, CONTROL] + [BYTE] * 256 + [NORMAL] * len(pieces),
        "tokenizer.ggml.eos_token_id": 2,
    }


def scored_document() -> dict[str, Any]:
    """The same vocabulary as a `tokenizer.json` published for a model of the Llama 2 family spells it."""
    tokens = scored_fields()["tokenizer.ggml.tokens"]
    ids = {token: at for at, token in enumerate(tokens)}
    best_first = sorted(scored_pieces().items(), key=lambda item: -item[1])
    return {
        "version": "1.0",
        "added_tokens": [
            {
                "id": at, "content": name, "single_word": False, "lstrip": False, "rstrip": False,
                "normalized": False, "special": True,
            }
            for at, name in enumerate(tokens[:3])
        ],
        "normalizer": {
            "type": "Sequence",
            "normalizers": [
                {"type": "Prepend", "prepend": SPACE_MARK},
                {"type": "Replace", "pattern": {"String": " "}, "content": SPACE_MARK},
            ],
        },
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": {
            "type": "Sequence",
            "decoders": [
                {"type": "Replace", "pattern": {"String": SPACE_MARK}, "content": " "},
                {"type": "ByteFallback"},
                {"type": "Fuse"},
                {"type": "Strip", "content": " ", "start": 1, "stop": 0},
            ],
        },
        "model": {
            "type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None,
            "end_of_word_suffix": None, "fuse_unk": True, "byte_fallback": True, "vocab": ids,
            "merges": [
                f"{piece[:at]} {piece[at:]}"
                for piece, _ in best_first
                for at in range(1, len(piece))
                if piece[:at] in ids and piece[at:] in ids
            ],
        },
    }  # fmt: skip


def unigram_document() -> dict[str, Any]:
    """The pieces of `scored_document` in a Unigram model: the same tokens, another way to choose among them."""
    document = scored_document()
    pieces = [[piece, -float(at)] for piece, at in document["model"]["vocab"].items()]
    return document | {"model": {"type": "Unigram", "unk_id": 0, "vocab": pieces, "byte_fallback": True}}


def write_ranks(
    path: Path, ranks: Mapping[bytes, int] | None = None, declaration: Mapping[str, Any] | None = None
) -> Path:
    """Ranks as tiktoken writes them, and their declaration beside them."""
    ranks = tiny_ranks() if ranks is None else ranks
    lines = [f"{base64.b64encode(data).decode()} {rank}\n" for data, rank in ranks.items()]
    path.write_text("".join(lines), encoding="ascii")
    declare(path, tiny_declaration() if declaration is None else declaration)
    return path


def tiny_ranks() -> dict[bytes, int]:
    """The text tokens of `tiny_tokenizer`, by rank."""
    alphabet = {character: byte for byte, character in enumerate(byte_alphabet())}
    vocabulary = tokenizer_document()["model"]["vocab"]
    return {bytes([alphabet[character] for character in piece]): at for piece, at in vocabulary.items()}


def tiny_declaration() -> dict[str, Any]:
    """What completes `tiny_ranks` to `tiny_tokenizer`."""
    names = [token["content"] for token in tokenizer_document()["added_tokens"]]
    return {"pattern": PATTERN, "special_tokens": {name: 269 + at for at, name in enumerate(names)}}


def declare(path: Path, declaration: Mapping[str, Any]) -> None:
    """Write the declaration of the tokenizer at `path`."""
    file = path / "schemagate.json" if path.is_dir() else path.with_suffix(".schemagate.json")
    file.write_text(json.dumps(declaration), encoding="utf-8")


def _text(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _kind(value: Any) -> int:
    return {bool: 7, int: 4, float: 6, str: 8, list: 9}[type(value)]


def _value(value: Any) -> bytes:
    match value:
        case bool():
            return struct.pack("<?", value)
        case int():
            return struct.pack("<I", value)
        case float():
            return struct.pack("<f", value)
        case str():
            return _text(value)
    return struct.pack("<IQ", _kind(value[0]) if value else 4, len(value)) + b"".join(map(_value, value))
