"""Contracts that the tests of dialects send."""

from typing import Any

import pytest

from gateway.chat.fields import CHAT_FIELDS
from gateway.dialects.sent import SentContract, sent_contract
from gateway.errors import InvalidRequestError
from gateway.fields import FieldTable
from gateway.intent import InlineContract

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
SCHEMA_TEXT = '{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}'
GBNF = 'root ::= "yes" | "no"\n'
LARK = 'start: "yes" | "no"\n'
LEGACY_TAG: dict[str, Any] = {
    "type": "structural_tag",
    "structures": [{"begin": "<a>", "schema": SCHEMA, "end": "</a>"}],
    "triggers": ["<a>"],
}
TAG: dict[str, Any] = {"type": "structural_tag", "format": {"type": "const_string", "value": "x"}}
TAG_TEXT = '{"type": "structural_tag", "format": {"type": "const_string", "value": "x"}}'


def chat(**fields: Any) -> SentContract:
    """A body of chat, sorted."""
    return sent_contract(fields, CHAT_FIELDS)


def inline(sent: SentContract) -> InlineContract:
    """The contract, which was sent."""
    assert isinstance(sent.contract, InlineContract)
    return sent.contract


def fault(body: dict[str, Any], table: FieldTable = CHAT_FIELDS) -> tuple[str, str | None]:
    """Code and place of the refusal."""
    with pytest.raises(InvalidRequestError) as caught:
        sent_contract(body, table)
    return str(caught.value.fault), caught.value.param
