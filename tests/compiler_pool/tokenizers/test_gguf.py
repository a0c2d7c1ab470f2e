"""The vocabulary of GGUF files, whole and broken."""

import os
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler_pool.errors import TokenizerError
from compiler_pool.tokenizer import load_tokenizer
from compiler_pool.tokenizers.gguf_header import read_gguf_header
from compiler_pool.tokenizers.reading import parse_object, read_text
from tests.compiler_pool.tokenizers.worlds import (
    CONTROL,
    NORMAL,
    UNUSED,
    USER_DEFINED,
    byte_level_fields,
    scored_fields,
    write_gguf,
)

_SHARED = Path(os.environ.get("SCHEMAGATE_CORPORA", Path(__file__).parents[4] / "shared" / "corpora")).parent


def _with_tokens(*tokens: tuple[str, int]) -> dict[str, Any]:
    """The byte-level vocabulary with more tokens at its end."""
    fields = byte_level_fields()
    fields["tokenizer.ggml.tokens"] += [text for text, _ in tokens]
    fields["tokenizer.ggml.token_type"] += [kind for _, kind in tokens]
    return fields


def test_fields_of_every_type_and_shapes_are_read(tmp_path: Path) -> None:
    fields = {"a": 7, "b": True, "c": 0.5, "d": "é", "e": [1, 2], "f": ["x", ""], "g": [], "h": [0.25]}
    header = read_gguf_header(write_gguf(tmp_path / "x.gguf", fields, tensors={"t": (3, 5)}))
    assert header.fields == fields
    assert header.shapes == {"t": (3, 5)}


def test_unused_tokens_at_the_end_are_padding_and_between_others_special(tmp_path: Path) -> None:
    fields = _with_tokens(("[PAD0]", UNUSED), ("<tool>", USER_DEFINED), ("[PAD1]", UNUSED), ("[PAD2]", UNUSED))
    tokenizer = load_tokenizer(write_gguf(tmp_path / "x.gguf", fields))
    assert tokenizer.vocabulary_size == 276
    assert {272, 274, 275} <= tokenizer.special
    assert tokenizer.token_bytes[272:] == (b"[PAD0]", b"<tool>", b"", b"")


def test_user_defined_text_keeps_its_bytes(tmp_path: Path) -> None:
    tokenizer = load_tokenizer(write_gguf(tmp_path / "x.gguf", _with_tokens(("\n\n é", USER_DEFINED))))
    assert tokenizer.token_bytes[272] == "\n\n é".encode()
    assert 272 not in tokenizer.special


def test_every_end_field_and_every_well_known_end_ends(tmp_path: Path) -> None:
    fields = _with_tokens(("<stop>", CONTROL), ("<|eom_id|>", CONTROL)) | {"tokenizer.ggml.eot_token_id": 272}
    tokenizer = load_tokenizer(write_gguf(tmp_path / "x.gguf", fields))
    assert tokenizer.end_ids == (271, 272, 269, 273)


@pytest.mark.parametrize(
    ("tensors", "extra", "width"),
    [
        ({}, {}, 272),
        ({}, {"llama.vocab_size": 300}, 300),
        ({"token_embd.weight": (8, 320)}, {"llama.vocab_size": 300}, 320),
        ({"token_embd.weight": (8, 320), "output.weight": (8, 352)}, {}, 352),
    ],
)
def test_the_width_is_that_of_the_logits(
    tmp_path: Path, tensors: dict[str, tuple[int, ...]], extra: dict[str, Any], width: int
) -> None:
    path = write_gguf(tmp_path / "x.gguf", byte_level_fields() | extra, tensors=tensors)
    assert load_tokenizer(path).vocabulary_size == width


def test_a_vocabulary_without_space_prefix_has_another_normaliser(tmp_path: Path) -> None:
    prefixed = load_tokenizer(write_gguf(tmp_path / "a.gguf", scored_fields()))
    plain = load_tokenizer(
        write_gguf(tmp_path / "b.gguf", scored_fields() | {"tokenizer.ggml.add_space_prefix": False})
    )
    (difference,) = prefixed.identity.differences(plain.identity)
    assert difference.part == "normaliser"


def test_text_that_spells_a_byte_piece_never_joins_to_the_byte(tmp_path: Path) -> None:
    fields = scored_fields()
    pieces = ["<0", "x4", "1>", "x41>"]
    fields["tokenizer.ggml.tokens"] += pieces
    fields["tokenizer.ggml.scores"] += [1.0] * len(pieces)
    fields["tokenizer.ggml.token_type"] += [NORMAL] * len(pieces)
    tokenizer = load_tokenizer(write_gguf(tmp_path / "x.gguf", fields))
    assert [tokenizer.token_bytes[index] for index in tokenizer.encode_exact(b"<0x41>")] == [b"<0", b"x41>"]
    assert "<0x41>" not in tokenizer.misread


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"tokenizer.ggml.model": "bert"}, "gpt2 and llama are read"),
        ({"tokenizer.ggml.model": 3}, "missing or of another type"),
        ({"tokenizer.ggml.pre": "nobody"}, "tokenizer.ggml.pre is 'nobody'"),
        ({"tokenizer.ggml.tokens": [1, 2]}, "tokenizer.ggml.tokens is missing or of another type"),
        ({"tokenizer.ggml.tokens": []}, "token types for 0 tokens"),
        ({"tokenizer.ggml.tokens": [], "tokenizer.ggml.token_type": []}, "the vocabulary is empty"),
        ({"tokenizer.ggml.token_type": [9] * 272}, "type 9"),
        ({"tokenizer.ggml.token_type": [NORMAL] * 3}, "3 token types for 272 tokens"),
        ({"tokenizer.ggml.merges": ["a"]}, "the engine does not take it"),
        ({"tokenizer.ggml.merges": ["zz yy"]}, "the engine does not take it"),
        ({"tokenizer.ggml.eos_token_id": 4_000_000_000}, "is no token"),
        ({"tokenizer.ggml.eos_token_id": 0.5}, "not an integer"),
        ({"tokenizer.ggml.eos_token_id": 64}, "end-of-sequence id 64 is the text b'@'"),
        ({"llama.vocab_size": 100}, "leaves out"),
        ({"llama.vocab_size": 4_000_000_000}, "at most"),
        ({"llama.vocab_size": "many"}, "no integer"),
    ],
)
def test_what_makes_no_tokenizer_is_refused_with_a_reason(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(TokenizerError, match=words):
        load_tokenizer(write_gguf(tmp_path / "x.gguf", byte_level_fields() | changes))


def test_duplicates_and_scores_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TokenizerError, match="two ids"):
        load_tokenizer(write_gguf(tmp_path / "x.gguf", _with_tokens(("a", NORMAL))))
    with pytest.raises(TokenizerError, match="one id or one text"):
        load_tokenizer(write_gguf(tmp_path / "x.gguf", _with_tokens(("<|im_end|>", CONTROL))))
    with pytest.raises(TokenizerError, match="1 scores"):
        load_tokenizer(write_gguf(tmp_path / "x.gguf", scored_fields() | {"tokenizer.ggml.scores": [0.5]}))
    scores = [float("nan")] * len(scored_fields()["tokenizer.ggml.tokens"])
    with pytest.raises(TokenizerError, match="not a number"):
        load_tokenizer(write_gguf(tmp_path / "x.gguf", scored_fields() | {"tokenizer.ggml.scores": scores}))


@pytest.mark.corpus
@pytest.mark.parametrize(("name", "way", "apart"), [("qwen3", "qwen2", ["normaliser"]), ("gpt-oss", "gpt-4o", [])])
def test_a_published_vocabulary_told_as_gguf_differs_in_its_normaliser_at_most(
    tmp_path: Path, name: str, way: str, apart: list[str]
) -> None:
    path = _SHARED / "tokenizers" / f"{name}.json"
    if not path.is_file():
        pytest.skip(f"{path} is not here")
    document = parse_object(read_text(path), path)
    tokens = {index: (piece, NORMAL) for piece, index in document["model"]["vocab"].items()}
    for token in document["added_tokens"]:
        tokens[token["id"]] = (token["content"], CONTROL if token["special"] else USER_DEFINED)
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in document["model"]["merges"]]
    fields = {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": way,
        "tokenizer.ggml.tokens": [tokens[index][0] for index in range(len(tokens))],
        "tokenizer.ggml.token_type": [tokens[index][1] for index in range(len(tokens))],
        "tokenizer.ggml.merges": merges,
    }
    published, told = load_tokenizer(path), load_tokenizer(write_gguf(tmp_path / "x.gguf", fields))
    assert [difference.part for difference in published.identity.differences(told.identity)] == apart
    for text in ("Hello wörld 12345 it's\n\n  x", '{"a":[1,2],"b c":"中文"}'):
        assert told.encode_exact(text.encode()) == published.encode_exact(text.encode())


def _field(name: bytes, rest: bytes) -> bytes:
    return struct.pack("<Q", len(name)) + name + rest


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "broken off"),
        (b"GGML" + bytes(20), "not a GGUF file"),
        (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "version"),
        (b"GGUF" + struct.pack("<IQQ", 1, 0, 0), "version 1"),
        (b"GGUF" + struct.pack("<IQQ", 3, 2**63, 0), "are read"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 2**63), "are read"),
        (b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 2**62), "larger than"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + _field(b"\xff", b""), "not UTF-8"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + _field(b"a", struct.pack("<I", 77)), "unknown type 77"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + _field(b"a", struct.pack("<IIQ", 9, 9, 1)), "nested type"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + _field(b"a", struct.pack("<IIQ", 9, 8, 2**40)), "items"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + _field(b"a", struct.pack("<IIQ", 9, 10, 2**20)), "broken off"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 2) + 2 * _field(b"a", struct.pack("<IB", 0, 1)), "there twice"),
        (b"GGUF" + struct.pack("<IQQ", 3, 1, 0) + _field(b"t", struct.pack("<I", 2**31)), "dimensions"),
    ],
)
def test_a_broken_header_is_refused_with_a_reason(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "x.gguf"
    path.write_bytes(content)
    with pytest.raises(TokenizerError, match=words):
        load_tokenizer(path)


def test_a_file_broken_off_anywhere_is_refused(tmp_path: Path) -> None:
    content = write_gguf(tmp_path / "whole.gguf", byte_level_fields(), tensors={"token_embd.weight": (8, 272)})
    data = content.read_bytes()
    path = tmp_path / "x.gguf"
    for length in range(0, len(data), 61):
        path.write_bytes(data[:length])
        with pytest.raises(TokenizerError, match=r"broken off"):
            read_gguf_header(path)


@settings(max_examples=150, deadline=None)
@given(at=st.lists(st.tuples(st.integers(0, 7_000), st.integers(0, 255)), min_size=1, max_size=4))
def test_changed_bytes_give_a_tokenizer_or_a_reason(
    tmp_path_factory: pytest.TempPathFactory, at: list[tuple[int, int]]
) -> None:
    path = tmp_path_factory.mktemp("gguf") / "x.gguf"
    data = bytearray(write_gguf(path, byte_level_fields(), tensors={"token_embd.weight": (8, 272)}).read_bytes())
    for place, value in at:
        data[place % len(data)] = value
    path.write_bytes(data)
    try:
        tokenizer = load_tokenizer(path)
    except TokenizerError:
        return
    assert len(tokenizer.token_bytes) == tokenizer.vocabulary_size
