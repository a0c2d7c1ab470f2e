"""What holds for any request and any text."""

import asyncio
import json
import tempfile
from decimal import Decimal
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway.chat.fields import CHAT_FIELDS
from gateway.chat.request import read_chat_request
from gateway.errors import ContractRefusedError, InvalidRequestError
from gateway.explain_request import read_explain_request
from gateway.fields import CONSTRAINT_LIKE
from gateway.problems import problem_of
from inference_node.protocol import StopCause
from tests.gateway.twins import NodeTwin, chat, gateway_with, says, strict

CHAT = "/v1/chat/completions"

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.decimals(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
names = st.sampled_from([*CHAT_FIELDS.known, *CONSTRAINT_LIKE]) | texts
messages = st.lists(
    st.dictionaries(st.sampled_from(["role", "content", "name", "tool_calls", "type"]), json_values, max_size=4)
    | st.fixed_dictionaries({"role": st.sampled_from(["user", "system", "tool"]), "content": json_values}),
    max_size=3,
)
formats = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "json_object", "json_schema", "regex"])},
    optional={"json_schema": json_values | st.fixed_dictionaries({"name": texts, "schema": json_values})},
)
bodies = json_values | st.dictionaries(names, json_values, max_size=4).flatmap(
    lambda rest: st.fixed_dictionaries(
        {"model": st.just("m"), "messages": messages}, optional={"response_format": formats}
    ).map(lambda body: rest | body)
)


@given(bodies)
def test_any_value_is_a_request_or_a_typed_refusal(body: Any) -> None:
    for read in (read_chat_request, read_explain_request):
        try:
            read(body)
        except (InvalidRequestError, ContractRefusedError) as error:
            problem = problem_of(error)
            assert problem.status == 400
            json.dumps(problem.body("req_1"))


@given(
    bodies.filter(lambda body: isinstance(body, dict)),
    st.sampled_from(sorted(set(CONSTRAINT_LIKE) - CHAT_FIELDS.carriers)),
)
def test_no_company_makes_a_foreign_constraint_acceptable(body: dict[str, Any], name: str) -> None:
    try:
        read_chat_request(body | {name: {"type": "string"}})
    except (InvalidRequestError, ContractRefusedError):
        return
    raise AssertionError("a constraint was ignored")


def plain(value: Any) -> Any:
    return float(value) if isinstance(value, Decimal) else str(value)


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.binary(max_size=60) | bodies.map(lambda body: json.dumps(body, default=plain).encode()), max_size=8))
def test_any_bytes_get_a_typed_answer_with_an_id(contents: list[bytes]) -> None:
    async def run() -> None:
        with tempfile.TemporaryDirectory() as directory:
            async with gateway_with(Path(directory)) as world:
                for path in (CHAT, *(f"/v1/contracts{rest}" for rest in ("", "/explain", "/check", "/diff"))):
                    for content in contents:
                        response = await world.client.post(
                            path, content=content, headers={"content-type": "application/json"}
                        )
                        assert response.headers["x-request-id"]
                        if response.status_code not in {200, 201}:
                            assert response.status_code in {400, 404, 422, 502}, response.text
                            assert isinstance(response.json()["error"]["code"], str)

    asyncio.run(run())


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(texts, max_size=6),
    st.sampled_from(["end_of_sequence", "max_tokens", "stop_string"]),
)
def test_a_stream_joins_to_the_unstreamed_answer_whatever_the_text(parts: list[str], end: StopCause) -> None:
    async def run() -> None:
        node = NodeTwin(script=lambda _: says(*parts, end=end, accepting=None))
        with tempfile.TemporaryDirectory() as directory:
            async with gateway_with(Path(directory), node=node) as world:
                whole = (await world.client.post(CHAT, json=chat())).json()
                streamed = await world.client.post(CHAT, json=chat(stream=True))
        blocks = streamed.content.split(b"\n\n")
        assert blocks[-2:] == [b"data: [DONE]", b""]
        assert all(block.startswith(b"data: ") and b"\n" not in block for block in blocks[:-1])
        chunks = [json.loads(block.removeprefix(b"data: ")) for block in blocks[:-2]]
        text = "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks)
        assert text == whole["choices"][0]["message"]["content"] == "".join(parts)
        assert chunks[-1]["choices"][0]["finish_reason"] == whole["choices"][0]["finish_reason"]
        assert chunks[-1]["schemagate"]["completion"] == whole["schemagate"]["completion"]

    asyncio.run(run())


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(texts | json_values.map(lambda value: json.dumps(value, default=plain)), st.booleans())
def test_no_text_of_a_node_is_complete_that_the_contract_does_not_admit(text: str, is_streamed: bool) -> None:  # noqa: FBT001
    """Even a node that lies about acceptance: the judge has its own word."""
    schema = {"type": "array", "items": {"type": "integer"}, "minItems": 1}

    async def run() -> None:
        node = NodeTwin(script=lambda _: says(text))
        with tempfile.TemporaryDirectory() as directory:
            async with gateway_with(Path(directory), node=node) as world:
                response = await world.client.post(CHAT, json=strict(schema, stream=is_streamed))
        try:
            value = json.loads(text)
        except json.JSONDecodeError:
            value = None
        admitted = (
            isinstance(value, list)
            and bool(value)
            and all(
                isinstance(item, int | float) and not isinstance(item, bool) and item == int(item) for item in value
            )
        )
        assert ('"completion":"complete"' in response.text) <= admitted

    asyncio.run(run())
