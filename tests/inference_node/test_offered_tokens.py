"""Padding is never sampled, and special tokens are offered by a grammar only where they were granted."""

import json
from pathlib import Path

import numpy as np
import pytest

from compiler_pool.tokenizer import BoundTokenizer, load_tokenizer
from inference_node.bitmask_row import Bitmask, Offer, offer_rule, offered_tokens_bitmask, real_tokens_bitmask
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


@pytest.mark.parametrize(
    ("ids", "offer"),
    [
        (set(), Offer(anything=False, ends=False, is_one=False)),
        ({0}, Offer(anything=True, ends=False, is_one=True)),
        ({31}, Offer(anything=True, ends=False, is_one=True)),
        ({63, 255}, Offer(anything=True, ends=False, is_one=True)),  # the second is withheld
        ({0, 31}, Offer(anything=True, ends=False, is_one=False)),
        ({1, 33}, Offer(anything=True, ends=False, is_one=False)),
        ({271}, Offer(anything=True, ends=True, is_one=True)),
        ({7, 271}, Offer(anything=True, ends=True, is_one=False)),
        ({255, 270, 300}, Offer(anything=False, ends=False, is_one=False)),
    ],
)
def test_what_a_row_offers_is_told_alike_of_one_and_of_several(ids: set[int], offer: Offer, tmp_path: Path) -> None:
    tokenizer = _tokenizer(tmp_path / "padded", granted=[], vocabulary_size=333)
    rows = np.zeros((3, 11), dtype=np.int32)
    for number in ids:
        rows.view(np.uint32)[1, number // 32] |= np.uint32(1 << number % 32)
    together = rows.copy()
    assert offer_rule(tokenizer).apply(rows[1]) == offer
    told = offer_rule(tokenizer).apply_to_rows(together, np.array([0, 1], dtype=np.intp))
    assert told == [Offer(anything=False, ends=False, is_one=False), offer]
    assert (together == rows).all()
