"""Where forcing is left off, and that masks spell what a grammar forces, with tokenizers from every source."""

import json
import random
import unicodedata
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llguidance import LLMatcher

from compiler_pool.forcing import with_safe_forcing
from compiler_pool.tokenizer import BoundTokenizer, load_tokenizer
from tests.compiler_pool.tiny_tokenizer import tokenizer_document, write_tokenizer
from tests.compiler_pool.tokenizers.worlds import (
    scored_document,
    scored_fields,
    unigram_document,
    write_gguf,
    write_ranks,
)

_SOURCES = ("plain", "nfc", "lowercase", "scored", "unigram", "ranks", "spaces left out", "cut")


@cache
def _tokenizer(source: str) -> BoundTokenizer:
    with TemporaryDirectory() as directory:
        path = Path(directory)
        if source == "ranks":
            return load_tokenizer(write_ranks(path / "t.tiktoken"))
        if source == "scored":
            return load_tokenizer(write_gguf(path / "t.gguf", scored_fields()))
        documents: Mapping[str, dict[str, Any]] = {
            "plain": tokenizer_document(),
            "nfc": tokenizer_document(normaliser={"type": "NFC"}),
            "lowercase": tokenizer_document(normaliser={"type": "Lowercase"}),
            "unigram": unigram_document(),
            "spaces left out": scored_document() | {"pre_tokenizer": {"type": "Whitespace"}},
            "cut": tokenizer_document()
            | {"truncation": {"direction": "Right", "max_length": 3, "strategy": "LongestFirst", "stride": 0}},
        }
        return load_tokenizer(write_tokenizer(path / "t.json", documents[source]))


_TEXTS = st.lists(
    st.one_of(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=6),
        st.sampled_from(
            ["<|im_end|>", "</s>", "e\u0301", "\u2581", "  the", "<0x41>", "<0x0A>", "AaBb", "\u212b", "\U000f0000"]
        ),
    ),
    min_size=1,
    max_size=5,
).map("".join)


@pytest.mark.parametrize("source", _SOURCES)
@settings(max_examples=120, deadline=None)
@given(text=_TEXTS, seed=st.integers(0, 9), cut=st.integers(1, 8), is_escaped=st.booleans())
def test_masks_lead_to_the_forced_text(source: str, text: str, seed: int, cut: int, *, is_escaped: bool) -> None:
    tokenizer, choose = _tokenizer(source), random.Random(seed)
    parts = [text[:cut], text[cut:]] if len(text) > cut else [text]
    grammar = with_safe_forcing(f"start: {' '.join(_literal(part, is_escaped) for part in parts)}", tokenizer)
    matcher = LLMatcher(tokenizer.engine, LLMatcher.grammar_from_lark(grammar), log_level=0)
    assert not matcher.is_error(), matcher.get_error()
    spelled: list[int] = []
    while not matcher.is_accepting():
        mask = matcher.compute_bitmask()
        allowed = [token for token in range(tokenizer.vocabulary_size) if mask[token >> 3] >> (token & 7) & 1]
        spelled.append(choose.choice(allowed))
        assert matcher.consume_token(spelled[-1]), (text, tokenizer.decode(spelled))
    assert tokenizer.decode(spelled) == text.encode()


def _literal(text: str, is_escaped: bool) -> str:  # noqa: FBT001
    return json.dumps(text, ensure_ascii=is_escaped).replace("\x7f", "\\u007f")  # the engine takes no raw DEL


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
