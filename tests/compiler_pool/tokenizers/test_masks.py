"""Masks are as wide as the logits, and allow nothing that is not text or an end."""

from collections.abc import Callable
from pathlib import Path

import pytest
from llguidance import LLMatcher
from llguidance.numpy import allocate_token_bitmask, fill_next_token_bitmask

from compiler_pool.forcing import with_safe_forcing
from compiler_pool.tokenizer import BoundTokenizer, load_tokenizer
from tests.compiler_pool.tiny_tokenizer import tokenizer_document, write_tokenizer
from tests.compiler_pool.tokenizers.worlds import (
    byte_level_fields,
    declare,
    scored_fields,
    tiny_declaration,
    write_gguf,
    write_ranks,
)

_ANYTHING = r"start: /(?s:.)*/"


def _matcher(tokenizer: BoundTokenizer, grammar: str) -> LLMatcher:
    matcher = LLMatcher(tokenizer.engine, LLMatcher.grammar_from_lark(grammar), log_level=0)
    assert not matcher.is_error(), matcher.get_error()
    return matcher


def _allowed(matcher: LLMatcher, tokenizer: BoundTokenizer) -> list[int]:
    mask = allocate_token_bitmask(1, tokenizer.vocabulary_size)
    assert mask.shape == (1, -(-tokenizer.vocabulary_size // 32))
    fill_next_token_bitmask(matcher, mask, 0)
    return [index for index in range(mask.shape[1] * 32) if mask[0, index // 32] >> (index % 32) & 1]


def _padded_document(path: Path) -> Path:
    declare(path / "t.json", {"vocabulary_size": 333})
    return write_tokenizer(path / "t.json")


def _padded_gguf(path: Path) -> Path:
    return write_gguf(path / "t.gguf", byte_level_fields(), tensors={"token_embd.weight": (8, 333)})


def _padded_ranks(path: Path) -> Path:
    return write_ranks(path / "t.tiktoken", declaration=tiny_declaration() | {"vocabulary_size": 333})


def _padded_scores(path: Path) -> Path:
    return write_gguf(path / "t.gguf", scored_fields(), tensors={"output.weight": (8, 500)})


@pytest.mark.parametrize("write", [_padded_document, _padded_gguf, _padded_ranks, _padded_scores])
def test_padding_and_special_tokens_are_never_allowed(tmp_path: Path, write: Callable[[Path], Path]) -> None:
    tokenizer = load_tokenizer(write(tmp_path))
    assert tokenizer.vocabulary_size in {333, 500}
    assert tokenizer.engine.vocab_size == tokenizer.vocabulary_size
    allowed = _allowed(_matcher(tokenizer, _ANYTHING), tokenizer)
    assert set(allowed) & tokenizer.special == set(tokenizer.end_ids)
    assert all(tokenizer.token_bytes[index] for index in allowed)
    assert len(allowed) > 100


def test_every_end_is_allowed_where_the_text_is_complete_and_none_before(tmp_path: Path) -> None:
    tokenizer = load_tokenizer(_padded_document(tmp_path))
    matcher = _matcher(tokenizer, 'start: "a"')
    assert not set(_allowed(matcher, tokenizer)) & set(tokenizer.end_ids)
    assert matcher.consume_token(tokenizer.encode_exact(b"a")[0])
    assert set(_allowed(matcher, tokenizer)) == set(tokenizer.end_ids)


def _without(*bytes_: bytes) -> dict[str, object]:
    """The tiny tokenizer without tokens for some bytes; nothing is merged."""
    document = tokenizer_document()
    missing = {byte.decode() for byte in bytes_}
    pieces = [piece for piece in list(document["model"]["vocab"])[:256] if piece not in missing]
    document["model"] |= {"vocab": {piece: at for at, piece in enumerate(pieces)}, "merges": []}
    for at, token in enumerate(document["added_tokens"]):
        token["id"] = len(pieces) + at
    return document


def test_bytes_that_no_token_spells_are_known(tmp_path: Path) -> None:
    tokenizer = load_tokenizer(write_tokenizer(tmp_path / "t.json", _without(b"h", b"z")))
    assert tokenizer.missing_bytes == {ord("h"), ord("z")}
    assert tokenizer.is_faithful  # for text without them


@pytest.mark.parametrize("literal", ['"hello"', r'"\x68ello"', r'"\u0068ello"', r"/\x{68}ello/"])
def test_a_forced_byte_without_a_token_is_a_dead_end_not_another_text(tmp_path: Path, literal: str) -> None:
    tokenizer = load_tokenizer(write_tokenizer(tmp_path / "t.json", _without(b"h")))
    forced = f"start: {literal}"
    # Left to itself the engine leaves the byte out and offers what comes after it, which the grammar refuses.
    offered = _allowed(_matcher(tokenizer, forced), tokenizer)
    assert offered == tokenizer.encode_exact(b"e")
    safe = with_safe_forcing(forced, tokenizer)
    assert safe != forced
    matcher = _matcher(tokenizer, safe)
    assert set(_allowed(matcher, tokenizer)) <= set(tokenizer.end_ids)
    assert not matcher.is_accepting()
