"""Lark through the engine: what its expressions mean there, and what is left out because it leads nowhere."""

from tests.compiler_pool.kinds.generation import Generation

SIX = "\u06f6"
"""A digit that is not ASCII's."""


def test_digits_that_are_not_ascii_are_digits_to_engine_pruning_and_judge() -> None:
    digits = Generation("lark", r"start: /\d+/")
    assert digits.generates(f"1{SIX}")
    assert digits.disagreements([f"1{SIX}", "1", "", "a", "\u00b2"]) == []


def test_what_is_empty_only_by_ascii_digits_is_not_left_out() -> None:
    for others in (r"/\d/ & ~/[0-9]/", r"/[^\D0-9]/"):
        contract = Generation("lark", f'start: "a" | "b" OTHERS\nOTHERS: {others}')
        assert [contract.generates(text) for text in ("a", f"b{SIX}", "b1", "b")] == [True, True, False, False]
        assert contract.disagreements(["a", f"b{SIX}", "b1", "b"]) == []


def test_what_is_empty_only_by_unicodes_digits_is_left_out() -> None:
    contract = Generation("lark", f'start: "a" | "b" NONE\nNONE: /\\D/ & /[{SIX}]/')
    assert {contract.walk(seed) for seed in range(20)} == {"a"}
