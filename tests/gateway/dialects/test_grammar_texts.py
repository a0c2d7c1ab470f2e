"""What a grammar is written in is said by its field or by itself, never guessed."""

import pytest

from gateway.dialects.grammar_texts import gbnf, told_by_text
from gateway.errors import InvalidRequestError
from gateway.intent import InlineContract
from policy.enforcement import EnforcementPolicy
from policy.limits import TENANT
from registry.contract import CanonicalContract
from registry.errors import ContractRejectedError
from registry.reading import read_contract


def contract(text: str, *, read: object = told_by_text) -> InlineContract:
    assert callable(read)
    found = read(text, param="g", dialect="d").contract
    assert isinstance(found, InlineContract)
    return found


def canonical(sent: InlineContract) -> CanonicalContract:
    return read_contract(sent.kind, sent.schema, limits=TENANT.contract, policy=EnforcementPolicy())


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('root ::= "a"', "gbnf"),
        ('item ::= "start: x"\n  root   ::= item', "gbnf"),
        ('# start: not a rule\nroot ::= "a"', "gbnf"),
        ('root ::= item ("," item)*\nitem ::= [a-z]+ | "x:" [0-9]+\n', "gbnf"),
        ('start: "a"', "lark"),
        ('?start: "a"', "lark"),
        ('// root ::= no\nX: "a"\nstart : X', "lark"),
        ('start: "root ::= x"', "lark"),
        ("start[lazy]: /a+/", "lark"),
        ('%llguidance {}\nstart: "a"', "lark"),
        ("\n %llguidance { }\n%import common.INT\nstart: INT", "lark"),
    ],
)
def test_a_text_says_what_it_is_written_in(text: str, kind: str) -> None:
    assert contract(text).kind == kind


@pytest.mark.parametrize("text", ['a ::= "x"', 'a: "x"', "yes|no", '"start: "', 'root ::= "x"\nstart: "y"', "root: x"])
def test_a_text_that_does_not_say_is_refused_with_the_way_to_say_it(text: str) -> None:
    with pytest.raises(InvalidRequestError, match=r"contract: \{") as caught:
        told_by_text(text, param="guided_grammar", dialect="d")
    assert (str(caught.value.fault), caught.value.param) == ("invalid_value", "guided_grammar")


def test_lark_in_a_field_that_is_gbnf_by_name_is_not_converted_but_refused_with_its_place() -> None:
    sent = contract('\nstart: "a"\n', read=gbnf)
    assert sent.kind == "gbnf"
    with pytest.raises(ContractRejectedError, match="line 2, column"):
        canonical(sent)


def test_a_mark_says_that_a_gbnf_field_holds_lark() -> None:
    assert contract('%llguidance {}\nstart: "a"', read=gbnf).kind == "lark"


def test_a_mark_keeps_the_lines_and_columns_of_what_follows() -> None:
    sent = contract("%llguidance {\n}\nstart: 'a'\n")
    with pytest.raises(ContractRejectedError, match="line 3, column 8"):
        canonical(sent)


def test_a_mark_with_options_is_refused_by_name_because_they_are_not_served() -> None:
    sent = contract('%llguidance {"no_forcing": true}\nstart: "a"')
    with pytest.raises(ContractRejectedError, match="llguidance"):
        canonical(sent)


def test_a_mark_that_says_nothing_changes_no_digest() -> None:
    assert canonical(contract('%llguidance {}\nstart: "a"')).digest == canonical(contract('start: "a"')).digest
