"""Contracts that no grammar enforces, behind the whole gateway: refused by name, or the downgrade is labelled."""

from pathlib import Path
from typing import Any

import pytest

from gateway.validation.verdict import Unjudged, UnjudgedReason
from tests.gateway.backends.seen import PROSE, VALID, events_of, metric
from tests.gateway.backends.world import TITLED, UPSTREAM, asked, contracted, gateway_before, sent
from tests.gateway.openai_stub import DONE, OpenAIStub, Refuses, Reply, Streams, chunk, says
from tests.gateway.twins import PoolTwin


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


async def test_an_operators_rules_hold_for_an_answer_that_no_grammar_enforced(tmp_path: Path) -> None:
    rules = {"semantic": [{"name": "no-a", "cel": "object.title != 'A'", "message": "A is taken"}]}
    stub = OpenAIStub(script=lambda _: says(VALID))
    async with gateway_before(tmp_path, stub, policy={"downgrade": "validate"}) as world:
        assert (await world.client.put("/v1/admin/tenants/local/rules", json=rules)).status_code == 200
        answer = await sent(world, contracted())
        assert (answer.status_code, answer.json()["schemagate"]["completion"]) == (422, "invalid")
        assert answer.json()["error"]["rule"] == "no-a"


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
