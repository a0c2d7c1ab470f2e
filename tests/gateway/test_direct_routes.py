from pathlib import Path

from tests.gateway.twins import NodeTwin, chat, gateway_with, says, strict

CHAT = "/v1/chat/completions"


async def test_what_is_reached_directly_answers_its_errors_as_every_route_does(tmp_path: Path) -> None:
    async with gateway_with(tmp_path) as world:
        refused = await world.client.post(CHAT, json=strict({"type": "string", "minLenght": 1}))
        nobody = await world.client.post(CHAT, json=chat(), headers={"Authorization": "Bearer no"})
        metrics = (await world.client.get("/metrics")).text
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "unknown_keyword")
    assert nobody.status_code == 401
    assert refused.headers["x-request-id"] == refused.json()["error"]["request_id"]
    assert 'schemagate_gateway_contract_refusals_total{code="unknown_keyword"} 1.0' in metrics
    assert 'requests_total{completion="none",route="chat_completions",status="401"} 1.0' in metrics


async def test_other_methods_and_other_paths_are_left_to_the_framework(tmp_path: Path) -> None:
    async with gateway_with(tmp_path) as world:
        method = await world.client.get(CHAT)
        longer = await world.client.post(CHAT + "/", json=chat())
    assert (method.status_code, longer.status_code) == (405, 404)
    assert longer.json()["error"]["request_id"] == longer.headers["x-request-id"]


async def test_an_error_before_the_first_event_of_a_stream_is_a_plain_one(tmp_path: Path) -> None:
    async with gateway_with(tmp_path, node=NodeTwin(script=lambda _: says('"a"'))) as world:
        refused = await world.client.post(CHAT, json=strict({"type": "string", "minLenght": 1}, stream=True))
        served = await world.client.post(CHAT, json=strict({"type": "string"}, stream=True))
    assert (refused.status_code, refused.headers["content-type"]) == (400, "application/json")
    assert served.text.endswith("data: [DONE]\n\n")
