"""Which bytes each token id stands for, read from a Hugging Face `tokenizer.json`."""

import json
from dataclasses import dataclass
from typing import Any

from compiler_pool.errors import TokenizerError

_SPACE_MARK = "\u2581"


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenTable:
    """`token_bytes[id]`, empty where there is no such token; `normaliser` is its settings in one spelling."""

    token_bytes: tuple[bytes, ...]
    ids_by_name: dict[str, int]
    """Added tokens only: the ones that have a name rather than a text."""
    normaliser: str


def read_token_table(document: dict[str, Any], *, path: str) -> TokenTable:
    """The table of a parsed `tokenizer.json`.

    Two families are understood, told apart by their decoder: byte-level BPE (GPT-2's printable alphabet for bytes) and
    SentencePiece style (`▁` for a space, `<0xNN>` for a byte). Raises TokenizerError for any other.
    """
    pieces = _pieces(document["model"], path)
    steps = _step_types(document.get("decoder")) | _step_types(document.get("pre_tokenizer"))
    if "ByteLevel" in steps:
        alphabet = _byte_alphabet()
        as_bytes = {index: _from_alphabet(piece, alphabet, path) for piece, index in pieces.items()}
    elif steps & {"ByteFallback", "Metaspace", "Replace"}:
        as_bytes = {index: _from_sentencepiece(piece) for piece, index in pieces.items()}
    else:
        raise TokenizerError("neither byte-level nor SentencePiece style: its tokens' bytes are unknown", path=path)
    added = {token["content"]: int(token["id"]) for token in document.get("added_tokens") or []}
    for content, index in added.items():
        as_bytes[index] = content.encode()
    size = max(as_bytes, default=-1) + 1
    return TokenTable(
        token_bytes=tuple(as_bytes.get(index, b"") for index in range(size)),
        ids_by_name=added,
        normaliser=json.dumps(document.get("normalizer"), sort_keys=True),
    )


def _pieces(model: dict[str, Any], path: str) -> dict[str, int]:
    vocabulary = model.get("vocab")
    if isinstance(vocabulary, dict):
        return vocabulary
    if isinstance(vocabulary, list):  # Unigram: pairs of piece and score
        return {pair[0]: index for index, pair in enumerate(vocabulary)}
    raise TokenizerError("tokenizer.json has no vocabulary", path=path)


def _step_types(step: dict[str, Any] | None) -> set[str]:
    """Types of a decoder's or pre-tokeniser's steps, sequences opened."""
    if not step:
        return set()
    types = {str(step.get("type"))}
    for inner in step.get("decoders") or step.get("pretokenizers") or []:
        types |= _step_types(inner)
    return types


def _byte_alphabet() -> dict[str, int]:
    """GPT-2's spelling of bytes: printable Latin-1 stands for itself, the rest move up from U+0100 in order."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(0x100) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(0x100 + at): byte for at, byte in enumerate(others)}


def _from_alphabet(piece: str, alphabet: dict[str, int], path: str) -> bytes:
    try:
        return bytes([alphabet[character] for character in piece])
    except KeyError:
        raise TokenizerError(f"token {piece!r} is not spelled in the byte-level alphabet", path=path) from None


def _from_sentencepiece(piece: str) -> bytes:
    if len(piece) == 6 and piece.startswith("<0x") and piece.endswith(">"):
        return bytes([int(piece[3:5], 16)])
    return piece.replace(_SPACE_MARK, " ").encode()
