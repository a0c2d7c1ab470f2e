"""A `tokenizer.json` and its companions, broken in every way that was thought of."""

import copy
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compiler_pool.errors import TokenizerError
from compiler_pool.tokenizer import load_tokenizer
from compiler_pool.tokenizers.reading import MAX_FILE_BYTES, MAX_OBJECTS, MAX_VALUES
from tests.compiler_pool.tiny_tokenizer import tokenizer_document, write_tokenizer
from tests.compiler_pool.tokenizers.worlds import scored_document

_Change = Callable[[dict[str, Any]], object]


def _with_piece(piece: str, index: Any) -> _Change:
    return lambda document: document["model"]["vocab"].__setitem__(piece, index)


def _with_added(at: int, **members: Any) -> _Change:
    return lambda document: document["added_tokens"][at].update(members)


def _with_model(**members: Any) -> _Change:
    return lambda document: document["model"].update(members)


def _with(**members: Any) -> _Change:
    return lambda document: document.update(members)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_with_piece("zz", 97), "two pieces of the vocabulary have one id"),
        (_with_piece("zz", -1), "token ids run from -1"),
        (_with_piece("zz", 2**31), "allowed are 0 to 1048575"),
        (_with_piece("zz", 10**30), "allowed are 0 to 1048575"),
        (_with_piece("zz", 300), "something else to the engine"),  # which numbers without gaps
        (_with_piece("zz", True), "malformed"),
        (_with_piece("zz", 1.0), "malformed"),
        (_with_piece("zz", None), "malformed"),
        (_with_piece("z" * 1001, 272), "1001 bytes; at most 1000"),
        (_with_piece("\ud800", 272), "byte-level alphabet"),
        (_with_model(vocab={}), "the engine does not take it"),
        (_with_model(vocab=[[1, 0.5], [1, 0.5]]), "one piece of the vocabulary has two ids"),
        (_with_model(vocab=[["a"], []]), "malformed"),
        (_with_model(vocab="abc"), "no vocabulary"),
        (_with_model(merges=["a"]), "the engine does not take it"),
        (_with_model(merges=["zz yy"]), "the engine does not take it"),
        (_with_model(merges=[["a", "b", "c"]]), "the engine does not take it"),
        (_with_model(merges=7), "the engine does not take it"),
        (_with_model(continuing_subword_prefix="##"), "continuing_subword_prefix"),
        (_with_model(end_of_word_suffix="</w>"), "end_of_word_suffix"),
        (_with_added(0, id=97), "id 97 is a piece of the vocabulary and the added token"),
        (_with_added(0, id=270), "two added tokens have one id or one text"),
        (_with_added(0, content="<|im_end|>"), "two added tokens have one id or one text"),
        (_with_added(0, id=-1), "run from -1"),
        (_with_added(0, id="269"), "malformed"),
        (_with_added(0, id=400), "something else to the engine|is no token|does not take it"),
        (_with_added(0, content=""), "malformed"),
        (_with_added(0, content=None), "malformed"),
        (_with_added(0, content="\ud800"), "malformed"),
        (_with_added(0, content="<" + "x" * 1000 + ">"), "1002 bytes"),
        (_with(model=None), "malformed"),
        (_with(model=[]), "malformed"),
        (_with(added_tokens=7), "malformed"),
        (_with(added_tokens=[7]), "malformed"),
        (_with(added_tokens=[]), "no end-of-sequence"),
        (_with(decoder=7), "malformed"),
        (_with(decoder={"type": "Sequence", "decoders": 7}), "malformed"),
        (_with(decoder=None, pre_tokenizer=None), "neither byte-level nor SentencePiece"),
        (_with(normalizer={"type": "Nobody"}), "the engine does not take it"),
        (_with(normalizer=7), "malformed"),
        (_with(pre_tokenizer={"type": "ByteLevel"}), "the engine does not take it"),
    ],
)
def test_a_broken_document_is_refused_with_a_reason(tmp_path: Path, change: _Change, words: str) -> None:
    document = tokenizer_document()
    change(document)
    with pytest.raises(TokenizerError, match=words) as caught:
        load_tokenizer(write_tokenizer(tmp_path / "t.json", document))
    assert len(str(caught.value)) < 1_000


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is not JSON"),
        ("\ufeff{}", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ('{"a":' * 100_000, "is not JSON"),
        ('{"model": {"vocab": {"a": 0, "a": 1}}}', "the name 'a' is there twice"),
        ('{"model": {"vocab": {"a": NaN}}}', "NaN is no number"),
        ('{"model": {"vocab": {"a": -Infinity}}}', "-Infinity is no number"),
        ('{"model": {"vocab": {"a": ' + "9" * 5_000 + "}}}", "is not JSON"),
        ("7", "not a JSON object"),
        ('{"model": [' + "0," * (MAX_VALUES + 1) + "0]}", "values"),
        ('{"model": "' + "{" * (MAX_OBJECTS + 1) + '"}', "objects"),
    ],
)
def test_a_text_that_is_no_document_is_refused_with_a_reason(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "t.json").write_text(text, encoding="utf-8")
    with pytest.raises(TokenizerError, match=words):
        load_tokenizer(tmp_path / "t.json")


def test_bytes_that_are_no_text_or_too_many_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_bytes(b'{"model": "\xff"}')
    with pytest.raises(TokenizerError, match="cannot be read"):
        load_tokenizer(path)
    with path.open("wb") as stream:
        stream.truncate(MAX_FILE_BYTES + 1)
    with pytest.raises(TokenizerError, match="larger than"):
        load_tokenizer(path)


def test_what_would_never_end_is_not_read(tmp_path: Path) -> None:
    pipe = tmp_path / "t.json"
    os.mkfifo(pipe)
    with pytest.raises(TokenizerError, match="cannot be read"):
        load_tokenizer(pipe)
    with pytest.raises(TokenizerError, match="cannot be read"):
        load_tokenizer(tmp_path / "no\0where.json")


@pytest.mark.parametrize(
    ("name", "members", "words"),
    [
        ("config", {"vocab_size": True}, "not an integer"),
        ("config", {"vocab_size": 300.0}, "not an integer"),
        ("config", {"vocab_size": "300"}, "not an integer"),
        ("config", {"vocab_size": 0}, "leaves out"),
        ("config", {"vocab_size": -5}, "leaves out"),
        ("config", {"vocab_size": 271}, "vocab_size 271 leaves out some of 272 tokens"),
        ("config", {"vocab_size": 2**62}, "at most 1048576"),
        ("config", {"text_config": {"vocab_size": 100}}, "leaves out"),
        ("config", {"text_config": []}, None),
        ("config", {"text_config": [1]}, "not an object"),
        ("config", {"eos_token_id": True}, "eos_token_id is True"),
        ("config", {"eos_token_id": [1.5]}, "eos_token_id"),
        ("config", {"eos_token_id": "271"}, "eos_token_id"),
        ("generation_config", {"eos_token_id": {"a": 1}}, "eos_token_id"),
        ("generation_config", {"eos_token_id": [-1]}, "end-of-sequence id -1 is no token"),
        ("generation_config", {"eos_token_id": 10**30}, "is no token"),
        ("generation_config", {"eos_token_id": 272}, "end-of-sequence id 272 is no token"),
        ("generation_config", {"eos_token_id": 97}, "end-of-sequence id 97 is the text b'a'"),
        ("tokenizer_config", {"eos_token": 7}, None),
        ("tokenizer_config", {"eos_token": {"content": ["x"]}}, None),
    ],
)
def test_companions_that_contradict_the_table_are_refused(
    tmp_path: Path, name: str, members: dict[str, Any], words: str | None
) -> None:
    write_tokenizer(tmp_path / "tokenizer.json")
    (tmp_path / f"{name}.json").write_text(json.dumps(members), encoding="utf-8")
    if words is None:
        assert load_tokenizer(tmp_path).end_ids == (271, 269)
        return
    with pytest.raises(TokenizerError, match=words):
        load_tokenizer(tmp_path)


def test_padding_truncation_and_dropout_do_not_reach_the_engine(tmp_path: Path) -> None:
    document = tokenizer_document() | {
        "truncation": {"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0},
        "padding": {
            "strategy": {"Fixed": 20}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0, "pad_type_id": 0,
            "pad_token": "<|endoftext|>",
        },
    }  # fmt: skip
    document["model"]["dropout"] = 0.9
    plain = load_tokenizer(write_tokenizer(tmp_path / "plain.json"))
    changed = load_tokenizer(write_tokenizer(tmp_path / "changed.json", document))
    text = b"the true the true the true"
    assert changed.engine.tokenize_bytes(text) == plain.engine.tokenize_bytes(text)
    assert changed.digest == plain.digest


def test_space_before_the_document_does_no_harm(tmp_path: Path) -> None:
    plain = load_tokenizer(write_tokenizer(tmp_path / "plain.json"))
    (tmp_path / "t.json").write_text(" \n\t" + json.dumps(tokenizer_document()), encoding="utf-8")
    assert load_tokenizer(tmp_path / "t.json").digest == plain.digest


_JUNK: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, -1, 0, 7, 2**40, 0.5, "", "a", "\ud800", [], [[]], {}, {"type": "Sequence"}]
)


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), is_scored=st.booleans())
def test_any_member_exchanged_gives_a_tokenizer_or_a_reason(
    tmp_path: Path, data: st.DataObject, *, is_scored: bool
) -> None:
    document = scored_document() if is_scored else copy.deepcopy(tokenizer_document())
    where: Any = document
    while True:
        keys = list(where) if isinstance(where, dict) else list(range(len(where)))
        key = data.draw(st.sampled_from(keys))
        inner = where[key]
        if not isinstance(inner, dict | list) or not inner or data.draw(st.booleans()):
            where[key] = data.draw(_JUNK)
            break
        where = inner
    try:
        tokenizer = load_tokenizer(write_tokenizer(tmp_path / "t.json", document))
    except TokenizerError:
        return
    assert len(tokenizer.token_bytes) == tokenizer.vocabulary_size
    assert tokenizer.decode(tokenizer.encode_exact(b"a")) == b"a"
