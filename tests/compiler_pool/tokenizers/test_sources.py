"""One tokenizer from any of its sources: the same bytes, the same identity, exact encodings."""

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler_pool.tokenizer import BoundTokenizer, load_tokenizer
from compiler_pool.tokenizers.reading import parse_object, read_text
from tests.compiler_pool.tiny_tokenizer import write_tokenizer
from tests.compiler_pool.tokenizers.worlds import (
    byte_level_fields,
    scored_document,
    scored_fields,
    unigram_document,
    write_gguf,
    write_ranks,
)

_SHARED = Path(os.environ.get("SCHEMAGATE_CORPORA", Path(__file__).parents[4] / "shared" / "corpora")).parent
_SOURCES = ("document", "gguf", "ranks", "scored document", "scored gguf", "unigram document")
_SENTENCEPIECE = {"scored document", "scored gguf", "unigram document"}


@cache
def _tokenizer(source: str) -> BoundTokenizer:
    with TemporaryDirectory() as directory:
        path = Path(directory)
        match source:
            case "document":
                return load_tokenizer(write_tokenizer(path / "t.json"))
            case "gguf":
                return load_tokenizer(write_gguf(path / "t.gguf", byte_level_fields()))
            case "ranks":
                return load_tokenizer(write_ranks(path / "t.tiktoken"))
            case "scored document":
                return load_tokenizer(write_tokenizer(path / "t.json", scored_document()))
            case "scored gguf":
                return load_tokenizer(write_gguf(path / "t.gguf", scored_fields()))
            case _:
                return load_tokenizer(write_tokenizer(path / "t.json", unigram_document()))


def test_one_byte_level_tokenizer_has_one_digest_from_each_source() -> None:
    document, gguf, ranks = (_tokenizer(source) for source in ("document", "gguf", "ranks"))
    assert document.identity.differences(gguf.identity) == ()
    assert document.identity.differences(ranks.identity) == ()
    assert document.digest == gguf.digest == ranks.digest


def test_one_sentencepiece_tokenizer_has_one_digest_from_each_source() -> None:
    document, gguf, unigram = (_tokenizer(source) for source in ("scored document", "scored gguf", "unigram document"))
    assert document.identity.differences(gguf.identity) == ()
    assert document.identity.differences(unigram.identity) == ()
    assert document.digest == gguf.digest == unigram.digest


_TEXTS = st.one_of(
    st.binary(max_size=60),
    st.text(max_size=40).map(str.encode),
    st.lists(
        st.sampled_from(
            [b"<|im_end|>", b"</s>", b"e\xcc\x81", "\u2581".encode(), b"  the", b"<0x41>", b"aaaa", b"\xe2"]
        )
    ).map(b"".join),
)


@pytest.mark.parametrize("source", _SOURCES)
@settings(max_examples=150, deadline=None)
@given(data=_TEXTS)
def test_an_exact_encoding_keeps_every_byte_and_uses_no_special_token(source: str, data: bytes) -> None:
    tokenizer = _tokenizer(source)
    data = data.replace(b"\xff", b"")
    ids = tokenizer.encode_exact(data)
    assert tokenizer.decode(ids) == data
    assert not tokenizer.special.intersection(ids)


@pytest.mark.parametrize("source", _SOURCES)
def test_no_byte_of_text_is_missing_and_splits_are_faithful(source: str) -> None:
    tokenizer = _tokenizer(source)
    assert tokenizer.missing_bytes == frozenset()
    assert tokenizer.is_faithful


def test_the_mark_of_spaces_is_misread_by_sentencepiece_only() -> None:
    assert {source for source in _SOURCES if "\u2581" in _tokenizer(source).misread} == _SENTENCEPIECE
    for source in _SOURCES:
        tokenizer = _tokenizer(source)
        assert {tokenizer.token_bytes[index].decode() for index in tokenizer.end_ids} <= tokenizer.misread


def test_the_spelling_of_a_byte_is_misread_where_the_model_finds_it_in_text() -> None:
    assert {source for source in _SOURCES if "<0x41>" in _tokenizer(source).misread} == {"unigram document"}


def _published(name: str) -> Path:
    path = _SHARED / "tokenizers" / f"{name}.json"
    if not path.is_file():
        pytest.skip(f"{path} is not here")
    return path


@pytest.mark.corpus
@pytest.mark.parametrize(
    ("name", "size", "ends"),
    [("qwen3", 151_669, (151_645, 151_643)), ("gpt-oss", 200_019, (200_002, 199_999, 200_007, 200_012))],
)
def test_published_tokenizers_load_with_all_their_ends(name: str, size: int, ends: tuple[int, ...]) -> None:
    tokenizer = load_tokenizer(_published(name))
    assert tokenizer.vocabulary_size == size
    assert tokenizer.end_ids == ends
    assert tokenizer.is_faithful
    for data in ('é e\u0301 {"a": [1]} <|im_end|>'.encode(), bytes(range(0xFF)), b" " * 300):
        assert tokenizer.decode(tokenizer.encode_exact(data)) == data


@pytest.mark.corpus
def test_ranks_of_a_published_tokenizer_are_that_tokenizer(tmp_path: Path) -> None:
    path = _published("gpt-oss")
    published = load_tokenizer(path)
    document = parse_object(read_text(path), path)
    splits = document["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"]
    names = {token["content"]: token["id"] for token in document["added_tokens"]}
    ranks = {data: at for at, data in enumerate(published.token_bytes) if at not in names.values()}
    declaration = {"pattern": splits, "special_tokens": names}
    tokenizer = load_tokenizer(write_ranks(tmp_path / "o200k.tiktoken", ranks, declaration))
    assert tokenizer.identity.differences(published.identity) == ()
    assert tokenizer.digest == published.digest
    for text in _sentences():
        assert tokenizer.encode_exact(text) == published.encode_exact(text)


def _sentences() -> Iterator[bytes]:
    yield '{"name": "Zoë", "items": [1, 23, 4567], "note": "it\'s  fine"}\n\n'.encode()
    yield "def f(x):\n\treturn x + 1  # 中文 \U0001f600".encode()
