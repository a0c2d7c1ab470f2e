"""A grammar may name the special tokens that the tokenizer's declaration grants, and no other."""

from pathlib import Path

import pytest

from compiler_pool.tokenizer import BoundTokenizer, load_tokenizer
from compiler_pool.trial import Passed, TrialFailed, TrialOutcome, try_grammar
from policy.limits import LIMIT_CLASSES
from tests.compiler_pool.tiny_tokenizer import write_tokenizer
from tests.compiler_pool.tokenizers.worlds import declare

_LIMITS = LIMIT_CLASSES["tenant"]


def _tokenizer(tmp_path: Path, *granted: str) -> BoundTokenizer:
    path = write_tokenizer(tmp_path / "t.json")
    declare(path, {"granted_special_tokens": list(granted), "vocabulary_size": 300})
    return load_tokenizer(path)


def _tried(grammar: str, tokenizer: BoundTokenizer) -> TrialOutcome:
    return try_grammar(grammar, tokenizer, engine=_LIMITS.engine, trial=_LIMITS.trial)


def test_what_is_neither_text_nor_granted_nor_an_end_is_withheld(tmp_path: Path) -> None:
    assert _tokenizer(tmp_path).withheld == {255, 270, *range(272, 300)}
    assert _tokenizer(tmp_path, "<|im_start|>").withheld == {255, *range(272, 300)}


@pytest.mark.parametrize("grammar", ["start: <|im_start|>", 'start: "a" <[270]>', "start: <|im_start|> | /[a-z]+/"])
def test_a_special_token_needs_a_grant(tmp_path: Path, grammar: str) -> None:
    assert _tried(grammar, _tokenizer(tmp_path)) == TrialFailed(reason="special_token")
    assert isinstance(_tried(grammar, _tokenizer(tmp_path, "<|im_start|>")), Passed)


def test_padding_cannot_be_named_at_all(tmp_path: Path) -> None:
    outcome = _tried("start: <[280]>", _tokenizer(tmp_path, "<|im_start|>"))
    assert outcome == TrialFailed(reason="special_token")


def test_the_name_of_a_special_token_as_text_needs_no_grant(tmp_path: Path) -> None:
    grammar = '%llguidance {"no_forcing": true}\nstart: "<|im_start|>"'
    assert isinstance(_tried(grammar, _tokenizer(tmp_path)), Passed)
