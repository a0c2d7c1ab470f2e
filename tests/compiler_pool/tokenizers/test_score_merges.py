"""Merges by score choose as SentencePiece does."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler_pool.errors import TokenizerError
from compiler_pool.tokenizer import load_tokenizer
from compiler_pool.tokenizers.score_merges import merges_by_score
from tests.compiler_pool.tokenizers.worlds import BYTE, CONTROL, NORMAL, UNKNOWN, write_gguf


def _joined_by_score(text: str, scores: dict[str, float]) -> list[str]:
    """As SentencePiece describes it: again and again, the leftmost of the neighbours whose joint piece scores best."""
    symbols = list(text)
    while True:
        joints = [
            (-scores[joint], at) for at in range(len(symbols) - 1) if (joint := symbols[at] + symbols[at + 1]) in scores
        ]
        if not joints:
            return symbols
        _, at = min(joints)
        symbols[at : at + 2] = [symbols[at] + symbols[at + 1]]


@settings(max_examples=60, deadline=None)
@given(
    joined=st.lists(st.text("abc", min_size=2, max_size=5), unique=True, max_size=12),
    text=st.text("abc", min_size=1, max_size=30),
)
def test_a_scored_vocabulary_splits_as_its_scores_say(joined: list[str], text: str) -> None:
    pieces = [*joined, "a", "b", "c"]
    scores = {piece: -float(at) for at, piece in enumerate(pieces)}
    fields = {
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *pieces],
        "tokenizer.ggml.scores": [0.0] * 259 + list(scores.values()),
        "tokenizer.ggml.token_type": [UNKNOWN, CONTROL, CONTROL] + [BYTE] * 256 + [NORMAL] * len(pieces),
        "tokenizer.ggml.eos_token_id": 2,
    }
    with TemporaryDirectory() as directory:
        tokenizer = load_tokenizer(write_gguf(Path(directory) / "t.gguf", fields))
    split = [tokenizer.token_bytes[index].decode() for index in tokenizer.encode_exact(text.encode())]
    assert split == _joined_by_score(text, scores)


def test_a_score_without_an_order_and_too_many_characters_are_refused() -> None:
    with pytest.raises(TokenizerError, match="not a number"):
        merges_by_score({"ab": 0, "a": 1, "b": 2}, [json.loads("NaN"), 0.0, 0.0], path="x")
    with pytest.raises(TokenizerError, match="characters"):
        merges_by_score({"a" * 9_000_000: 0}, [0.0], path="x")


def test_pieces_that_make_too_many_merges_are_refused() -> None:
    pieces = {"a" * length: length for length in range(1, 2_100)}
    with pytest.raises(TokenizerError, match="2201851 merges; 2097152 are taken"):
        merges_by_score(pieces, [0.0] * 2_100, path="x")
