"""Ranks in tiktoken's spelling, and the declaration that completes them."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler_pool.errors import TokenizerError
from compiler_pool.tokenizer import load_tokenizer
from tests.compiler_pool.tokenizers.worlds import PATTERN, declare, tiny_declaration, tiny_ranks, write_ranks


def test_ranks_without_a_declaration_are_refused_by_the_name_of_what_is_missing(tmp_path: Path) -> None:
    path = write_ranks(tmp_path / "x.tiktoken")
    (tmp_path / "x.schemagate.json").unlink()
    with pytest.raises(TokenizerError, match=r"special_tokens in x\.schemagate\.json"):
        load_tokenizer(path)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"????\t1\n", "base64"),
        (b"YWFh\n", "its rank"),
        (b"YWFh x\n", "its rank"),
        (b"YWFh -1\n", "its rank"),
        (b"YWFh 1e3\n", "its rank"),
        (b"YWFh \xff\n", "its rank"),
        (b"YWFh 99999999999999999999\n", "its rank"),
        (b" 999\n", "base64"),
        (b"YWFh 5\n", "one rank"),
        (b"YWFh 269\n", "rank and the special token"),
        (b"YWFh 99999999\n", "token ids run from 0 to 99999999"),
        (b"YWE= 500\n", "second rank"),
        (b"Y Q==\n", "base64"),
        (b"\x00\n", "base64"),
    ],
)
def test_a_line_that_is_no_rank_is_refused(tmp_path: Path, line: bytes, words: str) -> None:
    path = write_ranks(tmp_path / "x.tiktoken")
    path.write_bytes(path.read_bytes() + line)
    with pytest.raises(TokenizerError, match=words):
        load_tokenizer(path)


def test_ranks_need_every_byte(tmp_path: Path) -> None:
    ranks = {data: rank for data, rank in tiny_ranks().items() if data != b"h"}
    with pytest.raises(TokenizerError, match="0x68"):
        load_tokenizer(write_ranks(tmp_path / "x.tiktoken", ranks))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"pattern": "("}, "the engine does not take it"),
        ({"pattern": ""}, "not the text of a regular expression"),
        ({"pattern": 7}, "not the text of a regular expression"),
        ({"special_tokens": {}}, "need a pattern and special_tokens"),
        ({"special_tokens": {"<e>": -1}}, "run from -1"),
        ({"special_tokens": {"<e>": True}}, "ids by name"),
        ({"special_tokens": {"": 300}}, "ids by name"),
        ({"special_tokens": {"<a>": 300, "</s>": 300}}, "id 300"),
        ({"special_tokens": {"</s>": 2_000_000}}, "allowed are 0"),
        ({"special_tokens": {"<a>": 300}}, "no end-of-sequence"),
        ({"special_tokens": {"</s>": 300, "\ud800": 301}}, "no text"),
        ({"special_tokens": {"</s>": 300, "x" * 1001: 301}}, "1001 bytes"),
        ({"end_tokens": ["<nobody>"]}, "no special token is called"),
    ],
)
def test_a_declaration_that_does_not_fit_is_refused(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(TokenizerError, match=words):
        load_tokenizer(write_ranks(tmp_path / "x.tiktoken", declaration=tiny_declaration() | changes))


def test_text_on_which_the_engines_splitting_gives_up_is_still_encoded(tmp_path: Path) -> None:
    # The engine's code for ranks stops at patterns that backtrack too far: here at a long run of spaces.
    tokenizer = load_tokenizer(write_ranks(tmp_path / "x.tiktoken"))
    data = b" " * 300_000
    assert tokenizer.decode(tokenizer.encode_exact(data)) == data


def test_a_pattern_that_leaves_out_text_forces_nothing(tmp_path: Path) -> None:
    tokenizer = load_tokenizer(
        write_ranks(tmp_path / "x.tiktoken", declaration=tiny_declaration() | {"pattern": r"\w+"})
    )
    assert not tokenizer.is_faithful
    assert tokenizer.decode(tokenizer.encode_exact(b"a b")) == b"a b"


@settings(max_examples=80, deadline=None)
@given(at=st.lists(st.tuples(st.integers(0, 3_000), st.integers(0, 255)), min_size=1, max_size=4))
def test_changed_bytes_give_a_tokenizer_or_a_reason(
    tmp_path_factory: pytest.TempPathFactory, at: list[tuple[int, int]]
) -> None:
    path = write_ranks(tmp_path_factory.mktemp("ranks") / "x.tiktoken")
    data = bytearray(path.read_bytes())
    for place, value in at:
        data[place % len(data)] = value
    path.write_bytes(data)
    try:
        tokenizer = load_tokenizer(path)
    except TokenizerError:
        return
    assert len(tokenizer.token_bytes) == tokenizer.vocabulary_size


def test_a_declaration_can_widen_the_table(tmp_path: Path) -> None:
    path = write_ranks(tmp_path / "x.tiktoken")
    declare(path, {"pattern": PATTERN, "special_tokens": {"</s>": 300}, "vocabulary_size": 320})
    tokenizer = load_tokenizer(path)
    assert tokenizer.vocabulary_size == 320
    assert {290, 300, 319} <= tokenizer.special
    assert tokenizer.end_ids == (300,)
