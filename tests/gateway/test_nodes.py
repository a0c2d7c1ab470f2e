"""Which node is asked, which is not, and what becomes of one that falters."""

import asyncio
from collections.abc import Sequence
from typing import Any

import httpx
import pytest

from compiler_pool.artifact import ArtifactKey
from gateway.errors import ModelNotFoundError, NodeLostError, NodeRefusedError, NoNodeError
from gateway.nodes import ModelOffer, NodeDirectory, SignedArtifact
from gateway.polling import Poller
from gateway.stages import Stage, StageClock
from inference_node.client import NodeClient
from inference_node.protocol import ChatMessage, Finish, GenerateRequest, NodeFault, Sampling
from tests.gateway.twins import MODEL, NODE, TOKENIZER, NodeTwin, PoolTwin, TwinTransport, says, until

REQUEST = GenerateRequest(
    request_id="req_1",
    messages=[ChatMessage(role="user", content="hi")],
    artifact_key=None,
    sampling=Sampling(seed=1),
)


def directory(nodes: dict[str, NodeTwin]) -> NodeDirectory:
    http = httpx.AsyncClient(transport=TwinTransport(PoolTwin(), nodes))
    return NodeDirectory([NodeClient(f"http://{name}", http) for name in nodes])


async def decode(nodes: NodeDirectory, offer: ModelOffer, artifact: SignedArtifact | None = None) -> Sequence[Any]:
    request = REQUEST if artifact is None else REQUEST.model_copy(update={"artifact_key": artifact.key})
    async with nodes.open(offer, request, artifact, StageClock()) as sequence:
        return [event async for event in sequence.events]


async def test_an_offer_prefers_a_tokenizer_that_can_be_compiled_for() -> None:
    other = NODE.model_copy(update={"tokenizer_digest": "sha256:" + "c" * 64})
    nodes = directory({"one": NodeTwin(identity=other), "two": NodeTwin()})
    await nodes.refresh()
    assert nodes.offer(MODEL, frozenset({TOKENIZER})).tokenizer_digest == TOKENIZER
    assert nodes.offer(MODEL).tokenizer_digest == other.tokenizer_digest
    assert len(nodes.offers()) == 1


async def test_a_node_with_another_tokenizer_is_never_used_for_a_contract() -> None:
    other = NodeTwin(identity=NODE.model_copy(update={"tokenizer_digest": "sha256:" + "c" * 64}))
    right = NodeTwin()
    nodes = directory({"one": other, "two": right})
    await nodes.refresh()
    offer = nodes.offer(MODEL, frozenset({TOKENIZER}))
    right.is_down = True
    await nodes.refresh()
    with pytest.raises(NoNodeError):
        await decode(nodes, offer)
    assert other.requests == []


async def test_a_model_is_unknown_only_once_every_node_was_heard() -> None:
    silent = NodeTwin(is_down=True)
    nodes = directory({"one": NodeTwin(), "two": silent})
    await nodes.refresh()
    with pytest.raises(NoNodeError):
        nodes.offer("nobody")
    silent.is_down = False
    await nodes.refresh()
    with pytest.raises(ModelNotFoundError):
        nodes.offer("nobody")


async def test_the_least_busy_node_is_asked() -> None:
    gate = asyncio.Event()
    start, *rest = says("x")
    twins = {name: NodeTwin(script=lambda _: [start, gate, *rest]) for name in ("one", "two")}
    nodes = directory(twins)
    await nodes.refresh()
    offer = nodes.offer(MODEL)
    async with asyncio.TaskGroup() as group:
        for _ in range(4):
            group.create_task(decode(nodes, offer))
        await until(lambda: sum(len(twin.requests) for twin in twins.values()) == 4)
        assert [len(twin.requests) for twin in twins.values()] == [2, 2]
        gate.set()
    assert [node.num_open for node in nodes.nodes] == [0, 0]


@pytest.mark.parametrize("code", ["overloaded", "draining", "not_ready", "tokenizer_mismatch"])
async def test_another_node_is_tried_where_it_may_do_better(code: Any) -> None:
    twins = {"one": NodeTwin(fault=NodeFault(code=code, message="")), "two": NodeTwin()}
    nodes = directory(twins)
    await nodes.refresh()
    events = await decode(nodes, nodes.offer(MODEL))
    assert isinstance(events[-1], Finish)
    twins["two"].fault = twins["one"].fault
    with pytest.raises(NodeRefusedError):
        await decode(nodes, nodes.offer(MODEL))


@pytest.mark.parametrize("code", ["context_length_exceeded", "malformed_request", "artifact_failed", "invalid_frame"])
async def test_no_other_node_is_asked_where_it_cannot_do_better(code: Any) -> None:
    twins = {"one": NodeTwin(fault=NodeFault(code=code, message="")), "two": NodeTwin()}
    nodes = directory(twins)
    await nodes.refresh()
    with pytest.raises(NodeRefusedError):
        await decode(nodes, nodes.offer(MODEL))
    assert twins["two"].requests == []


async def test_a_node_that_went_away_is_down_at_once_and_live_when_it_answers() -> None:
    twin = NodeTwin()
    nodes = directory({"one": twin})
    await nodes.refresh()
    offer = nodes.offer(MODEL)
    twin.is_down = True
    with pytest.raises(NodeLostError):
        await decode(nodes, offer)
    assert not nodes.nodes[0].is_live
    twin.is_down = False
    with pytest.raises(NoNodeError):
        await decode(nodes, offer)
    await nodes.refresh()
    assert isinstance((await decode(nodes, offer))[-1], Finish)


async def test_a_stream_that_does_not_begin_with_its_start_is_no_node() -> None:
    nodes = directory({"one": NodeTwin(script=lambda _: says("x")[1:])})
    await nodes.refresh()
    with pytest.raises(NodeLostError):
        await decode(nodes, nodes.offer(MODEL))


ARTIFACT = SignedArtifact(key=ArtifactKey("a" * 64), frame=b"frame")


class Forgetful(NodeTwin):
    """Loses the first `num_losses` artifacts that it is given."""

    num_losses: int

    async def handle(self, request: httpx.Request) -> httpx.Response:
        response = await super().handle(request)
        if self.num_put <= self.num_losses:
            self.artifacts.clear()
        return response


def forgetful(num_losses: int) -> NodeTwin:
    twin = Forgetful()
    twin.num_losses = num_losses
    return twin


@pytest.mark.parametrize("num_losses", [0, 1])
async def test_an_artifact_is_handed_over_when_the_node_asks_also_where_it_was_evicted_meanwhile(
    num_losses: int,
) -> None:
    twin = forgetful(num_losses)
    nodes = directory({"one": twin})
    await nodes.refresh()
    assert isinstance((await decode(nodes, nodes.offer(MODEL), ARTIFACT))[-1], Finish)
    assert twin.num_put == num_losses + 1


async def test_a_node_that_keeps_no_artifact_is_given_it_twice_and_left_for_another() -> None:
    bad, good = forgetful(100), NodeTwin()
    nodes = directory({"one": bad, "two": good})
    await nodes.refresh()
    assert isinstance((await decode(nodes, nodes.offer(MODEL), ARTIFACT))[-1], Finish)
    assert (bad.num_put, good.num_put) == (2, 1)
    good.is_down = True
    await nodes.refresh()
    with pytest.raises(NodeRefusedError, match="send it"):
        await decode(nodes, nodes.offer(MODEL), ARTIFACT)


async def test_waiting_for_the_node_is_decoding_and_handing_over_is_routing() -> None:
    nodes = directory({"one": NodeTwin()})
    await nodes.refresh()
    clock = StageClock()
    async with nodes.open(nodes.offer(MODEL), REQUEST, None, clock):
        pass
    assert set(clock.seconds) == {Stage.ROUTE, Stage.DECODE}


async def test_a_poller_goes_on_after_a_failure_that_nobody_foresaw() -> None:
    calls = 0
    seen = asyncio.Event()

    async def refresh() -> None:
        nonlocal calls
        calls += 1
        if calls == 3:
            seen.set()
        raise RuntimeError("unforeseen")

    poller = asyncio.ensure_future(Poller(refresh, seconds=0.001).run())
    await asyncio.wait_for(seen.wait(), 10)
    poller.cancel()


async def test_a_node_that_is_silent_is_down_only_when_it_is_silent_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    class Silent(NodeTwin):
        async def handle(self, request: httpx.Request) -> httpx.Response:
            if self.fault is not None:
                await asyncio.Event().wait()
            return await super().handle(request)

    monkeypatch.setattr("gateway.nodes.IDENTITY_SECONDS", 0.01)
    twin = Silent()
    nodes = directory({"one": twin})
    await nodes.refresh()
    twin.fault = NodeFault(code="overloaded", message="so busy that it does not answer")
    await nodes.refresh()
    assert [node.is_live for node in nodes.nodes] == [True]
    await nodes.refresh()
    assert [node.is_live for node in nodes.nodes] == [False]
    assert [node.why_down for node in nodes.nodes] == ["does not answer"]
    twin.fault = None
    await nodes.refresh()
    assert [node.is_live for node in nodes.nodes] == [True]
