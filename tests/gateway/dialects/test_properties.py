"""What holds for any value in any field that may carry a contract."""

import json
from contextlib import suppress
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gateway.chat.fields import CHAT_FIELDS
from gateway.dialects.protocol import ResponseFormat, StructuredOutputs
from gateway.dialects.sent import READERS, sent_contract
from gateway.errors import ContractRefusedError, InvalidRequestError
from gateway.fields import FieldTable
from gateway.intent import InlineContract
from gateway.problems import problem_of
from policy.enforcement import EnforcementPolicy
from policy.limits import TENANT
from registry.errors import ContractRejectedError
from registry.reading import read_contract
from tests.gateway.dialects.contracts import GBNF, LARK, SCHEMA, TAG, TAG_TEXT

EVERY_CARRIER = FieldTable(used=frozenset(), carriers=frozenset(READERS), accepted={}, unsupported={})
OWN_WORDS = ("contract", "response_format", "text")

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(
    [GBNF, LARK, TAG_TEXT, "a+", "{", '{"a": 1, "a": 2}', "%llguidance {}", "root ::= x\nstart: y", "auto", "[ ]?"]
)
words = st.sampled_from(["type", "value", "name", "kind", "definition", "strict", "format", "structures", "triggers"])
members = st.sampled_from(
    [field.alias or name for model in (ResponseFormat, StructuredOutputs) for name, field in model.model_fields.items()]
)
types = st.sampled_from(["text", "json", "json_object", "json_schema", "regex", "grammar", "ebnf", "contract", "lark"])
values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | texts | types | st.sampled_from([SCHEMA, TAG]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(words | members | texts, inner, max_size=4),
    max_leaves=6,
)
typed = st.dictionaries(members | words, values, max_size=3).flatmap(
    lambda rest: types.map(lambda kind: rest | {"type": kind})
)
bodies = st.dictionaries(st.sampled_from(sorted(READERS)), values | typed, max_size=2)


@given(bodies)
def test_any_value_is_a_contract_that_is_read_or_a_typed_refusal(body: dict[str, Any]) -> None:
    try:
        sent = sent_contract(body, EVERY_CARRIER)
    except (InvalidRequestError, ContractRefusedError) as error:
        problem = problem_of(error)
        assert problem.status == 400
        assert problem.param is not None
        json.dumps(problem.body("req_1"))
        return
    if not isinstance(sent.contract, InlineContract):
        return
    # Another server's words are enforced whole.
    assert sent.contract.strict or sent.contract.param.startswith(OWN_WORDS)
    # Whatever stands in it, the kind says yes or no.
    with suppress(ContractRejectedError):
        read_contract(sent.contract.kind, sent.contract.schema, limits=TENANT.contract, policy=EnforcementPolicy())


@given(st.sampled_from(sorted(CHAT_FIELDS.carriers)), values | typed)
def test_what_is_sent_in_a_carrier_is_a_contract_or_a_note_or_says_that_it_asks_for_nothing(
    name: str, value: Any
) -> None:
    try:
        sent = sent_contract({name: value}, CHAT_FIELDS)
    except (InvalidRequestError, ContractRefusedError):
        return
    asks_for_nothing = value is None or value in ({"type": "text"}, {}) or _is_empty(value)
    assert sent.contract is not None or sent.ignored or asks_for_nothing


def _is_empty(value: Any) -> bool:
    """Null in every member beside a type that asks for nothing."""
    return isinstance(value, dict) and all(
        member is None or (name == "type" and member == "text") for name, member in value.items()
    )
