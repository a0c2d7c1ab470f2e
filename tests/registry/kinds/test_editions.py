"""A canonical text depends on no edition of Unicode: a digest that was given must be found again by later readers."""

import unicodedata

import pytest

from registry.contract import ContractKind as Kind
from tests.registry.kinds.contracts import read

UNASSIGNED = "\U0001fb99"
FORMAT = "\u200b"
PRIVATE = "\ue000"
LATIN = "é"


@pytest.mark.parametrize("character", [UNASSIGNED, FORMAT, PRIVATE, LATIN, "\U0010fffe", "\xa1", "\u0378"])
@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (Kind.REGEX, "a{}"),
        (Kind.REGEX, "[a{}]"),
        (Kind.LARK, "start: /a{}/"),
        (Kind.LARK, 'start: "a{}"'),
        (Kind.GBNF, 'root ::= "a{}"'),
        (Kind.GBNF, "root ::= [a{}]"),
    ],
)
def test_a_character_is_written_as_it_is_whether_or_not_it_is_assigned(kind: Kind, text: str, character: str) -> None:
    written = text.format(character)
    contract = read(kind, written)
    assert contract.text == written
    assert read(kind, contract.text).digest == contract.digest


@pytest.mark.parametrize("character", ["\x7f", "\x85", "\xa0", "\xad", "\u2028", "\u2029", "\ufeff"])
def test_what_cannot_be_seen_or_ends_lines_is_written_by_its_number(character: str) -> None:
    for kind, text in ((Kind.REGEX, "a{}"), (Kind.GBNF, 'root ::= "a{}"'), (Kind.LARK, "start: /a{}/")):
        contract = read(kind, text.format(character))
        assert f"{ord(character):X}" in contract.text
        assert character not in contract.text
        assert read(kind, contract.text).text == contract.text


def test_these_characters_are_of_the_categories_that_editions_change_or_do_not_print() -> None:
    assert unicodedata.category("\u0378") == "Cn"
    assert {unicodedata.category(FORMAT), unicodedata.category(PRIVATE)} == {"Cf", "Co"}
