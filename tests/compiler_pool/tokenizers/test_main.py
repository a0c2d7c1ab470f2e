"""The command that tells what sets two tokenizers apart."""

from pathlib import Path

import pytest

from compiler_pool.tokenizers.__main__ import main
from tests.compiler_pool.tiny_tokenizer import tokenizer_document, write_tokenizer
from tests.compiler_pool.tokenizers.worlds import byte_level_fields, write_gguf


def test_one_tokenizer_from_two_files_is_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = write_tokenizer(tmp_path / "t.json")
    gguf = write_gguf(tmp_path / "t.gguf", byte_level_fields())
    assert main([str(document), str(gguf)]) == 0
    first, second = (line for line in capsys.readouterr().out.splitlines() if line.startswith("sha256:"))
    assert first == second


def test_what_differs_is_printed_by_part(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain = write_tokenizer(tmp_path / "t.json")
    composing = write_tokenizer(tmp_path / "n.json", tokenizer_document(normaliser={"type": "NFC"}))
    assert main([str(plain), str(composing)]) == 1
    assert capsys.readouterr().out.endswith('normaliser:\n  null\n  {"type": "NFC"}\n')


def test_what_is_no_tokenizer_is_said_on_standard_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "nothing.json")]) == 2
    assert "cannot be read" in capsys.readouterr().err
    assert main([]) == 2
