"""One contract a request, in any field; the rest of the body is sorted."""

from typing import Any

import pytest

from gateway.chat.fields import CHAT_FIELDS
from gateway.dialects.sent import READERS, sent_contract
from gateway.errors import InvalidRequestError
from gateway.intent import InlineContract, NamedContract
from gateway.responses.fields import RESPONSES_FIELDS
from registry.contract import ContractKind
from tests.gateway.dialects.contracts import GBNF, LARK, SCHEMA, TAG, chat, inline


@pytest.mark.parametrize(
    ("definition", "kind"),
    [
        ("a+", "regex"),
        (["a"], "choice"),
        (LARK, "lark"),
        (GBNF, "gbnf"),
        (TAG, "structural_tag"),
        ([], "tool_set"),
        (SCHEMA, "json_schema"),
    ],
)
def test_this_apis_own_field_takes_every_kind(definition: Any, kind: str) -> None:
    expected = InlineContract(kind=ContractKind(kind), schema=definition, strict=False, param="contract.definition")
    assert chat(contract={"kind": kind, "definition": definition}).contract == expected
    assert inline(chat(contract={"kind": kind, "definition": definition, "strict": True})).strict
    assert inline(chat(contract={"kind": "json_schema", "schema": False})).schema is False
    assert chat(contract="x@prod").contract == NamedContract(name="x@prod", param="contract")


def test_every_kind_can_be_sent_inline() -> None:
    assert {kind.value for kind in ContractKind} == {
        "json_schema", "regex", "lark", "gbnf", "choice", "structural_tag", "tool_set"
    }  # fmt: skip


@pytest.mark.parametrize("name", sorted(READERS))
def test_null_asks_for_nothing_anywhere(name: str) -> None:
    table = RESPONSES_FIELDS if name == "text" else CHAT_FIELDS
    assert sent_contract({name: None}, table).contract is None


def test_text_asks_for_nothing_and_may_stand_beside_a_contract() -> None:
    assert chat(response_format={"type": "text"}).contract is None
    assert inline(chat(response_format={"type": "text"}, guided_regex="a")).kind is ContractKind.REGEX
    assert chat(structured_outputs={"json_object": False, "regex": "a"}).contract is not None


ONE_OF_EACH: dict[str, Any] = {
    "contract": "x@prod",
    "response_format": {"type": "json_object"},
    "structured_outputs": {"regex": "a"},
    "guided_json": SCHEMA,
    "guided_regex": "a",
    "guided_choice": ["a"],
    "guided_grammar": GBNF,
    "json_schema": SCHEMA,
    "regex": "a",
    "ebnf": GBNF,
    "structural_tag": TAG,
    "grammar": GBNF,
    "parameters": {"grammar": {"type": "regex", "value": "a"}},
}


@pytest.mark.parametrize("first", sorted(ONE_OF_EACH))
@pytest.mark.parametrize("second", sorted(ONE_OF_EACH))
def test_two_contracts_at_once_are_refused_and_both_are_named(first: str, second: str) -> None:
    if first >= second:
        return
    with pytest.raises(InvalidRequestError) as caught:
        chat(**{first: ONE_OF_EACH[first], second: ONE_OF_EACH[second]})
    assert (str(caught.value.fault), caught.value.param) == ("conflicting_contracts", first)
    assert f"`{first}`" in str(caught.value)
    assert f"`{second}`" in str(caught.value)


@pytest.mark.parametrize(
    "value", ["auto", "guidance", "llguidance", "guidance:no-fallback", "auto:no-fallback,disable-any-whitespace"]
)
def test_a_backend_that_is_here_anyway_is_taken_and_reported(value: str) -> None:
    sent = chat(guided_decoding_backend=value, guided_regex="a")
    assert sent.contract is not None
    assert sent.ignored == {"guided_decoding_backend": "there is one engine"}


@pytest.mark.parametrize("pattern", ["", "[ ]?", r"\s*", r"[\n\t ]*"])
def test_white_space_that_may_be_absent_is_taken_and_reported(pattern: str) -> None:
    assert list(chat(guided_json=SCHEMA, guided_whitespace_pattern=pattern).ignored) == ["guided_whitespace_pattern"]
    sent = chat(structured_outputs={"json": SCHEMA, "whitespace_pattern": pattern, "disable_any_whitespace": False})
    assert sorted(sent.ignored) == [
        "structured_outputs.disable_any_whitespace",
        "structured_outputs.whitespace_pattern",
    ]


def test_outer_strictness_is_that_of_the_contract_where_it_says_nothing_itself() -> None:
    body: dict[str, Any] = {"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": SCHEMA}}}
    assert inline(sent_contract(body, CHAT_FIELDS, strict=True)).strict
    with pytest.raises(InvalidRequestError) as caught:
        sent_contract({"guided_json": SCHEMA}, CHAT_FIELDS, strict=False)
    assert (str(caught.value.fault), caught.value.param) == ("conflicting_parameters", "strict")
