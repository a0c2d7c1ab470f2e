"""Padding is never sampled, and special tokens are offered by a grammar only where they were granted."""

import json
from pathlib import Path

import numpy as np

from compiler_pool.tokenizer import BoundTokenizer, load_tokenizer
from inference_node.bitmask_row import Bitmask, offered_tokens_bitmask, real_tokens_bitmask
from tests.compiler_pool.tiny_tokenizer import write_tokenizer


def _tokenizer(directory: Path, *, granted: list[str], vocabulary_size: int) -> BoundTokenizer:
    directory.mkdir()
    write_tokenizer(directory / "tokenizer.json")
    declaration = {"granted_special_tokens": granted, "vocabulary_size": vocabulary_size}
    (directory / "schemagate.json").write_text(json.dumps(declaration))
    return load_tokenizer(directory)


def _ids(row: Bitmask) -> set[int]:
    return set(np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist())


def test_padding_is_no_real_token(tmp_path: Path) -> None:
    padded = real_tokens_bitmask(_tokenizer(tmp_path / "padded", granted=[], vocabulary_size=333))
    assert padded is not None
    assert padded.shape == (11,)
    assert _ids(padded) == set(range(272))
    assert real_tokens_bitmask(_tokenizer(tmp_path / "exact", granted=[], vocabulary_size=272)) is None


def test_a_grammar_offers_text_and_ends_and_what_was_granted(tmp_path: Path) -> None:
    plain = _tokenizer(tmp_path / "plain", granted=[], vocabulary_size=333)
    granted = _tokenizer(tmp_path / "granted", granted=["<|im_start|>"], vocabulary_size=333)
    assert _ids(offered_tokens_bitmask(plain)) == set(range(272)) - {255, 270}
    assert _ids(offered_tokens_bitmask(granted)) == set(range(272)) - {255}
