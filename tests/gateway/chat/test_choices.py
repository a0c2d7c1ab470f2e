"""Several choices at once, over real connections: they end together, and wait for their reader together."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

import httpx

from gateway.budgets.ledger import Accounts, EndedBefore, Settled
from gateway.budgets.memory_ledger import MemoryBudgetLedger
from inference_node.protocol import GenerateRequest, NodeFault, TokenEvent
from policy.budget import Amounts
from tests.gateway.serving import served_gateway
from tests.gateway.twins import Event, NodeTwin, chat, gateway_with, says, until

CHAT = "/v1/chat/completions"


async def test_a_caller_who_leaves_ends_every_choice(tmp_path: Path) -> None:
    start, token, *_ = says("hello", end="end_of_sequence", accepting=None)
    node = NodeTwin(script=lambda _: [start, token, asyncio.Event()])
    async with (
        served_gateway(tmp_path, node=node) as (url, key),
        httpx.AsyncClient(base_url=url, headers={"Authorization": f"Bearer {key}"}) as http,
    ):
        async with http.stream("POST", CHAT, json=chat(stream=True, n=3)) as response:
            lines = response.aiter_lines()
            heard: set[int] = set()
            while heard != {0, 1, 2}:
                line = await anext(lines)
                if "hello" in line:
                    heard.add(json.loads(line.removeprefix("data: "))["choices"][0]["index"])
            assert node.num_open == 3
        await until(lambda: node.num_open == 0)


async def test_a_choice_that_has_to_wait_for_another_one_gets_its_turn(tmp_path: Path) -> None:
    """A node with fewer places than choices: it begins one when another is over."""
    is_over = asyncio.Event()

    def script(request: GenerateRequest) -> Sequence[Event | asyncio.Event]:
        start, *others = says(str(request.sampling.seed), end="end_of_sequence", accepting=None)
        if request.sampling.seed == 1:
            is_over.set()
            return [start, *others]
        return [is_over, start, *others]

    async with gateway_with(tmp_path, node=NodeTwin(script=script)) as world:
        response = await world.client.post(CHAT, json=chat(n=2))
    assert [choice["message"]["content"] for choice in response.json()["choices"]] == ["1", "2"]


async def test_a_choice_that_cannot_begin_fails_the_request_with_its_own_error(tmp_path: Path) -> None:
    node = NodeTwin()

    def script(request: GenerateRequest) -> Sequence[Event]:
        # From here on the node takes no further sequence.
        node.fault = NodeFault(code="overloaded", message="full")
        start, *_ = says("x", end="end_of_sequence", accepting=None)
        return [start, *says("x" * 50, end="end_of_sequence", accepting=None)[1:]]

    node.script = script
    async with gateway_with(tmp_path, node=node) as world:
        whole = await world.client.post(CHAT, json=chat(n=2))
        node.fault = None
        streamed = await world.client.post(CHAT, json=chat(n=2, stream=True))
        node.fault = None
        single = await world.client.post(CHAT, json=chat())
    assert whole.status_code == 503
    assert whole.headers["retry-after"]
    assert single.status_code == 200
    blocks = streamed.text.split("\n\n")
    assert blocks[-2] == "data: [DONE]"
    assert json.loads(blocks[-3].removeprefix("data: "))["error"]["code"] == "backend_failed"


class Unsettled(MemoryBudgetLedger):
    """A ledger that takes reservations and fails when they end."""

    async def settle(self, accounts: Accounts, lease_id: str, used: Amounts) -> Settled | EndedBefore:
        raise RuntimeError


async def test_a_stream_that_fails_twice_ends_once(tmp_path: Path) -> None:
    node = NodeTwin()

    def script(request: GenerateRequest) -> Sequence[Event]:
        node.fault = NodeFault(code="overloaded", message="full")
        return says("x", end="end_of_sequence", accepting=None)

    node.script = script
    async with gateway_with(tmp_path, node=node, ledger=Unsettled()) as world:
        streamed = await world.client.post(CHAT, json=chat(n=2, stream=True))
    assert streamed.status_code == 200
    assert streamed.text.count('"error"') == 1
    assert streamed.text.count("[DONE]") == 1


async def test_what_choices_have_used_is_counted_together(tmp_path: Path) -> None:
    def script(request: GenerateRequest) -> Sequence[Event]:
        texts = ["a"] * (1 + request.sampling.seed)
        events = says(*texts, end="end_of_sequence", accepting=None)
        assert isinstance(events[1], TokenEvent)
        return events

    async with gateway_with(tmp_path, node=NodeTwin(script=script)) as world:
        response = await world.client.post(CHAT, json=chat(n=3))
        metrics = (await world.client.get("/metrics")).text
    assert response.json()["usage"]["completion_tokens"] == 2 + 3 + 4
    assert 'schemagate_gateway_tokens_total{kind="completion"} 9.0' in metrics
    assert 'schemagate_gateway_tokens_total{kind="prompt"} 5.0' in metrics
