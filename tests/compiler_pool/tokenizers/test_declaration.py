"""What an operator declares beside a tokenizer."""

import json
from pathlib import Path
from typing import Any

import pytest

from compiler_pool.errors import TokenizerError
from compiler_pool.tokenizer import load_tokenizer
from tests.compiler_pool.tiny_tokenizer import tokenizer_document, write_tokenizer
from tests.compiler_pool.tokenizers.worlds import byte_level_fields, declare, write_gguf


def _declared(tmp_path: Path, declaration: dict[str, Any]) -> Path:
    path = write_tokenizer(tmp_path / "t.json")
    declare(path, declaration)
    return path


def test_nothing_is_granted_unless_it_is_declared(tmp_path: Path) -> None:
    assert load_tokenizer(write_tokenizer(tmp_path / "t.json")).granted == {}


def test_a_grant_is_by_name_and_part_of_the_identity(tmp_path: Path) -> None:
    plain = load_tokenizer(write_tokenizer(tmp_path / "plain.json"))
    granted = load_tokenizer(_declared(tmp_path, {"granted_special_tokens": ["<|im_start|>"]}))
    assert granted.granted == {"<|im_start|>": 270}
    assert [difference.part for difference in plain.identity.differences(granted.identity)] == ["granted"]
    assert plain.digest != granted.digest


def test_a_directory_has_its_declaration_inside_and_a_file_beside_it(tmp_path: Path) -> None:
    directory = tmp_path / "model"
    directory.mkdir()
    write_tokenizer(directory / "tokenizer.json")
    declare(directory, {"granted_special_tokens": ["<|im_start|>"]})
    gguf = write_gguf(tmp_path / "model.Q4_1.gguf", byte_level_fields())
    (tmp_path / "model.Q4_1.schemagate.json").write_text('{"granted_special_tokens": ["<|im_start|>"]}')
    assert load_tokenizer(directory).digest == load_tokenizer(gguf).digest
    assert load_tokenizer(directory).granted == {"<|im_start|>": 270}


def test_declared_ends_come_after_named_ones_and_before_well_known_ones(tmp_path: Path) -> None:
    tokenizer = load_tokenizer(_declared(tmp_path, {"end_tokens": ["<|im_start|>"]}))
    assert tokenizer.end_ids == (270, 271, 269)


@pytest.mark.parametrize(
    ("declaration", "words"),
    [
        ({"granted": []}, "'granted' is none of"),
        ({"pattern": "x"}, "'pattern' is none of"),
        ({"granted_special_tokens": "<|im_start|>"}, "not a list of token names"),
        ({"granted_special_tokens": [270]}, "not a list of token names"),
        ({"granted_special_tokens": ["<nobody>"]}, "no special token is called '<nobody>'"),
        ({"granted_special_tokens": ["\ud800"]}, "no special token is called"),
        ({"granted_special_tokens": ["<|im_end|>"]}, "ends a text and cannot be granted"),
        ({"end_tokens": ["<nobody>"]}, "no special token is called '<nobody>'"),
        ({"vocabulary_size": 100}, "leaves out some of 272 tokens"),
        ({"vocabulary_size": True}, "vocabulary_size is not an integer"),
        ({"vocabulary_size": 1e30}, "vocabulary_size is not an integer"),
        ({"vocabulary_size": 2**40}, "vocabulary_size is not an integer"),
    ],
)
def test_a_declaration_that_means_nothing_is_refused(tmp_path: Path, declaration: dict[str, Any], words: str) -> None:
    with pytest.raises(TokenizerError, match=words):
        load_tokenizer(_declared(tmp_path, declaration))


def test_what_is_text_cannot_be_granted(tmp_path: Path) -> None:
    document = tokenizer_document()
    document["added_tokens"][1] |= {"content": "plain", "special": False}
    path = write_tokenizer(tmp_path / "t.json", document)
    declare(path, {"granted_special_tokens": ["plain"]})
    with pytest.raises(TokenizerError, match="'plain' is text"):
        load_tokenizer(path)


def test_a_declared_size_that_the_model_contradicts_is_refused(tmp_path: Path) -> None:
    write_tokenizer(tmp_path / "tokenizer.json")
    (tmp_path / "config.json").write_text(json.dumps({"vocab_size": 320}))
    declare(tmp_path, {"vocabulary_size": 320})
    assert load_tokenizer(tmp_path).vocabulary_size == 320
    declare(tmp_path, {"vocabulary_size": 352})
    with pytest.raises(TokenizerError, match="declared as 352, the model's is 320"):
        load_tokenizer(tmp_path)


def test_a_broken_declaration_is_refused_not_passed_over(tmp_path: Path) -> None:
    path = write_tokenizer(tmp_path / "t.json")
    for content in ("", "[]", "{", '{"end_tokens": [], "end_tokens": []}'):
        (tmp_path / "t.schemagate.json").write_text(content)
        with pytest.raises(TokenizerError, match=r"t\.schemagate\.json"):
            load_tokenizer(path)
