"""Which bytes each token id stands for, read from a Hugging Face `tokenizer.json`."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from compiler_pool.errors import TokenizerError
from compiler_pool.tokenizers.text_steps import keeps_text
from compiler_pool.tokenizers.vocabulary import table_of

_SPACE_MARK: Final = "\u2581"
_BYTE_PIECE: Final = re.compile(r"<0x([0-9A-Fa-f]{2})>")


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenTable:
    """`token_bytes[id]`, empty where there is no such token; `normaliser` is its settings in one spelling."""

    token_bytes: tuple[bytes, ...]
    ids_by_name: dict[str, int]
    """Added tokens only: the ones that have a name rather than a text."""
    spoken: frozenset[int]
    """Those of them that the document flags as no special ones: their name is to be seen in what a model says."""
    normaliser: str
    keeps_text: bool
    """Whether splitting is known to keep every text in NFC that does not hold the mark of spaces."""


def read_token_table(document: Mapping[str, Any], *, path: str) -> TokenTable:
    """The table of a parsed `tokenizer.json`.

    Two families are understood, told apart by their decoder: byte-level BPE (GPT-2's printable alphabet for bytes) and
    SentencePiece style (`▁` for a space, `<0xNN>` for a byte). Raises TokenizerError for any other.
    """
    try:
        return _table(document, path)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError) as error:
        # Wherever a member is not what it should be; lone surrogates, which have no bytes, are ValueErrors too.
        raise TokenizerError(f"tokenizer.json is malformed: {repr(error)[:200]}", path=path) from error


def _table(document: Mapping[str, Any], path: str) -> TokenTable:
    model = document["model"]
    for setting in ("continuing_subword_prefix", "end_of_word_suffix"):
        if model.get(setting):
            raise TokenizerError(f"its pieces carry a {setting}: their bytes are unknown", path=path)
    added = _added_tokens(document, path)
    # A vocabulary may list added tokens too: by name, in no spelling of bytes.
    pieces = {piece: index for piece, index in _pieces(model, path).items() if added.get(piece) != index}
    steps = _step_types(document.get("decoder")) | _step_types(document.get("pre_tokenizer"))
    if "ByteLevel" in steps:
        alphabet = _byte_alphabet()
        as_bytes = {index: _from_alphabet(piece, alphabet, path) for piece, index in pieces.items()}
    elif steps & {"ByteFallback", "Metaspace", "Replace"}:
        as_bytes = {index: _from_sentencepiece(piece) for piece, index in pieces.items()}
    else:
        raise TokenizerError("neither byte-level nor SentencePiece style: its tokens' bytes are unknown", path=path)
    if len(as_bytes) != len(pieces):
        raise TokenizerError("two pieces of the vocabulary have one id", path=path)
    for content, index in added.items():
        if index in as_bytes:
            raise TokenizerError(
                f"id {index} is a piece of the vocabulary and the added token {content[:80]!r}", path=path
            )
        as_bytes[index] = content.encode()
    return TokenTable(
        token_bytes=table_of(as_bytes, path=path),
        ids_by_name=added,
        spoken=frozenset(token["id"] for token in document.get("added_tokens") or [] if token.get("special") is False),
        normaliser=json.dumps(document.get("normalizer"), sort_keys=True),
        keeps_text=keeps_text(document),
    )


def _added_tokens(document: Mapping[str, Any], path: str) -> dict[str, int]:
    tokens = document.get("added_tokens") or []
    added = {token["content"]: token["id"] for token in tokens}
    if not all(type(index) is int for index in added.values()):
        raise TypeError("an added token's id is no integer")
    if not all(type(content) is str and content for content in added):
        raise TypeError("an added token has no text")
    if len(added) != len(tokens) or len(set(added.values())) != len(added):
        raise TokenizerError("two added tokens have one id or one text", path=path)
    return added


def _pieces(model: Mapping[str, Any], path: str) -> dict[str, int]:
    vocabulary = model.get("vocab")
    if isinstance(vocabulary, dict):
        if not all(type(index) is int for index in vocabulary.values()):
            raise TypeError("a piece's id is no integer")
        return vocabulary
    if isinstance(vocabulary, list):  # Unigram: pairs of piece and score
        pieces: dict[str, int] = {pair[0]: index for index, pair in enumerate(vocabulary)}
        if len(pieces) != len(vocabulary):
            raise TokenizerError("one piece of the vocabulary has two ids", path=path)
        return pieces
    raise TokenizerError("tokenizer.json has no vocabulary", path=path)


def _step_types(step: Mapping[str, Any] | None) -> set[str]:
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
        raise TokenizerError(f"token {piece[:80]!r} is not spelled in the byte-level alphabet", path=path) from None


def _from_sentencepiece(piece: str) -> bytes:
    if byte := _BYTE_PIECE.fullmatch(piece):
        return bytes([int(byte[1], 16)])
    return piece.replace(_SPACE_MARK, " ").encode()
