"""A tokenizer's bytes and identity."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler_pool.errors import TokenizerError
from compiler_pool.tokenizer import load_tokenizer
from compiler_pool.tokenizers.token_table import read_token_table
from tests.compiler_pool.tiny_tokenizer import tiny_tokenizer, tokenizer_document, write_tokenizer


def _directory(path: Path, **files: dict[str, Any]) -> Path:
    path.mkdir()
    write_tokenizer(path / "tokenizer.json")
    for name, members in files.items():
        (path / f"{name}.json").write_text(json.dumps(members), encoding="utf-8")
    return path


def test_every_byte_has_a_token_and_special_tokens_are_no_text() -> None:
    tokenizer = tiny_tokenizer()
    assert [tokenizer.token_bytes[index] for index in range(256)] == [bytes([byte]) for byte in range(256)]
    assert {269, 270, 271} <= tokenizer.special
    assert tokenizer.end_ids == (271, 269)


@settings(max_examples=200, deadline=None)
@given(st.one_of(st.binary(max_size=60), st.text(max_size=40).map(str.encode), st.just(b"a<|im_end|>e\xcc\x81")))
def test_an_exact_encoding_keeps_every_byte_and_uses_no_special_token(data: bytes) -> None:
    tokenizer = tiny_tokenizer()
    data = data.replace(b"\xff", b"")
    ids = tokenizer.encode_exact(data)
    assert tokenizer.decode(ids) == data
    assert not tokenizer.special.intersection(ids)


def test_normalisation_does_not_change_what_is_encoded(tmp_path: Path) -> None:
    path = write_tokenizer(tmp_path / "t.json", tokenizer_document(normaliser={"type": "NFC"}))
    tokenizer = load_tokenizer(path)
    decomposed = "e\u0301".encode()
    assert tokenizer.decode(tokenizer.encode_exact(decomposed)) == decomposed


def test_a_byte_without_a_token_is_said(tmp_path: Path) -> None:
    with pytest.raises(TokenizerError, match="0xff"):
        load_tokenizer(write_tokenizer(tmp_path / "t.json")).encode_exact(b"\xff")


def test_the_digest_changes_with_whatever_decides_bytes_or_ends(tmp_path: Path) -> None:
    plain = load_tokenizer(_directory(tmp_path / "plain"))
    same = load_tokenizer(_directory(tmp_path / "same", config={"vocab_size": 272}))
    other_end = load_tokenizer(_directory(tmp_path / "end", generation_config={"eos_token_id": 270}))
    padded = load_tokenizer(_directory(tmp_path / "padded", config={"vocab_size": 320}))
    renamed = tokenizer_document()
    renamed["model"]["vocab"] = dict(renamed["model"]["vocab"])
    swapped = renamed["model"]["vocab"]
    swapped["A"], swapped["B"] = swapped["B"], swapped["A"]
    other_bytes = load_tokenizer(write_tokenizer(tmp_path / "bytes.json", renamed))
    nfc = load_tokenizer(write_tokenizer(tmp_path / "nfc.json", tokenizer_document(normaliser={"type": "NFC"})))
    assert plain.digest == same.digest
    assert len({tokenizer.digest for tokenizer in (plain, other_end, padded, other_bytes, nfc)}) == 5


def test_end_ids_are_the_union_of_what_the_files_say(tmp_path: Path) -> None:
    directory = _directory(
        tmp_path / "model",
        generation_config={"eos_token_id": [271, 270]},
        config={"eos_token_id": 270, "vocab_size": 280},
        tokenizer_config={"eos_token": {"content": "<|endoftext|>"}},
    )
    tokenizer = load_tokenizer(directory)
    assert tokenizer.end_ids == (271, 270, 269)
    assert tokenizer.vocabulary_size == 280
    assert tokenizer.name == "model"
    assert tokenizer.token_bytes[279] == b""


def test_sentencepiece_pieces_are_read_as_bytes() -> None:
    document = {
        "model": {"vocab": {"<0x41>": 0, "\u2581the": 1, "<0x4>": 2}},
        "decoder": {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"}]},
        "added_tokens": [{"id": 4, "content": "</s>"}],
    }
    table = read_token_table(document, path="x")
    assert table.token_bytes == (b"A", b" the", b"<0x4>", b"", b"</s>")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "is not JSON"),
        ("[]", "not a JSON object"),
        ("{}", "malformed"),
        ('{"model":{"vocab":{"a":0}},"decoder":{"type":"WordPiece"}}', "neither"),
        ('{"model":{"vocab":{"\u4e00":0}},"decoder":{"type":"ByteLevel"}}', "byte-level alphabet"),
        ('{"model":{},"decoder":{"type":"ByteLevel"}}', "no vocabulary"),
        ('{"model":{"vocab":{"a":0}},"decoder":{"type":"ByteLevel"}}', "no end-of-sequence"),
    ],
)
def test_files_that_make_no_tokenizer_are_refused_with_a_reason(tmp_path: Path, content: str, words: str) -> None:
    (tmp_path / "tokenizer.json").write_text(content, encoding="utf-8")
    with pytest.raises(TokenizerError, match=words):
        load_tokenizer(tmp_path)


def test_a_missing_file_and_a_vocabulary_that_does_not_fit_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TokenizerError, match="cannot be read"):
        load_tokenizer(tmp_path / "nothing.json")
    with pytest.raises(TokenizerError, match="leaves out"):
        load_tokenizer(_directory(tmp_path / "small", config={"vocab_size": 100}))
