"""The soak in small: everything at once for some seconds, then the books."""

from pathlib import Path

from compiler_pool.tokenizer import BoundTokenizer
from tests.benchmarks.soak import soaked


def test_after_everything_at_once_all_books_are_balanced_and_nothing_false_was_said(
    tiny_directory: Path, tokenizer: BoundTokenizer
) -> None:
    assert soaked(tiny_directory, tokenizer, minutes=0.25, seed=3, num_schemas=2) == []
