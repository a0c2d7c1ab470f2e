"""Whatever text a grammar forces, following its masks spells that text and no other, from every source."""

import json
import random
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
