"""Repairs behind the whole gateway: the model is told its fault, only what was judged is shown, and all is charged."""

from pathlib import Path

import pytest

from tests.gateway.backends.seen import PROSE, VALID, events_of, metric
from tests.gateway.backends.world import contracted, gateway_before, sent
from tests.gateway.openai_stub import OpenAIStub, Refuses, Reply, says


async def test_a_repair_tells_the_model_its_fault_and_is_charged(tmp_path: Path) -> None:
    replies = [says(PROSE, counted=(10, 4)), says('{"title":3}', counted=(20, 5)), says(VALID, counted=(30, 6))]
    stub = OpenAIStub(script=lambda _: replies.pop(0))
    policy = {"downgrade": "repair", "max_repairs": 2}
    async with gateway_before(tmp_path, stub, policy=policy) as world:
        answer = await sent(world, contracted())
        body = answer.json()
        assert (answer.status_code, body["choices"][0]["message"]["content"]) == (200, VALID)
        member = body["schemagate"]
        assert (member["completion"], member["downgrade"], member["repairs"]) == ("complete", "repaired", 2)
        assert answer.headers["x-schemagate-downgrade"] == "repaired"
        assert (body["usage"]["prompt_tokens"], body["usage"]["completion_tokens"]) == (60, 15)
        assert metric(world, "schemagate_gateway_tokens_total", kind="prompt") == 60
        assert metric(world, "schemagate_gateway_tokens_total", kind="completion") == 15
    second = stub.requests[1]["messages"]
    assert second[:2] == [{"role": "user", "content": "hi"}, {"role": "assistant", "content": PROSE}]
    assert second[2]["role"] == "user"
    assert "invalid_json" in second[2]["content"]
    third = stub.requests[2]["messages"]
    assert third[1] == {"role": "assistant", "content": '{"title":3}'}
    assert "`type` fails at `/title`" in third[2]["content"]
    assert len(third) == 3  # of each fault, only the last one


async def test_a_stream_under_repair_shows_only_what_was_judged(tmp_path: Path) -> None:
    replies = [says(PROSE), says(VALID)]
    stub = OpenAIStub(script=lambda _: replies.pop(0))
    async with gateway_before(tmp_path, stub, policy={"downgrade": "repair"}) as world:
        answer = await sent(world, contracted(stream=True))
    events = events_of(answer.text)
    texts = [each["choices"][0]["delta"].get("content") or "" for each in events]
    assert "".join(texts) == VALID
    assert events[-1]["schemagate"]["downgrade"] == "repaired"


@pytest.mark.parametrize("stream", [False, True])
async def test_when_repairs_are_used_up_the_answer_is_invalid(tmp_path: Path, *, stream: bool) -> None:
    stub = OpenAIStub(script=lambda _: says(PROSE))
    backend, policy = {"capability": "json_schema"}, {"downgrade": "repair", "max_repairs": 3}
    async with gateway_before(tmp_path, stub, policy=policy, backend=backend) as world:
        answer = await sent(world, contracted(stream=stream))
        last = events_of(answer.text)[-1] if stream else answer.json()
        assert last["error"]["code"] == "output_failed_validation"
        assert PROSE not in answer.text
        assert (last["schemagate"]["downgrade"], last["schemagate"]["repairs"]) == ("repaired", 3)
    assert len(stub.requests) == 4


async def test_a_valid_first_answer_is_not_repaired(tmp_path: Path) -> None:
    stub = OpenAIStub(script=lambda _: says(VALID))
    async with gateway_before(tmp_path, stub, policy={"downgrade": "repair", "max_repairs": 5}) as world:
        answer = await sent(world, contracted())
        assert answer.json()["schemagate"]["downgrade"] == "validated_after"
    assert len(stub.requests) == 1


@pytest.mark.parametrize(
    ("reply", "completion"),
    [
        (says('{"title":"A', finish="length"), "truncated"),
        (says(VALID, finish="length"), "truncated"),
        (says(PROSE, finish="content_filter"), "refused"),
    ],
)
async def test_what_is_no_finished_text_is_not_repaired(tmp_path: Path, reply: Reply, completion: str) -> None:
    stub = OpenAIStub(script=lambda _: reply)
    async with gateway_before(tmp_path, stub, policy={"downgrade": "repair", "max_repairs": 2}) as world:
        answer = await sent(world, contracted())
        assert (answer.status_code, answer.json()["schemagate"]["completion"]) == (200, completion)
    assert len(stub.requests) == 1


async def test_a_backend_that_is_gone_for_the_repair_has_failed(tmp_path: Path) -> None:
    replies: list[Reply] = [says(PROSE, counted=(10, 4)), Refuses(status=500)]
    stub = OpenAIStub(script=lambda _: replies.pop(0))
    async with gateway_before(tmp_path, stub, policy={"downgrade": "repair"}) as world:
        answer = await sent(world, contracted())
        assert (answer.status_code, answer.json()["error"]["code"]) == (502, "backend_failed")
        assert metric(world, "schemagate_gateway_tokens_total", kind="completion") == 4


async def test_every_attempt_is_reserved_before_the_first(tmp_path: Path) -> None:
    stub = OpenAIStub(script=lambda _: says(VALID))
    limits = {"backend": {"context_tokens": 400}, "tokens_per_minute": 900}
    async with gateway_before(tmp_path, stub, policy={"downgrade": "repair", "max_repairs": 4}, **limits) as world:
        refused = await sent(world, contracted())
        assert (refused.status_code, stub.requests) == (429, [])
        await world.client.put("/v1/admin/tenants/local/serving-policy", json={"downgrade": "validate"})
        assert (await sent(world, contracted())).status_code == 200
