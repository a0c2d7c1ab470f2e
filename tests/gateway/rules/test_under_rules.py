"""Chat completions under rules that are set through the API: real processes evaluate."""

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from inference_node.tool_dialects.hermes import HERMES
from tests.gateway.contracts.world import error_of
from tests.gateway.rules.ruled import ADDS_UP, CHAT, INVOICE, RIGHT, RULES, WRONG, ask, results, under
from tests.gateway.twins import NodeTwin, chat, says, strict

SMALL = {"name": "small", "cel": "object.total < 100 || 'operator' in caller.roles", "message": "not yours"}
NEVER = {"name": "never", "cel": "caller.principal == 'nobody'", "message": "you are not nobody"}


def last_event(response: httpx.Response) -> Any:
    blocks = response.text.removesuffix("\n\n").split("\n\n")
    assert blocks[-1] == "data: [DONE]"
    return json.loads(blocks[-2].removeprefix("data: "))


async def test_an_object_that_passes_is_complete_and_says_by_which_rules(tmp_path: Path) -> None:
    async with under(tmp_path, {"semantic": [ADDS_UP], "authorisation": [SMALL]}) as world:
        answered = await ask(world)
        metrics = (await world.client.get("/metrics")).text
    assert answered.status_code == 200, answered.text
    member = answered.json()["schemagate"]
    assert member["completion"] == "complete"
    assert results(member) == [("adds-up", "semantic", "passed"), ("small", "authorisation", "passed")]
    assert 'schemagate_gateway_rules_total{kind="semantic",source="cel",verdict="passed"} 1.0' in metrics


async def test_an_object_that_breaks_a_rule_is_invalid_and_the_rule_is_named(tmp_path: Path) -> None:
    async with under(tmp_path, {"semantic": [ADDS_UP]}, WRONG) as world:
        answered = await ask(world)
    assert error_of(answered) == (422, "output_failed_validation")
    assert answered.headers["x-schemagate-completion"] == "invalid"
    error = answered.json()["error"]
    assert error["rule"] == "adds-up"
    assert error["reason"] == "failed_rule"
    assert error["message"] == "the finished answer does not pass the rule `adds-up`: net and vat are not total"
    member = answered.json()["schemagate"]
    assert (member["completion"], member["validation"]["verdict"]) == ("invalid", "valid")
    assert results(member) == [("adds-up", "semantic", "failed")]
    # The wrong value itself is not repeated. The request's id is left out: its digits are chance.
    assert "13" not in json.dumps({name: value for name, value in error.items() if name != "request_id"})


async def test_an_object_that_is_not_the_callers_to_have_has_a_code_of_its_own(tmp_path: Path) -> None:
    async with under(tmp_path, {"semantic": [ADDS_UP], "authorisation": [NEVER]}) as world:
        answered = await ask(world)
    assert error_of(answered) == (422, "output_not_authorised")
    assert answered.json()["error"]["rule"] == "never"
    said = answered.json()
    del said["schemagate"]["timings"]  # which have a total of their own
    assert '"total": 12' not in json.dumps(said)


async def test_a_rule_that_fails_to_evaluate_makes_nothing_complete(tmp_path: Path) -> None:
    broken = {"name": "broken", "cel": "object.missing > 1", "message": "no"}
    async with under(tmp_path, {"semantic": [broken]}) as world:
        answered = await ask(world)
    assert error_of(answered) == (503, "backend_failed")
    error = answered.json()["error"]
    assert (error["reason"], error["rule"]) == ("rule_broken", "broken")
    assert answered.headers["x-should-retry"] == "false"
    assert answered.json()["schemagate"]["validation"]["rules"][0]["message"] == "evaluation"


async def test_an_expensive_rule_holds_up_nobody_else(tmp_path: Path) -> None:
    grow = "object.total > 0 && 'a'" + ".replace('a', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaa')" * 9 + ".size() > 1"
    slow = {"name": "slow", "cel": grow, "message": "no"}
    async with under(tmp_path, {"semantic": [slow]}) as world, asyncio.TaskGroup() as group:
        held = group.create_task(ask(world))
        others = [await world.client.post(CHAT, json=chat(seed=seed)) for seed in range(20)]
        assert not held.done() or held.result().status_code == 503
    assert error_of(held.result()) == (503, "backend_failed")
    assert held.result().json()["error"]["rule"] == "slow"
    assert len(others) == 20


async def test_what_breaks_the_contract_is_not_asked_about(tmp_path: Path) -> None:
    async with under(tmp_path, {"semantic": [ADDS_UP]}, '{"net":10,"vat":2}') as world:
        answered = await ask(world)
    assert error_of(answered) == (422, "output_failed_validation")
    assert answered.json()["error"].get("rule") is None
    assert answered.json()["schemagate"]["validation"]["rules"] == []


async def test_free_words_are_under_no_rule(tmp_path: Path) -> None:
    node = NodeTwin(script=lambda _: says("hello", end="end_of_sequence", accepting=None))
    async with under(tmp_path, {"authorisation": [NEVER]}, node=node) as world:
        answered = await world.client.post(CHAT, json=chat())
    assert answered.status_code == 200
    assert answered.json()["choices"][0]["message"]["content"] == "hello"


async def test_a_stream_ends_with_what_the_rules_say(tmp_path: Path) -> None:
    async with under(tmp_path, {"semantic": [ADDS_UP]}, WRONG) as world:
        streamed = await ask(world, stream=True)
    assert streamed.status_code == 200
    assert "total" in streamed.text  # provisional, as every stream that policy does not hold back
    event = last_event(streamed)
    assert event["error"]["code"] == "output_failed_validation"
    assert event["error"]["rule"] == "adds-up"
    assert results(event["schemagate"]) == [("adds-up", "semantic", "failed")]


async def test_where_rules_authorise_a_stream_gives_out_nothing_before_they_have(tmp_path: Path) -> None:
    node = NodeTwin(script=lambda _: says('{"net":10,', '"vat":2,"total":12}'))
    async with under(tmp_path, {"authorisation": [NEVER]}, node=node) as world:
        forbidden = await ask(world, stream=True)
        assert (await world.client.put(RULES, json={"authorisation": [SMALL]})).status_code == 200
        allowed = await ask(world, stream=True)
    assert last_event(forbidden)["error"]["code"] == "output_not_authorised"
    assert "vat" not in forbidden.text
    assert "vat" in allowed.text
    assert last_event(allowed)["schemagate"]["completion"] == "complete"


@pytest.mark.parametrize("stream", [False, True])
async def test_what_is_cut_short_of_authorisation_is_withheld(tmp_path: Path, stream: bool) -> None:  # noqa: FBT001
    cut = says(RIGHT[:-1], end="max_tokens", accepting=False)
    async with under(tmp_path, {"authorisation": [SMALL]}, node=NodeTwin(script=lambda _: cut)) as world:
        answered = await ask(world, stream=stream)
    body = last_event(answered) if stream else answered.json()
    assert body["error"]["code"] == "output_withheld"
    assert body["schemagate"]["completion"] == "truncated"
    assert "vat" not in answered.text


PAY = {
    "type": "function",
    "function": {
        "name": "pay",
        "parameters": {
            "type": "object",
            "properties": {"amount": {"type": "integer"}},
            "required": ["amount"],
            "additionalProperties": False,
        },
    },
}


@pytest.mark.parametrize(("amount", "status"), [(5, 200), (500, 422)])
@pytest.mark.parametrize("stream", [False, True])
async def test_rules_look_at_each_call_of_a_tool(
    tmp_path: Path,
    amount: int,
    status: int,
    stream: bool,  # noqa: FBT001 - a test's own table
) -> None:
    limit = {
        "name": "limit",
        "on": "call",
        "cel": "call.name != 'pay' || call.arguments.amount <= 100",
        "message": "more than 100 needs another role",
    }
    text = HERMES.call_text("pay", f'{{"amount":{amount}}}', is_custom=False)
    async with under(tmp_path, {"semantic": [ADDS_UP], "authorisation": [limit]}, text) as world:
        body = chat(tools=[PAY], tool_choice="required", stream=stream)
        answered = await world.client.post(CHAT, json=body)
    if stream:
        assert answered.status_code == 200
        last = last_event(answered)
    else:
        assert answered.status_code == status, answered.text
        last = answered.json()
    said = "passed" if status == 200 else "failed"
    assert results(last["schemagate"]) == [
        ("adds-up", "semantic", "not_applicable"),
        ("limit", "authorisation", said),
    ]
    assert (last.get("error") or {}).get("code") == (None if status == 200 else "output_not_authorised")
    assert ("amount" in answered.text) == (status == 200)


async def test_an_answer_that_failed_by_a_rule_is_given_again_for_its_key(tmp_path: Path) -> None:
    node = NodeTwin(script=lambda _: says(WRONG))
    async with under(tmp_path, {"semantic": [ADDS_UP]}, node=node) as world:
        headers = {"Idempotency-Key": "one"}
        first = await world.client.post(CHAT, json=strict(INVOICE), headers=headers)
        again = await world.client.post(CHAT, json=strict(INVOICE), headers=headers)
    assert error_of(first) == (422, "output_failed_validation")
    assert again.content == first.content
    assert len(node.requests) == 1


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("text", ['{"42 is the code":"x"}', '{"42 is the code":1,"42 is the code":1}'])
async def test_an_answer_that_fails_before_authorisation_tells_nothing_of_its_text(
    tmp_path: Path,
    text: str,
    stream: bool,  # noqa: FBT001 - a test's own table
) -> None:
    """Otherwise a contract that is always broken would be a way around the rules: names of members are text, too."""
    counts = {"type": "object", "additionalProperties": {"type": "integer"}}
    async with under(tmp_path, {"authorisation": [NEVER]}, text) as world:
        answers = [
            await world.client.post(CHAT, json=strict(counts, stream=stream)),
            await world.client.post(
                "/v1/responses",
                json={
                    "model": "twin-135m",
                    "input": "hi",
                    "stream": stream,
                    "text": {"format": {"type": "json_schema", "name": "x", "schema": counts}},
                },
            ),
        ]
        assert (await world.client.put(RULES, json={"semantic": [NEVER]})).status_code == 200
        told = await world.client.post(CHAT, json=strict(counts))
    assert ["output_failed_validation" in each.text for each in answers] == [True, True]
    assert ["is the code" in each.text for each in answers] == [False, False]
    assert "42 is the code" in told.text


async def test_rules_are_those_of_the_contract_that_answers(tmp_path: Path) -> None:
    node = NodeTwin(script=lambda _: says(WRONG))
    async with under(tmp_path, {}, node=node) as world:
        for name in ("billing.invoice", "billing.note", "other"):
            sent = {"name": name, "schema": INVOICE}
            assert (await world.client.post("/v1/contracts", json=sent)).status_code == 201
        for family, rule in (("billing.*", ADDS_UP), ("billing.invoice", NEVER | {"message": "another"})):
            set_ = await world.client.put(f"{RULES}/{family}", json={"semantic": [rule]})
            assert set_.status_code == 200, set_.text
        asked = [
            await world.client.post(CHAT, json=chat(contract=name))
            for name in ("billing.invoice@1", "billing.note@1", "other@1")
        ]
        inline = await ask(world)
    told = [[rule["name"] for rule in each.json()["schemagate"]["validation"]["rules"]] for each in asked]
    assert told == [["adds-up", "never"], ["adds-up"], []]
    assert [each.status_code for each in asked] == [422, 422, 200]
    assert inline.status_code == 200


@pytest.mark.parametrize("stream", [False, True])
async def test_the_other_api_is_under_the_same_rules(tmp_path: Path, stream: bool) -> None:  # noqa: FBT001
    answer_format = {"type": "json_schema", "name": "x", "strict": True, "schema": INVOICE}
    body = {"model": "twin-135m", "input": "hi", "text": {"format": answer_format}, "stream": stream}
    async with under(tmp_path, {"authorisation": [NEVER]}) as world:
        forbidden = await world.client.post("/v1/responses", json=body)
        assert (await world.client.put(RULES, json={"semantic": [ADDS_UP]})).status_code == 200
        allowed = await world.client.post("/v1/responses", json=body)
    assert "vat" not in forbidden.text.replace(json.dumps(INVOICE), "").partition('"delta"')[2]
    assert "output_not_authorised" in forbidden.text or "response.failed" in forbidden.text
    assert '"rule":"never"' in forbidden.text.replace(" ", "") or '"name":"never"' in forbidden.text.replace(" ", "")
    assert '"name":"adds-up"' in allowed.text.replace(" ", "")
    assert forbidden.status_code == (200 if stream else 422)


async def test_where_policy_holds_streams_back_a_wrong_object_is_never_sent(tmp_path: Path) -> None:
    node = NodeTwin(script=lambda _: says(WRONG))
    async with under(tmp_path, {"semantic": [ADDS_UP]}, node=node) as world:
        policy = {"stream_mode": "hold_back"}
        assert (await world.client.put("/v1/admin/tenants/local/serving-policy", json=policy)).status_code == 200
        failed = await ask(world, stream=True)
        node.script = lambda _: says(RIGHT)
        passed = await ask(world, stream=True)
    assert last_event(failed)["error"]["rule"] == "adds-up"
    assert "vat" not in failed.text.replace("net and vat are not total", "")
    assert "vat" in passed.text
