"""What a chat completion may say, and how everything else is refused."""

from decimal import Decimal
from typing import Any

import pytest

from gateway.chat.fields import CHAT_FIELDS
from gateway.chat.request import read_chat_request
from gateway.errors import InvalidRequestError, RequestFault
from gateway.explain_request import read_explain_request
from gateway.fields import CONSTRAINT_LIKE
from gateway.intent import InlineContract, NamedContract
from registry.contract import ContractKind

MESSAGES = [{"role": "user", "content": "hi"}]


def asked(**fields: Any) -> Any:
    return {"model": "m", "messages": MESSAGES} | fields


def fault(body: Any) -> tuple[str, str | None]:
    with pytest.raises(InvalidRequestError) as caught:
        read_chat_request(body)
    return str(caught.value.fault), caught.value.param


def test_a_request_says_what_it_asks_for() -> None:
    intent = read_chat_request(
        asked(temperature=Decimal("0.25"), top_p=1, seed=7, stop="END", max_tokens=5, stream=True)
    )
    assert intent.sampling.temperature == 0.25
    assert (intent.sampling.seed, intent.stop, intent.max_tokens, intent.stream) == (7, ("END",), 5, True)
    assert intent.contract is None


def test_a_seed_is_chosen_where_none_is_sent() -> None:
    seeds = {read_chat_request(asked()).sampling.seed for _ in range(8)}
    assert len(seeds) > 1
    assert all(0 <= seed < 2**53 for seed in seeds)


def test_developer_is_system_and_text_parts_are_joined() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    intent = read_chat_request(asked(messages=[{"role": "developer", "content": parts}, *MESSAGES]))
    assert [(message.role, message.content) for message in intent.messages] == [("system", "ab"), ("user", "hi")]


def test_an_assistant_turn_as_the_client_dumps_it_is_taken() -> None:
    turn: dict[str, Any] = {
        "role": "assistant", "content": "x", "refusal": None, "audio": None, "function_call": None, "tool_calls": None,
        "annotations": [],
    }  # fmt: skip
    assert read_chat_request(asked(messages=[*MESSAGES, turn])).messages[1].content == "x"


@pytest.mark.parametrize(
    ("fields", "code", "param"),
    [
        ({"temperature": "1"}, "invalid_type", "temperature"),
        ({"temperature": 3}, "invalid_value", "temperature"),
        ({"temperature": True}, "invalid_type", "temperature"),
        ({"top_p": 0}, "invalid_value", "top_p"),
        ({"seed": -1}, "invalid_value", "seed"),
        ({"seed": Decimal("1.5")}, "invalid_type", "seed"),
        ({"max_tokens": 0}, "invalid_value", "max_tokens"),
        ({"max_tokens": 5, "max_completion_tokens": 6}, "conflicting_parameters", "max_tokens"),
        ({"stop": ["a"] * 5}, "invalid_value", "stop"),
        ({"stop": [""]}, "invalid_value", "stop[0]"),
        ({"stop": 5}, "invalid_type", "stop"),
        ({"stream": 1}, "invalid_type", "stream"),
        ({"stream_options": {"include_usage": True}}, "conflicting_parameters", "stream_options"),
        ({"model": 5}, "invalid_type", "model"),
        ({"model": ""}, "invalid_value", "model"),
        ({"messages": []}, "invalid_value", "messages"),
        ({"messages": "hi"}, "invalid_type", "messages"),
        ({"messages": [5]}, "invalid_type", "messages[0]"),
        ({"messages": [{"content": "x"}]}, "missing_parameter", "messages[0].role"),
        ({"messages": [{"role": "user", "content": 5}]}, "invalid_type", "messages[0].content"),
        ({"messages": [{"role": "user", "content": None}]}, "invalid_type", "messages[0].content"),
        ({"messages": [{"role": "function", "content": "x"}]}, "unsupported_parameter", "messages[0].role"),
        ({"functions": [{"name": "f"}]}, "unsupported_parameter", "functions"),
        ({"n": 9}, "invalid_value", "n"),
        ({"n": 0}, "invalid_value", "n"),
        ({"logprobs": 1}, "invalid_type", "logprobs"),
        ({"logprobs": True, "top_logprobs": 21}, "invalid_value", "top_logprobs"),
        ({"top_logprobs": 2}, "conflicting_parameters", "top_logprobs"),
        ({"reasoning_effort": "much"}, "invalid_value", "reasoning_effort"),
        (
            {"reasoning_effort": "high", "chat_template_kwargs": {"enable_thinking": False}},
            "conflicting_parameters",
            "reasoning_effort",
        ),
        (
            {"chat_template_kwargs": {"enable_thinkng": True}},
            "unknown_parameter",
            "chat_template_kwargs.enable_thinkng",
        ),
        ({"temperature": 10**400}, "invalid_value", "temperature"),
        ({"temperature": -(10**400)}, "invalid_value", "temperature"),
        ({"top_p": 10**400}, "invalid_value", "top_p"),
        ({"stream_options": 5}, "invalid_type", "stream_options"),
        ({"messages": [{"role": "robot", "content": "x"}]}, "invalid_value", "messages[0].role"),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]},
            "unsupported_parameter",
            "messages[0].content[0].type",
        ),
        (
            {"messages": [{"role": "user", "content": [{"type": "file", "text": "x"}]}]},
            "unsupported_parameter",
            "messages[0].content[0].type",
        ),
        (
            {"messages": [{"role": "assistant", "content": "x", "tool_calls": [{}]}]},
            "missing_parameter",
            "messages[0].tool_calls[0].id",
        ),
        ({"messages": [{"role": "user", "contnt": "x"}]}, "unknown_parameter", "messages[0].contnt"),
        ({"response_format": {"type": "regex"}}, "missing_parameter", "response_format.regex"),
        ({"response_format": {"type": "lark"}}, "unsupported_kind", "response_format.type"),
        ({"response_format": {"type": "python"}}, "unsupported_kind", "response_format.type"),
        ({"response_format": {"type": "xml"}}, "invalid_value", "response_format.type"),
        ({"response_format": {"type": "json_schema"}}, "missing_parameter", "response_format.json_schema"),
        (
            {"response_format": {"type": "json_schema", "json_schema": {"name": "a b", "schema": {}}}},
            "invalid_value",
            "response_format.json_schema.name",
        ),
        (
            {"response_format": {"type": "json_schema", "json_schema": {"name": "a" * 65, "schema": {}}}},
            "invalid_value",
            "response_format.json_schema.name",
        ),
        (
            {"response_format": {"type": "json_schema", "json_schema": {"name": "a"}}},
            "missing_parameter",
            "response_format.json_schema.schema",
        ),
        (
            {"response_format": {"type": "json_schema", "json_schema": {"name": "a", "shcema": {}}}},
            "unknown_constraint",
            "response_format.json_schema.shcema",
        ),
        ({"response_format": {"type": "json_object", "schma": {}}}, "unknown_constraint", "response_format.schma"),
        (
            {"response_format": {"type": "json_object", "json_schema": {"name": "a", "schema": {}}}},
            "conflicting_parameters",
            "response_format.json_schema",
        ),
        ({"response_format": {"type": "json_object"}, "contract": "x@prod"}, "conflicting_contracts", "contract"),
        ({"contract": {"kind": "json_schema"}}, "missing_parameter", "contract.schema"),
        ({"contract": ["x"]}, "invalid_type", "contract"),
    ],
)
def test_a_field_that_is_wrong_is_refused_by_its_path(fields: dict[str, Any], code: str, param: str) -> None:
    assert fault(asked(**fields)) == (code, param)


@pytest.mark.parametrize("body", [[], "x", 5, None, True])
def test_a_body_that_is_no_object_is_refused(body: Any) -> None:
    assert fault(body) == ("invalid_type", None)


@pytest.mark.parametrize("name", sorted(set(CHAT_FIELDS.unsupported) - CHAT_FIELDS.used))
def test_an_unsupported_field_is_refused_by_name_unless_it_asks_for_nothing(name: str) -> None:
    for neutral in (None, *CHAT_FIELDS.unsupported[name].neutral):
        read_chat_request(asked(**{name: neutral}))
    assert fault(asked(**{name: [{"anything": 1}]})) == ("unsupported_parameter", name)


def test_a_boolean_is_not_the_number_one() -> None:
    assert fault(asked(repetition_penalty=True)) == ("unsupported_parameter", "repetition_penalty")


@pytest.mark.parametrize("name", sorted(set(CHAT_FIELDS.accepted) - CHAT_FIELDS.used))
def test_a_field_without_effect_is_accepted_and_reported_with_the_reason(name: str) -> None:
    assert read_chat_request(asked(**{name: "anything"})).ignored == {name: CHAT_FIELDS.accepted[name]}
    assert read_chat_request(asked(**{name: None})).ignored == {}


@pytest.mark.parametrize(
    "name",
    [
        *sorted(set(CONSTRAINT_LIKE) - CHAT_FIELDS.carriers),
        "guided_anything",
        "my_grammar",
        "jsonSchema",
        "responseFormat",
        "response_fromat",
        "contracts",
    ],
)
def test_a_field_that_looks_like_a_constraint_is_never_ignored(name: str) -> None:
    assert fault(asked(**{name: {}})) == ("unknown_constraint", name)


def test_the_field_of_another_api_is_answered_with_the_one_of_this() -> None:
    with pytest.raises(InvalidRequestError, match="use `response_format`"):
        read_chat_request(asked(text={"format": {"type": "json_object"}}))


def test_an_unknown_field_is_refused_with_what_was_probably_meant() -> None:
    with pytest.raises(InvalidRequestError, match="did you mean `temperature`") as caught:
        read_chat_request(asked(temprature=1))
    assert (caught.value.fault, caught.value.suggestion) == (RequestFault.UNKNOWN_PARAMETER, "temperature")


def test_the_lists_of_fields_do_not_overlap() -> None:
    names = [*CHAT_FIELDS.accepted, *CHAT_FIELDS.unsupported, *CHAT_FIELDS.carriers]
    assert len(names) == len(set(names))


def test_an_error_never_repeats_what_was_sent() -> None:
    with pytest.raises(InvalidRequestError) as caught:
        read_chat_request(asked(messages=[{"role": "user", "content": {"secret": "s3cret"}}]))
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(("strict", "expected"), [(True, True), (False, False), (None, False)])
def test_strict_is_read_from_the_schema_format(*, strict: bool | None, expected: bool) -> None:
    sent = {"name": "a", "schema": {"type": "string"}, "strict": strict}
    contract = read_chat_request(asked(response_format={"type": "json_schema", "json_schema": sent})).contract
    assert isinstance(contract, InlineContract)
    assert contract.strict is expected
    assert contract.param == "response_format.json_schema.schema"


def test_json_object_is_a_contract_like_any_other() -> None:
    contract = read_chat_request(asked(response_format={"type": "json_object"})).contract
    assert isinstance(contract, InlineContract)
    assert contract.schema == {"type": "object"}


def test_a_contract_can_be_named_in_either_place() -> None:
    named = read_chat_request(asked(contract="invoice@prod")).contract
    shaped = read_chat_request(asked(response_format={"type": "contract", "contract": "invoice@prod"})).contract
    assert named == NamedContract(name="invoice@prod", param="contract")
    assert shaped == NamedContract(name="invoice@prod", param="response_format.contract")


SENT = {"name": "a", "schema": {}}


@pytest.mark.parametrize(
    ("fields", "code", "param"),
    [
        ({"response_format": {"type": "contract"}}, "missing_parameter", "response_format.contract"),
        ({"response_format": {"type": "contract", "contract": ""}}, "invalid_value", "response_format.contract"),
        ({"response_format": {"type": "contract", "contract": "x" * 400}}, "invalid_value", "response_format.contract"),
        ({"response_format": {"type": "contract", "contract": 5}}, "invalid_type", "response_format.contract"),
        ({"response_format": {"type": "text", "contract": "x"}}, "conflicting_parameters", "response_format.contract"),
        (
            {"response_format": {"type": "contract", "contract": "x", "json_schema": SENT}},
            "conflicting_parameters",
            "response_format.json_schema",
        ),
        (
            {"response_format": {"type": "contract", "contract": "x"}, "contract": "x"},
            "conflicting_contracts",
            "contract",
        ),
        (
            {"response_format": {"type": "json_schema", "json_schema": SENT}, "contract": "x"},
            "conflicting_contracts",
            "contract",
        ),
        ({"response_format": {"type": "json_object"}, "contract": "x"}, "conflicting_contracts", "contract"),
    ],
)
def test_a_contract_is_named_once_and_nothing_stands_beside_it(fields: Any, code: str, param: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        read_chat_request(asked(**fields))
    assert (caught.value.fault, caught.value.param) == (code, param)


def test_a_registered_contract_has_its_own_strictness() -> None:
    with pytest.raises(InvalidRequestError) as caught:
        read_explain_request({"contract": "invoice@prod", "strict": True})
    assert (caught.value.fault, caught.value.param) == ("conflicting_parameters", "strict")


def test_explain_takes_a_contract_or_a_response_format() -> None:
    inline = read_explain_request({"contract": {"kind": "json_schema", "schema": True}, "strict": True}).contract
    assert isinstance(inline, InlineContract)
    assert (inline.schema, inline.strict, inline.param) == (True, True, "contract.schema")
    sent: Any = {"type": "json_schema", "json_schema": {"name": "a", "schema": {}, "strict": True}}
    shaped = read_explain_request({"response_format": sent}).contract
    assert isinstance(shaped, InlineContract)
    assert shaped.strict
    assert read_explain_request({"contract": "x@prod"}).contract == NamedContract(name="x@prod", param="contract")
    other = read_explain_request({"contract": {"kind": "choice", "definition": ["a"]}}).contract
    assert other == InlineContract(kind=ContractKind.CHOICE, schema=["a"], strict=False, param="contract.definition")


@pytest.mark.parametrize(
    ("body", "code", "param"),
    [
        ({}, "missing_parameter", "contract"),
        ({"response_format": {"type": "text"}}, "missing_parameter", "contract"),
        ({"contract": 5}, "invalid_type", "contract"),
        ({"contract": {"kind": "xml", "schema": "x"}}, "unsupported_kind", "contract.kind"),
        ({"contract": {"kind": "regex", "schema": "x"}}, "conflicting_parameters", "contract.schema"),
        ({"contract": {"kind": "regex"}}, "missing_parameter", "contract.definition"),
        ({"contract": {"definition": "x"}}, "missing_parameter", "contract.kind"),
        ({"contract": {"kind": "json_schema"}}, "missing_parameter", "contract.schema"),
        ({"contract": {"kind": "json_schema", "schema": {}, "x": 1}}, "unknown_constraint", "contract.x"),
        (
            {"contract": {"kind": "json_schema", "schema": {}}, "response_format": {"type": "json_object"}},
            "conflicting_contracts",
            "contract",
        ),
        ({"contarct": {}}, "unknown_constraint", "contarct"),
        (
            {
                "response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": {}, "strict": True}},
                "strict": False,
            },
            "conflicting_parameters",
            "strict",
        ),
    ],
)
def test_an_explain_request_that_is_wrong_is_refused_by_its_path(body: Any, code: str, param: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        read_explain_request(body)
    assert (str(caught.value.fault), caught.value.param) == (code, param)
