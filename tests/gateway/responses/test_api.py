"""`POST /v1/responses`: requests, their refusals, and whole answers."""

import json
from pathlib import Path
from typing import Any

import pytest
from openai.types.responses import Response

from compiler_pool.protocol import CompileRequest
from inference_node.protocol import NodeFault
from tests.gateway.responses.asking import CUSTOM, FUNCTION, URL, body
from tests.gateway.twins import MODEL, NodeTwin, PoolTwin, compiled, gateway_with, says


async def test_an_answer_has_every_member_that_the_client_reads(tmp_path: Path) -> None:
    node = NodeTwin(script=lambda _: says("Hello", " you", end="end_of_sequence", accepting=None))
    async with gateway_with(tmp_path, node=node) as world:
        answer = await world.client.post(URL, json=body(instructions="be brief", metadata={"a": "b"}, store=True))
    assert answer.status_code == 200, answer.text
    assert answer.headers["x-schemagate-completion"] == "complete"
    sent = answer.json()
    assert {name for name, member in Response.model_fields.items() if member.is_required()} <= set(sent)
    read = Response.model_validate(sent)
    assert read.output_text == "Hello you"
    assert read.id.startswith("resp_")
    assert read.model == MODEL
    assert (read.status, read.error, read.incomplete_details) == ("completed", None, None)
    assert (read.instructions, read.metadata) == ("be brief", {"a": "b"})
    assert (sent["store"], sent["background"], sent["truncation"], sent["service_tier"]) == (
        False,
        False,
        "disabled",
        "default",
    )
    assert (sent["previous_response_id"], sent["user"], sent["max_output_tokens"]) == (None, None, None)
    assert (sent["tools"], sent["tool_choice"], sent["parallel_tool_calls"]) == ([], "auto", True)
    assert (sent["temperature"], sent["top_p"], sent["top_logprobs"]) == (1.0, 1.0, 0)
    assert sent["text"] == {"format": {"type": "text"}, "verbosity": "medium"}
    assert sent["reasoning"] == {"effort": None, "summary": None}
    assert isinstance(sent["created_at"], int)
    assert sent["completed_at"] >= sent["created_at"]
    assert read.usage is not None
    assert read.usage.model_dump(exclude_unset=True) == {
        "input_tokens": 5,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": 2,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 7,
    }
    assert sent["schemagate"]["completion"] == "complete"
    assert sent["schemagate"]["ignored"] == {"store": "nothing is stored"}
    assert [message.role for message in node.requests[0].messages] == ["system", "user"]


async def test_a_format_is_enforced_and_repeated_with_its_exact_numbers(tmp_path: Path) -> None:
    huge = '{"type":"json_schema","name":"x","strict":true,"schema":{"type":"integer","maximum":9007199254740993.5}}'
    sent = json.dumps(body()).removesuffix("}") + f',"text":{{"format":{huge}}}}}'
    pool, node = PoolTwin(), NodeTwin(script=lambda _: says("7"))
    async with gateway_with(tmp_path, pool=pool, node=node) as world:
        answer = await world.client.post(URL, content=sent, headers={"content-type": "application/json"})
    assert answer.status_code == 200, answer.text
    assert f'"text":{{"format":{huge},"verbosity":"medium"}}' in answer.text
    assert answer.json()["output"][0]["content"][0]["text"] == "7"
    assert answer.json()["schemagate"]["validation"]["verdict"] == "valid"
    assert node.requests[0].artifact_key is not None


async def test_what_is_refused_before_a_node_begins_is_a_plain_error_also_of_a_stream(tmp_path: Path) -> None:
    bad = {"format": {"type": "json_schema", "name": "x", "schema": {"properties": {"a": {"maxLenght": 1}}}}}
    async with gateway_with(tmp_path) as world:
        for is_streamed in (False, True):
            answer = await world.client.post(URL, json=body(text=bad, stream=is_streamed))
            assert answer.status_code == 400
            error = answer.json()["error"]
            assert (error["code"], error["param"], error["pointer"]) == (
                "unknown_keyword",
                "text.format.schema.properties.a.maxLenght",
                "/properties/a/maxLenght",
            )
            missing = await world.client.post(URL, json=body(model="nobody", stream=is_streamed))
            assert (missing.status_code, missing.json()["error"]["code"]) == (404, "model_not_found")


async def test_an_input_that_is_too_long_is_refused_as_input(tmp_path: Path) -> None:
    fault = NodeFault(code="context_length_exceeded", message="it is too long", limit=10, observed=20)
    async with gateway_with(tmp_path, node=NodeTwin(fault=fault)) as world:
        for is_streamed in (False, True):
            answer = await world.client.post(URL, json=body(stream=is_streamed))
            assert answer.status_code == 400
            assert (answer.json()["error"]["code"], answer.json()["error"]["param"]) == (
                "context_length_exceeded",
                "input",
            )


async def test_a_tools_schema_is_refused_where_it_stands(tmp_path: Path) -> None:
    bad = FUNCTION | {"parameters": {"type": "object", "properties": {"a": {"maxLenght": 1}}}}
    async with gateway_with(tmp_path) as world:
        answer = await world.client.post(URL, json=body(tools=[CUSTOM, bad]))
    assert answer.status_code == 400, answer.text
    assert answer.json()["error"]["param"] == "tools[1].parameters.properties.a.maxLenght"


async def test_hosted_tools_are_refused_by_default(tmp_path: Path) -> None:
    async with gateway_with(tmp_path) as world:
        answer = await world.client.post(URL, json=body(tools=[{"type": "web_search"}]))
    assert answer.status_code == 400
    assert (answer.json()["error"]["code"], answer.json()["error"]["param"]) == (
        "unsupported_parameter",
        "tools[0].type",
    )


async def test_hosted_tools_are_left_out_and_reported_where_the_policy_says_so(tmp_path: Path) -> None:
    node = NodeTwin(script=lambda _: says("ok", end="end_of_sequence", accepting=None))
    async with gateway_with(tmp_path, node=node, serving_policy={"hosted_tools": "ignore"}) as world:
        answer = await world.client.post(URL, json=body(tools=[{"type": "web_search"}]))
    assert answer.status_code == 200, answer.text
    assert answer.json()["tools"] == []
    assert answer.json()["schemagate"]["ignored"] == {"tools[0]": "the hosted tool `web_search` is left out"}


async def test_a_family_of_contracts_refuses_hosted_tools_where_its_tenant_lets_them_be_left_out(
    tmp_path: Path,
) -> None:
    tenant = "/v1/admin/tenants/local/serving-policy"
    node = NodeTwin(script=lambda _: says("{}"))
    async with gateway_with(tmp_path, node=node) as world:
        for name in ("invoice", "memo"):
            await world.client.post("/v1/contracts", json={"name": name, "schema": {"type": "object"}})
        assert (await world.client.put(tenant, json={"hosted_tools": "ignore"})).status_code == 200
        assert (await world.client.put(f"{tenant}/invoice", json={"hosted_tools": "refuse"})).status_code == 200
        answers = {
            name: await world.client.post(URL, json=body(contract=f"{name}@1", tools=[{"type": "web_search"}]))
            for name in ("invoice", "memo")
        }
    assert answers["memo"].status_code == 200, answers["memo"].text
    assert answers["invoice"].status_code == 400
    assert answers["invoice"].json()["error"]["param"] == "tools[0].type"
    assert len(node.requests) == 1


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/responses/resp_1"),
        ("DELETE", "/v1/responses/resp_1"),
        ("POST", "/v1/responses/resp_1/cancel"),
        ("GET", "/v1/responses/resp_1/input_items"),
    ],
)
async def test_no_response_is_found_again(tmp_path: Path, method: str, path: str) -> None:
    async with gateway_with(tmp_path) as world:
        answer = await world.client.request(method, path)
        unknown = await world.client.request(method, path, headers={"Authorization": ""})
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "response_not_found")
    assert unknown.status_code == 401


@pytest.mark.parametrize("sent", [b"", b"[]", b"null", b"{", b'{"model":', b"\xff", b'{"input":1e999}'])
async def test_a_body_that_cannot_be_read_is_a_typed_error(tmp_path: Path, sent: bytes) -> None:
    async with gateway_with(tmp_path) as world:
        answer = await world.client.post(URL, content=sent, headers={"content-type": "application/json"})
    assert answer.status_code == 400
    assert answer.json()["error"]["code"]


async def test_strict_says_what_may_be_left_to_the_validator(tmp_path: Path) -> None:
    requests: list[CompileRequest] = []

    def answer(request: CompileRequest) -> Any:
        requests.append(request)
        return compiled(request)

    form = {"type": "json_schema", "name": "x", "schema": {"type": "object"}}
    pool, node = PoolTwin(answer=answer), NodeTwin(script=lambda _: says("{}"))
    async with gateway_with(tmp_path, pool=pool, node=node) as world:
        for strict in (True, False):
            sent = body(text={"format": form | {"strict": strict}})
            assert (await world.client.post(URL, json=sent)).status_code == 200
    assert [request.policy.allow_checked_after for request in requests] == [False, True]
