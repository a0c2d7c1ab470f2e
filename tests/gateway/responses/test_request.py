"""What a body of `POST /v1/responses` asks for."""

import contextlib
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.errors import ContractRefusedError, InvalidRequestError
from gateway.intent import InlineContract, NamedContract
from gateway.responses.fields import RESPONSES_FIELDS
from gateway.responses.request import LOGPROBS, ResponsesIntent, read_responses_request
from inference_node.protocol import ChatMessage
from registry.contract import ContractKind, JsonValue

SCHEMA: JsonValue = {"type": "object", "properties": {"a": {"type": "integer"}}}


def read(**fields: Any) -> ResponsesIntent:
    return read_responses_request({"model": "m", "input": "hi", **fields})


def refused(body: Any) -> tuple[str, str | None]:
    with pytest.raises(InvalidRequestError) as caught:
        read_responses_request(body)
    return str(caught.value.fault), caught.value.param


def test_the_least_request_has_openais_defaults() -> None:
    asked = read()
    generation, echo = asked.generation, asked.echo
    assert generation.messages == (ChatMessage(role="user", content="hi"),)
    assert (generation.sampling.temperature, generation.sampling.top_p) == (1.0, 1.0)
    assert (generation.max_tokens, generation.stop, generation.stream) == (None, (), False)
    assert (generation.contract, generation.toolbox, generation.top_logprobs) == (None, None, None)
    assert generation.wants_reasoning is False
    assert generation.ignored == {}
    assert (echo.text_format, echo.verbosity) == ({"type": "text"}, "medium")
    assert (echo.tools, echo.tool_choice, echo.parallel_tool_calls) == ((), "auto", True)
    assert echo.metadata == {}


def test_what_is_sent_is_used_and_repeated() -> None:
    asked = read(
        instructions="be brief",
        temperature=Decimal("0.5"),
        top_p=1,
        max_output_tokens=7,
        max_tool_calls=3,
        metadata={"a": "b"},
        seed=5,
        stop="x",
        stream=True,
        stream_options={"include_obfuscation": True},
        parallel_tool_calls=False,
        user="u",
        safety_identifier="s",
        prompt_cache_key="k",
        text={"verbosity": "low"},
        include=[LOGPROBS],
        top_logprobs=2,
        reasoning={"effort": "low", "summary": "auto"},
    )
    generation, echo = asked.generation, asked.echo
    assert [message.role for message in generation.messages] == ["system", "user"]
    assert (generation.sampling.temperature, generation.sampling.top_p, generation.sampling.seed) == (0.5, 1.0, 5)
    assert (generation.max_tokens, generation.stop, generation.stream) == (7, ("x",), True)
    assert generation.top_logprobs == 2
    assert generation.wants_reasoning is True
    assert set(generation.ignored) == {
        "max_tool_calls", "user", "safety_identifier", "prompt_cache_key", "text.verbosity", "reasoning.summary",
    }  # fmt: skip
    assert (echo.instructions, echo.max_output_tokens, echo.max_tool_calls) == ("be brief", 7, 3)
    assert (echo.metadata, echo.verbosity, echo.effort, echo.summary) == ({"a": "b"}, "low", "low", "auto")
    assert (echo.parallel_tool_calls, echo.top_logprobs) == (False, 2)
    assert (echo.user, echo.safety_identifier, echo.prompt_cache_key) == ("u", "s", "k")


def test_a_format_is_a_contract_and_stands_flat() -> None:
    form = {"type": "json_schema", "name": "x", "schema": SCHEMA, "strict": True}
    asked = read(text={"format": form})
    assert asked.generation.contract == InlineContract(
        kind=ContractKind.JSON_SCHEMA, schema=SCHEMA, strict=True, param="text.format.schema"
    )
    assert asked.echo.text_format == form
    assert read(text={"format": {"type": "text"}}).generation.contract is None
    anything = read(text={"format": {"type": "json_object"}}).generation.contract
    assert isinstance(anything, InlineContract)
    assert anything.schema == {"type": "object"}


def test_a_contract_may_be_named_or_spelled_as_other_servers_do() -> None:
    assert read(contract="invoice@prod").generation.contract == NamedContract(name="invoice@prod", param="contract")
    choice = read(structured_outputs={"choice": ["a", "b"]})
    assert isinstance(choice.generation.contract, InlineContract)
    assert choice.generation.contract.kind is ContractKind.CHOICE
    assert choice.echo.text_format == {"type": "text"}


def test_two_contracts_are_refused() -> None:
    form = {"type": "json_schema", "name": "x", "schema": SCHEMA}
    body = {"model": "m", "input": "hi", "text": {"format": form}, "contract": "invoice"}
    assert refused(body)[0] == "conflicting_contracts"


def test_tools_become_a_toolbox() -> None:
    tool = {"type": "function", "name": "f", "parameters": SCHEMA}
    box = read(tools=[tool], tool_choice="required", parallel_tool_calls=False).generation.toolbox
    assert box is not None
    assert (box.mode, box.is_parallel) == ("required", False)


def test_what_has_no_effect_is_told() -> None:
    ignored = read(
        store=True,
        service_tier="flex",
        top_logprobs=3,
        include=["reasoning.encrypted_content", "file_search_call.results"],
        reasoning={"effort": "none", "context": "all_turns"},
        cache_salt="x",
        prompt_cache_retention="24h",
    ).generation.ignored
    assert set(ignored) == {
        "store", "service_tier", "top_logprobs", "include[0]", "include[1]", "reasoning.context", "cache_salt",
        "prompt_cache_retention",
    }  # fmt: skip
    quiet = read(store=False, service_tier="auto", top_logprobs=0, reasoning={"effort": None}, background=False)
    assert quiet.generation.ignored == {}
    assert quiet.generation.wants_reasoning is False


@pytest.mark.parametrize(
    ("fields", "code", "param"),
    [
        ({"previous_response_id": "resp_1"}, "unsupported_parameter", "previous_response_id"),
        ({"conversation": "conv_1"}, "unsupported_parameter", "conversation"),
        ({"conversation": {"id": "conv_1"}}, "unsupported_parameter", "conversation"),
        ({"prompt": {"id": "pmpt_1"}}, "unsupported_parameter", "prompt"),
        ({"background": True}, "unsupported_parameter", "background"),
        ({"truncation": "auto"}, "unsupported_parameter", "truncation"),
        ({"context_management": [{"type": "compaction"}]}, "unsupported_parameter", "context_management"),
        ({"messages": []}, "unsupported_parameter", "messages"),
        ({"max_tokens": 5}, "unsupported_parameter", "max_tokens"),
        ({"response_format": {"type": "json_object"}}, "unknown_constraint", "response_format"),
        ({"text": {"fromat": {"type": "json_object"}}}, "unknown_constraint", "text.fromat"),
        ({"text": {"format": {"type": "json_schema", "name": "x", "shcema": {}}}}, "unknown_constraint",
         "text.format.shcema"),
        ({"text": {"format": {"type": "json_schema", "name": "a b", "schema": {}}}}, "invalid_value",
         "text.format.name"),
        ({"text": {"format": {"type": "json_schema", "name": "x"}}}, "missing_parameter", "text.format.schema"),
        ({"text": {"format": "json"}}, "invalid_type", "text.format"),
        ({"text": "json"}, "invalid_type", "text"),
        ({"text": {"verbosity": "chatty"}}, "invalid_value", "text.verbosity"),
        ({"temprature": 1}, "unknown_parameter", "temprature"),
        ({"temperature": 3}, "invalid_value", "temperature"),
        ({"temperature": "1"}, "invalid_type", "temperature"),
        ({"top_p": 0}, "invalid_value", "top_p"),
        ({"top_logprobs": 21}, "invalid_value", "top_logprobs"),
        ({"max_output_tokens": 0}, "invalid_value", "max_output_tokens"),
        ({"max_output_tokens": -1}, "invalid_value", "max_output_tokens"),
        ({"include": ["everything"]}, "invalid_value", "include[0]"),
        ({"include": "everything"}, "invalid_type", "include"),
        ({"reasoning": {"effort": "hard"}}, "invalid_value", "reasoning.effort"),
        ({"reasoning": {"efort": "low"}}, "unknown_parameter", "reasoning.efort"),
        ({"reasoning": "low"}, "invalid_type", "reasoning"),
        ({"stream_options": {"include_obfuscation": True}}, "conflicting_parameters", "stream_options"),
        ({"stream": True, "stream_options": {"include_usage": True}}, "unknown_parameter",
         "stream_options.include_usage"),
        ({"metadata": {"a": 1}}, "invalid_type", "metadata.a"),
        ({"metadata": {str(number): "" for number in range(17)}}, "invalid_value", "metadata"),
        ({"metadata": {"a" * 65: ""}}, "invalid_value", "metadata"),
        ({"metadata": {"a": "b" * 513}}, "invalid_value", "metadata"),
        ({"tools": {}}, "invalid_type", "tools"),
        ({"input": None}, "invalid_type", "input"),
        ({"model": ""}, "invalid_value", "model"),
    ],
)  # fmt: skip
def test_what_is_not_understood_is_refused_where_it_stands(fields: Any, code: str, param: str) -> None:
    assert refused({"model": "m", "input": "hi"} | fields) == (code, param)


@pytest.mark.parametrize("name", sorted(set(RESPONSES_FIELDS.known) - {"model", "input"}))
def test_null_asks_for_nothing(name: str) -> None:
    asked = read(**{name: None}).generation
    assert (asked.contract, asked.toolbox, asked.ignored) == (None, None, {})


@pytest.mark.parametrize("body", [None, [], "x", 7])
def test_a_body_that_is_no_object_is_refused(body: Any) -> None:
    assert refused(body)[0] == "invalid_type"


def test_input_and_model_are_required() -> None:
    assert refused({"input": "hi"}) == ("missing_parameter", "model")
    assert refused({"model": "m"}) == ("missing_parameter", "input")


WORDS = st.sampled_from(
    [
        "message", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output", "reasoning",
        "input_text", "output_text", "refusal", "function", "custom", "web_search", "grammar", "text", "json_schema",
        "json_object", "allowed_tools", "auto", "required", "none", "user", "assistant", "x", "{}", "",
    ]
)  # fmt: skip
MEMBERS = st.sampled_from(
    [
        "type", "role", "content", "text", "name", "call_id", "arguments", "output", "input", "format", "schema",
        "parameters", "syntax", "definition", "mode", "tools", "effort", "summary", "strict", "status", "id", "async",
    ]
)  # fmt: skip
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.decimals(allow_nan=False, allow_infinity=False) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(MEMBERS, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(sorted(RESPONSES_FIELDS.known)), VALUES, max_size=5), VALUES)
def test_any_body_is_read_or_refused_by_a_typed_error(fields: dict[str, Any], value: Any) -> None:
    with contextlib.suppress(InvalidRequestError, ContractRefusedError):
        read_responses_request({"model": "m", "input": value} | fields)
