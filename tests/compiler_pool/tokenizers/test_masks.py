"""Masks are as wide as the logits, and allow nothing that is not text or an end."""

import unicodedata
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


@pytest.mark.parametrize(
    "grammar",
    [
        'start: "a<|im_end|>"',
        r'start: "a\x3c|im_end|>"',
        'start: "<|im_" "end|>"',
        'start: /</ "|im_end|" />/',
    ],
)
def test_forcing_is_left_off_for_what_may_spell_a_special_token(tmp_path: Path, grammar: str) -> None:
    tokenizer = load_tokenizer(write_tokenizer(tmp_path / "t.json"))
    assert with_safe_forcing(grammar, tokenizer) != grammar
    assert with_safe_forcing('start: "a < b"', tokenizer) == 'start: "a < b"'


@pytest.mark.parametrize(
    "grammar",
    [
        'start: "e\u0301"',
        r'start: "e\u0301"',
        r"start: /\U00000065\u{301}/",
        r"start: /e/ /\u{301}/",
        'start: "\u212b"',
        'start: "\u1100" "\u1161"',
    ],
)
def test_forcing_is_left_off_for_what_composing_changes(tmp_path: Path, grammar: str) -> None:
    composing = load_tokenizer(write_tokenizer(tmp_path / "n.json", tokenizer_document(normaliser={"type": "NFC"})))
    assert with_safe_forcing(grammar, composing) != grammar
    plain = load_tokenizer(write_tokenizer(tmp_path / "t.json"))
    assert with_safe_forcing(grammar, plain) == grammar


def test_only_marks_and_hangul_join_what_comes_before_them() -> None:
    for code in range(0x110000):
        parts = unicodedata.decomposition(chr(code)).split()
        if len(parts) == 2 and not parts[0].startswith("<"):
            assert unicodedata.category(chr(int(parts[1], 16))).startswith("M"), hex(code)
    for code in range(0xAC00, 0xD7A4):
        assert all(0x1160 <= ord(part) < 0x1200 for part in unicodedata.normalize("NFD", chr(code))[1:])


def test_forcing_is_left_off_around_the_mark_of_spaces_where_it_means_a_space(tmp_path: Path) -> None:
    scored = load_tokenizer(write_gguf(tmp_path / "s.gguf", scored_fields()))
    plain = load_tokenizer(write_tokenizer(tmp_path / "t.json"))
    grammar = 'start: "a\u2581b"'
    assert with_safe_forcing(grammar, plain) == grammar
    assert with_safe_forcing(grammar, scored) != grammar
    assert with_safe_forcing('start: "a b"', scored) == 'start: "a b"'


@pytest.mark.parametrize(
    "changes",
    [
        {"normalizer": {"type": "Lowercase"}},
        {"normalizer": {"type": "NFKC"}},
        {"normalizer": {"type": "Replace", "pattern": {"String": "~"}, "content": "-"}},
        {
            "normalizer": {
                "type": "Sequence",
                "normalizers": [{"type": "NFC"}, {"type": "Strip", "strip_left": True, "strip_right": True}],
            }
        },
        {"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False, "use_regex": True}},
        {
            "pre_tokenizer": {
                "type": "Sequence",
                "pretokenizers": [
                    {"type": "Split", "pattern": {"String": "~"}, "behavior": "Removed", "invert": False},
                    {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": True},
                ],
            }
        },
    ],
)
def test_nothing_is_forced_with_a_tokenizer_that_changes_text(tmp_path: Path, changes: dict[str, object]) -> None:
    tokenizer = load_tokenizer(write_tokenizer(tmp_path / "t.json", tokenizer_document() | changes))
    assert not tokenizer.is_faithful
    assert with_safe_forcing('start: "plain"', tokenizer) != 'start: "plain"'
    assert tokenizer.decode(tokenizer.encode_exact(b"A ~ b")) == b"A ~ b"
