"""Backends without a grammar behind the whole gateway: contracts are refused by name, or the downgrade is labelled."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from gateway.services import SERVICES
from gateway.validation.verdict import Unjudged, UnjudgedReason
from tests.gateway.backends.world import SECRET, TITLED, UPSTREAM, asked, contracted, gateway_before, sent
from tests.gateway.openai_stub import CUT, DONE, OpenAIStub, Refuses, Reply, Streams, chunk, says
from tests.gateway.twins import MODEL, NodeTwin, PoolTwin, World, chat, until

VALID = '{"title":"A"}'
PROSE = "Sure! Here is a title."


def events_of(text: str) -> list[dict[str, Any]]:
    lines = [line.removeprefix("data: ") for line in text.split("\n\n") if line]
    assert lines[-1] == "[DONE]"
    return [json.loads(line) for line in lines[:-1]]


def metric(world: World, name: str, **labels: str) -> float:
    value = getattr(world.app.state, SERVICES).metrics.registry.get_sample_value(name, labels)
    return 0.0 if value is None else float(value)


async def test_text_without_a_contract_is_served_as_it_comes(tmp_path: Path) -> None:
    stub = OpenAIStub(script=lambda _: says("Hel", "lo", counted=(9, 2)))
    async with gateway_before(tmp_path, stub) as world:
        answer = await sent(world, asked(max_tokens=20, stop=["x"]))
    body = answer.json()
    assert answer.status_code == 200
    assert body["model"] == UPSTREAM
    assert body["choices"][0]["message"]["content"] == "Hello"
    assert body["choices"][0]["finish_reason"] == "stop"
    assert (body["usage"]["prompt_tokens"], body["usage"]["completion_tokens"]) == (9, 2)
    member = body["schemagate"]
    assert (member["completion"], member["downgrade"], member["contract"]) == ("complete", None, None)
    assert member["node"] == {"model": UPSTREAM, "engine": "openai-compatible", "engine_version": "cloud"}
    assert "x-schemagate-downgrade" not in answer.headers
    assert (stub.requests[0]["model"], stub.requests[0]["max_tokens"]) == ("vendor/large-1", 20)


async def test_its_stream_is_the_same_answer_in_pieces(tmp_path: Path) -> None:
    stub = OpenAIStub(script=lambda _: says("Hel", "lo", counted=(9, 2)))
    async with gateway_before(tmp_path, stub) as world:
        answer = await sent(world, asked(stream=True, stream_options={"include_usage": True}))
    events = events_of(answer.text)
    texts = [each["choices"][0]["delta"].get("content") or "" for each in events if each["choices"]]
    assert "".join(texts) == "Hello"
    assert events[-1]["usage"]["completion_tokens"] == 2


@pytest.mark.parametrize("capability", ["none", "json_object", "json_schema"])
@pytest.mark.parametrize("stream", [False, True])
async def test_a_contract_is_refused_before_a_token_is_spent(tmp_path: Path, capability: str, *, stream: bool) -> None:
    """The field case provider-drops-format."""
    stub = OpenAIStub()
    async with gateway_before(tmp_path, stub, backend={"capability": capability}) as world:
        answer = await sent(world, contracted(stream=stream))
        error = answer.json()["error"]
        assert (answer.status_code, error["code"]) == (400, "capability_unavailable")
        assert error["param"] == "response_format.json_schema.schema"
    assert stub.requests == []


async def test_a_registered_contract_is_refused_likewise(tmp_path: Path) -> None:
    stub = OpenAIStub()
    async with gateway_before(tmp_path, stub) as world:
        registered = await world.client.post("/v1/contracts", json={"name": "titles", "schema": TITLED})
        assert registered.status_code in {200, 201}
        answer = await sent(world, asked(contract="titles@1"))
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "capability_unavailable")
        assert answer.json()["error"]["param"] == "contract"
    assert stub.requests == []


@pytest.mark.parametrize("stream", [False, True])
async def test_a_downgrade_is_labelled_wherever_it_can_be_seen(tmp_path: Path, *, stream: bool) -> None:
    stub, pool = OpenAIStub(script=lambda _: says('{"title":', '"A"}')), PoolTwin()
    async with gateway_before(tmp_path, stub, policy={"downgrade": "validate"}, pool=pool) as world:
        answer = await sent(world, contracted(stream=stream))
        assert answer.status_code == 200
        assert answer.headers["x-schemagate-downgrade"] == "validated_after"
        last = events_of(answer.text)[-1] if stream else answer.json()
        member = last["schemagate"]
        assert (member["completion"], member["downgrade"], member["repairs"]) == ("complete", "validated_after", 0)
        assert member["validation"]["verdict"] == "valid"
        assert (member["artifact_key"], member["tokenizer_digest"], member["cache"]) == (None, None, None)
        counts = member["contract"]["enforcement"]
        assert counts["enforced"] == 0
        assert counts["checked_after"] > 0
        labels = {"downgrade": "validated_after", "completion": "complete"}
        assert metric(world, "schemagate_gateway_downgrades_total", **labels) == 1
        assert metric(world, "schemagate_gateway_accepted_objects_total") == 1
    assert pool.requests == []  # nothing is compiled for it
    assert "response_format" not in stub.requests[0]


@pytest.mark.parametrize("text", [PROSE, "", '{"title":1}', '{"title":', VALID + "x", '{"title":"A","title":"B"}'])
@pytest.mark.parametrize("stream", [False, True])
async def test_what_breaks_the_contract_is_invalid_and_never_complete(
    tmp_path: Path, text: str, *, stream: bool
) -> None:
    stub = OpenAIStub(script=lambda _: says(text) if text else Streams(steps=[chunk(finish="stop"), DONE]))
    async with gateway_before(tmp_path, stub, policy={"downgrade": "validate"}) as world:
        answer = await sent(world, contracted(stream=stream))
        last = events_of(answer.text)[-1] if stream else answer.json()
        assert answer.status_code == (200 if stream else 422)
        assert last["error"]["code"] == "output_failed_validation"
        assert (last["schemagate"]["completion"], last["schemagate"]["downgrade"]) == ("invalid", "validated_after")


async def test_text_that_is_held_back_is_never_shown_if_it_breaks_the_contract(tmp_path: Path) -> None:
    policy = {"downgrade": "validate", "stream_mode": "hold_back"}
    async with gateway_before(tmp_path, OpenAIStub(script=lambda _: says(PROSE)), policy=policy) as world:
        answer = await sent(world, contracted(stream=True))
    assert PROSE not in answer.text
    assert events_of(answer.text)[-1]["schemagate"]["completion"] == "invalid"


@pytest.mark.parametrize(
    ("capability", "hint"),
    [
        ("none", None),
        ("json_object", {"type": "json_object"}),
        (
            "json_schema",
            {"type": "json_schema", "json_schema": {"name": "contract", "schema": TITLED, "strict": True}},
        ),
    ],
)
async def test_a_backend_that_may_help_gets_a_hint_and_no_trust(tmp_path: Path, capability: str, hint: Any) -> None:
    stub = OpenAIStub(script=lambda _: says(VALID))
    backend = {"capability": capability}
    async with gateway_before(tmp_path, stub, policy={"downgrade": "validate"}, backend=backend) as world:
        answer = await sent(world, contracted())
        assert answer.json()["schemagate"]["downgrade"] == "validated_after"
    assert stub.requests[0].get("response_format") == hint


@pytest.mark.parametrize(
    "reply",
    [Streams(steps=[chunk(finish="stop"), DONE]), says('{"title":'), says('{"title":1}')],
    ids=["null content", "a broken prefix", "another object"],
)
async def test_a_backend_that_claims_to_enforce_and_does_not_has_failed(tmp_path: Path, reply: Reply) -> None:
    """The field case null-content-with-stop."""
    backend = {"capability": "json_schema"}
    stub = OpenAIStub(script=lambda _: reply)
    async with gateway_before(tmp_path, stub, policy={"downgrade": "validate"}, backend=backend) as world:
        answer = await sent(world, contracted())
        error = answer.json()["error"]
        assert (answer.status_code, error["code"], error["reason"]) == (502, "backend_failed", "claim_broken")


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


async def test_a_filtered_answer_says_so_in_the_clients_word(tmp_path: Path) -> None:
    stub = OpenAIStub(script=lambda _: says("Some", finish="content_filter"))
    async with gateway_before(tmp_path, stub) as world:
        body = (await sent(world, asked())).json()
        assert body["choices"][0]["finish_reason"] == "content_filter"
        assert (body["schemagate"]["completion"], body["schemagate"]["stop_cause"]) == ("refused", "content_filter")
        streamed = events_of((await sent(world, asked(stream=True))).text)
        assert [e["choices"][0]["finish_reason"] for e in streamed if e["choices"]][-1] == "content_filter"


async def test_a_filtered_response_is_incomplete_for_that_reason(tmp_path: Path) -> None:
    stub = OpenAIStub(script=lambda _: says("Some", finish="content_filter"))
    async with gateway_before(tmp_path, stub) as world:
        answer = (await world.client.post("/v1/responses", json={"model": UPSTREAM, "input": "hi"})).json()
        assert (answer["status"], answer["incomplete_details"]) == ("incomplete", {"reason": "content_filter"})
        body = {"model": UPSTREAM, "input": "hi", "stream": True}
        streamed = (await world.client.post("/v1/responses", json=body)).text
        assert streamed.rstrip().rpartition("event: ")[2].startswith("response.incomplete")


async def test_a_response_under_a_contract_is_downgraded_by_the_same_rules(tmp_path: Path) -> None:
    stub = OpenAIStub(script=lambda _: says(VALID))
    body = {
        "model": UPSTREAM,
        "input": "hi",
        "text": {"format": {"type": "json_schema", "name": "x", "schema": TITLED, "strict": True}},
    }
    async with gateway_before(tmp_path, stub) as world:
        refused = await world.client.post("/v1/responses", json=body)
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, "capability_unavailable")
        assert refused.json()["error"]["param"] == "text.format.schema"
        await world.client.put("/v1/admin/tenants/local/serving-policy", json={"downgrade": "validate"})
        answer = await world.client.post("/v1/responses", json=body)
        assert answer.headers["x-schemagate-downgrade"] == "validated_after"
        assert (answer.json()["status"], answer.json()["schemagate"]["downgrade"]) == ("completed", "validated_after")


@pytest.mark.parametrize("body", [asked(), contracted()])
async def test_a_refusal_of_the_model_is_a_refusal_here(tmp_path: Path, body: dict[str, Any]) -> None:
    """The field case refusal-validated-as-data."""
    steps = [chunk(refusal="I can't "), chunk(refusal="help."), chunk(finish="stop"), DONE]
    stub = OpenAIStub(script=lambda _: Streams(steps=steps))
    async with gateway_before(tmp_path, stub, policy={"downgrade": "repair"}) as world:
        answer = (await sent(world, body)).json()
        message = answer["choices"][0]["message"]
        assert (message["refusal"], message["content"] or None) == ("I can't help.", None)
        assert answer["choices"][0]["finish_reason"] == "stop"
        assert answer["schemagate"]["completion"] == "refused"
    assert len(stub.requests) == 1


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"tools": [{"type": "function", "function": {"name": "f"}}]}, "tools"),
        ({"logprobs": True}, "logprobs"),
        ({"reasoning_effort": "high"}, "reasoning"),
    ],
)
async def test_what_it_cannot_do_is_refused_by_name(tmp_path: Path, fields: dict[str, Any], param: str) -> None:
    stub = OpenAIStub()
    async with gateway_before(tmp_path, stub, policy={"downgrade": "repair"}) as world:
        answer = await sent(world, asked(**fields))
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "capability_unavailable")
        assert answer.json()["error"]["param"] == param
    assert stub.requests == []


@pytest.mark.parametrize(
    ("reply", "status", "code"),
    [
        (Refuses(status=401, body={"error": {"message": f"bad key {SECRET}"}}), 502, "backend_failed"),
        (Refuses(status=404, body={"error": {"message": "vendor/large-1 is not here"}}), 502, "backend_failed"),
        (Refuses(status=500, body=b"<html>/opt/x.py trace</html>"), 502, "backend_failed"),
        (
            Refuses(status=400, body={"error": {"message": "x", "code": "context_length_exceeded"}}),
            400,
            "context_length_exceeded",
        ),
        (Refuses(status=400, body={"error": {"code": "content_filter"}}), 400, "content_filter"),
    ],
)
async def test_a_backends_words_go_no_further(tmp_path: Path, reply: Reply, status: int, code: str) -> None:
    async with gateway_before(tmp_path, OpenAIStub(script=lambda _: reply)) as world:
        for stream in (False, True):
            answer = await sent(world, asked(stream=stream))
            assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
            for word in (SECRET, "vendor", "127.0.0.1", "trace", "html"):
                assert word not in answer.text


async def test_a_full_backend_is_503_with_its_own_patience(tmp_path: Path) -> None:
    reply = Refuses(status=429, body={"object": "error", "message": "x", "code": 429}, headers={"retry-after": "17"})
    async with gateway_before(tmp_path, OpenAIStub(script=lambda _: reply)) as world:
        answer = await sent(world, asked())
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "17")
        assert answer.headers["x-schemagate-completion"] == "backend_failed"


@pytest.mark.parametrize(
    "steps", [[chunk("a"), CUT], [chunk("a"), {"error": {"message": "boom"}}], says("a", finish="abort").steps]
)
async def test_what_fails_in_the_middle_ends_with_an_error_event(tmp_path: Path, steps: list[Any]) -> None:
    async with gateway_before(tmp_path, OpenAIStub(script=lambda _: Streams(steps=steps))) as world:
        events = events_of((await sent(world, asked(stream=True))).text)
        assert events[-1]["error"]["code"] == "backend_failed"
        assert (await sent(world, asked())).status_code == 502


async def test_a_model_of_a_node_stays_the_nodes(tmp_path: Path) -> None:
    stub, node = OpenAIStub(), NodeTwin()
    backend = {"models": {MODEL: "vendor/large-1", UPSTREAM: "vendor/large-1"}}
    async with gateway_before(tmp_path, stub, backend=backend, node=node, policy={"downgrade": "repair"}) as world:
        assert (await sent(world, chat())).json()["schemagate"]["node"]["engine"] == "torch"
        node.is_down = True
        await until(lambda: not world.app.state.schemagate_services.nodes.offers())
        answer = await sent(world, chat())
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "backend_failed")
    assert stub.requests == []


async def test_models_say_what_their_backends_can_do(tmp_path: Path) -> None:
    async with gateway_before(tmp_path, OpenAIStub(), backend={"capability": "json_object"}) as world:
        cards = {card["id"]: card for card in (await world.client.get("/v1/models")).json()["data"]}
        assert cards[MODEL]["schemagate"]["capability"] == "grammar"
        member = cards[UPSTREAM]["schemagate"]
        assert (member["capability"], member["contract_kinds"]) == ("json_object", [])
        assert (await world.client.get(f"/v1/models/{UPSTREAM}")).status_code == 200
        missing = (await sent(world, chat(model="nobody"))).json()["error"]
        assert UPSTREAM in missing["message"]
        assert "vendor" not in json.dumps(cards)


async def test_there_is_nothing_to_explain_of_a_backend_without_a_grammar(tmp_path: Path) -> None:
    async with gateway_before(tmp_path, OpenAIStub()) as world:
        body = {"model": UPSTREAM, "response_format": contracted()["response_format"]}
        answer = await world.client.post("/v1/contracts/explain", json=body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "capability_unavailable")


async def test_several_choices_are_several_answers(tmp_path: Path) -> None:
    replies = [says("one", counted=(5, 1)), says("two", counted=(5, 2))]
    stub = OpenAIStub(script=lambda _: replies.pop(0))
    async with gateway_before(tmp_path, stub) as world:
        body = (await sent(world, asked(n=2))).json()
        assert sorted(choice["message"]["content"] for choice in body["choices"]) == ["one", "two"]
        assert metric(world, "schemagate_gateway_tokens_total", kind="prompt") == 10
        assert body["usage"]["prompt_tokens"] == 10
    assert {request["seed"] for request in stub.requests} == {1, 2}


async def test_a_caller_who_leaves_ends_the_answer_there(tmp_path: Path) -> None:
    never = asyncio.Event()
    stub = OpenAIStub(script=lambda _: Streams(steps=[chunk("a"), never]))
    async with gateway_before(tmp_path, stub) as world:
        task = asyncio.get_running_loop().create_task(sent(world, asked()))
        await until(lambda: stub.num_open == 1)
        task.cancel()
        await until(lambda: stub.num_open == 0)


async def test_the_requests_time_ends_an_answer_that_does_not(tmp_path: Path) -> None:
    never = asyncio.Event()
    stub = OpenAIStub(script=lambda _: Streams(steps=[chunk("a"), never]))
    async with gateway_before(tmp_path, stub, request_seconds=0.3) as world:
        answer = await sent(world, asked())
        assert (answer.status_code, answer.json()["error"]["reason"]) == (504, "deadline_passed")
        await until(lambda: stub.num_open == 0)


async def test_an_operators_rules_hold_for_an_answer_that_no_grammar_enforced(tmp_path: Path) -> None:
    rules = {"semantic": [{"name": "no-a", "cel": "object.title != 'A'", "message": "A is taken"}]}
    stub = OpenAIStub(script=lambda _: says(VALID))
    async with gateway_before(tmp_path, stub, policy={"downgrade": "validate"}) as world:
        assert (await world.client.put("/v1/admin/tenants/local/rules", json=rules)).status_code == 200
        answer = await sent(world, contracted())
        assert (answer.status_code, answer.json()["schemagate"]["completion"]) == (422, "invalid")
        assert answer.json()["error"]["rule"] == "no-a"


async def test_every_attempt_is_reserved_before_the_first(tmp_path: Path) -> None:
    stub = OpenAIStub(script=lambda _: says(VALID))
    limits = {"backend": {"context_tokens": 400}, "tokens_per_minute": 900}
    async with gateway_before(tmp_path, stub, policy={"downgrade": "repair", "max_repairs": 4}, **limits) as world:
        refused = await sent(world, contracted())
        assert (refused.status_code, stub.requests) == (429, [])
        await world.client.put("/v1/admin/tenants/local/serving-policy", json={"downgrade": "validate"})
        assert (await sent(world, contracted())).status_code == 200


async def test_what_the_validator_cannot_judge_is_not_complete(tmp_path: Path) -> None:
    class Silent:
        num_ready = 1

        async def validate(self, *_: Any, **__: Any) -> Unjudged:
            return Unjudged(reason=UnjudgedReason.TIME, message="not in time")

    stub = OpenAIStub(script=lambda _: says(VALID))
    policy = {"downgrade": "repair", "max_repairs": 3}
    async with gateway_before(tmp_path, stub, policy=policy, validator=Silent()) as world:
        answer = await sent(world, contracted())
        assert (answer.status_code, answer.json()["error"]["reason"]) == (503, "not_judged")
    assert len(stub.requests) == 1  # there is no fault to tell the model of


@pytest.mark.parametrize(
    ("fields", "right", "wrong"),
    [
        ({"response_format": {"type": "json_object"}}, '{"a":[1]}', "[1]"),
        ({"structured_outputs": {"regex": "[a-c]{2}"}}, "ab", "abc"),
        ({"structured_outputs": {"choice": ["yes", "no"]}}, "no", "No."),
        ({"contract": {"kind": "lark", "definition": 'start: "a" "b"*'}}, "abb", "ba"),
    ],
)
async def test_contracts_of_every_kind_are_validated(
    tmp_path: Path, fields: dict[str, Any], right: str, wrong: str
) -> None:
    replies = [says(right), says(wrong)]
    stub = OpenAIStub(script=lambda _: replies.pop(0))
    backend = {"capability": "json_schema"}
    async with gateway_before(tmp_path, stub, policy={"downgrade": "validate"}, backend=backend) as world:
        answer = await sent(world, asked(**fields))
        assert (answer.status_code, answer.json()["choices"][0]["message"]["content"]) == (200, right)
        assert answer.json()["schemagate"]["downgrade"] == "validated_after"
        broken = await sent(world, asked(**fields))
        assert broken.status_code in {422, 502}
        assert broken.json()["schemagate"]["completion"] in {"invalid", "backend_failed"}


@pytest.mark.parametrize("stream", [False, True])
async def test_a_keyed_answer_is_given_again_with_its_label(tmp_path: Path, *, stream: bool) -> None:
    stub = OpenAIStub(script=lambda _: says(VALID))
    headers = {"Idempotency-Key": "k1"}
    async with gateway_before(tmp_path, stub) as world:
        body = contracted(stream=stream)
        refused = await world.client.post("/v1/chat/completions", json=body, headers=headers)
        assert refused.json()["error"]["code"] == "capability_unavailable"
        # What a policy decides is no answer to keep: allowed a moment later, the same request is served.
        await world.client.put("/v1/admin/tenants/local/serving-policy", json={"downgrade": "validate"})
        first = await world.client.post("/v1/chat/completions", json=body, headers=headers)
        again = await world.client.post("/v1/chat/completions", json=body, headers=headers)
        assert (first.status_code, again.text) == (200, first.text)
        assert again.headers["idempotent-replayed"] == "true"
        assert again.headers["x-schemagate-downgrade"] == "validated_after"
    assert len(stub.requests) == 1


@pytest.mark.parametrize(("text", "status"), [(VALID, 200), (PROSE, 422)])
async def test_a_hint_that_is_refused_is_left_out_and_the_text_validated(
    tmp_path: Path, text: str, status: int
) -> None:
    def reply(body: dict[str, Any]) -> Reply:
        return Refuses(status=400, body={"error": {"message": "no"}}) if "response_format" in body else says(text)

    stub, backend = OpenAIStub(script=reply), {"capability": "json_schema"}
    async with gateway_before(tmp_path, stub, policy={"downgrade": "validate"}, backend=backend) as world:
        answer = await sent(world, contracted())
        assert answer.status_code == status
        assert answer.json()["schemagate"]["completion"] == ("complete" if status == 200 else "invalid")
    assert ["response_format" in request for request in stub.requests] == [True, False]


async def test_a_request_that_is_refused_without_a_hint_is_refused(tmp_path: Path) -> None:
    stub = OpenAIStub(script=lambda _: Refuses(status=400, body={"error": {"message": "no"}}))
    backend = {"capability": "json_schema"}
    async with gateway_before(tmp_path, stub, policy={"downgrade": "validate"}, backend=backend) as world:
        answer = await sent(world, contracted())
        assert (answer.status_code, answer.json()["error"]["reason"]) == (502, "backend_refused")
    assert len(stub.requests) == 2
