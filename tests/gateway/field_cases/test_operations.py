"""Cases from public reports about what one request does to others: faults, caches, keys."""

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import pytest

from compiler_pool.protocol import Busy, CompileOutcome, CompileRequest, TimedOut
from inference_node.protocol import GenerateRequest, NodeFault
from tests.gateway.field_cases.cases import field_case
from tests.gateway.twins import Event, NodeTwin, PoolTwin, World, chat, compiled, gateway_with, says, strict, until

pytestmark = pytest.mark.corpus

CHAT = "/v1/chat/completions"
KEYS = "/v1/admin/tenants/local/keys"


class FailingFor(NodeTwin):
    """A node whose engine raises for one artifact, after the compiler said yes."""

    def __init__(self, key: list[str], **members: Any) -> None:
        super().__init__(**members)
        self.key = key

    async def handle(self, request: httpx.Request) -> httpx.Response:
        if request.url.path == "/v1/generate":
            sent = GenerateRequest.model_validate_json(await request.aread())
            self.fault = NodeFault(code="artifact_failed", message="no") if sent.artifact_key in self.key else None
        return await super().handle(request)


async def test_late_compile_failure(tmp_path: Path) -> None:
    """Exactly that request fails, retryably and with its contract's digest; those that run and those that follow are
    complete."""
    bad, keys, gate = field_case("late-compile-failure")["input"]["contract"], list[str](), asyncio.Event()

    def answer(request: CompileRequest) -> CompileOutcome:
        outcome = compiled(request)
        if "(a|b)" in request.canonical_text:
            keys.append(outcome.artifact_key)
        return outcome

    def script(request: GenerateRequest) -> list[Any]:
        start, *rest = says('"ok"')
        return [start, gate, *rest] if request.sampling.seed == 7 else [start, *rest]

    node = FailingFor(keys, script=script)
    good = {"type": "string"}
    async with gateway_with(tmp_path, pool=PoolTwin(answer=answer), node=node) as world:
        running = asyncio.ensure_future(world.client.post(CHAT, json=strict(good, seed=7)))
        await until(lambda: node.num_open == 1)
        failed = await world.client.post(CHAT, json=strict(bad))
        streamed = await world.client.post(CHAT, json=strict(bad, stream=True))
        gate.set()
        others = [await running, await world.client.post(CHAT, json=strict(good))]
        ready = await world.client.get("/readyz")
    for each in (failed, streamed):
        assert (each.status_code, each.json()["error"]["code"]) == (502, "backend_failed")
        assert each.headers["x-schemagate-completion"] == "backend_failed"
        assert each.headers["x-schemagate-contract"].startswith("sha256:")
        assert each.headers.get("x-should-retry") != "false"
    assert [each.headers["x-schemagate-completion"] for each in others] == ["complete", "complete"]
    assert ready.json()["status"] == "ready"


async def test_timeout_poisons_cache(tmp_path: Path) -> None:
    """A deadline under load is a moment's; the same contract is taken when the load is gone."""
    schema = field_case("timeout-poisons-cache")["input"]["contract"]
    answers: list[CompileOutcome | Busy] = [
        TimedOut(limit_name="wall_seconds", limit_seconds=2),
        Busy(retry_after_seconds=1),
    ]
    pool = PoolTwin(answer=lambda request: answers.pop(0) if answers else compiled(request))
    async with gateway_with(tmp_path, pool=pool, node=NodeTwin(script=lambda _: says("[1]"))) as world:
        responses = [await world.client.post(CHAT, json=strict(schema)) for _ in range(3)]
    assert [each.status_code for each in responses] == [503, 503, 200]
    assert [each.json()["error"]["code"] for each in responses[:2]] == ["compile_timed_out", "compiler_unavailable"]
    assert all(each.headers["retry-after"] == "1" for each in responses[:2])
    assert responses[2].headers["x-schemagate-completion"] == "complete"


async def test_cross_request_contract(tmp_path: Path) -> None:
    """Many at one time get the answer of their own contract, and a node that swaps two is never believed."""
    contracts = {
        each["contract"]["const"]: each["contract"]
        for each in field_case("cross-request-contract")["input"]["parallel"]
    }
    named: dict[str, str] = {}

    def answer(request: CompileRequest) -> CompileOutcome:
        outcome = compiled(request)
        named[outcome.artifact_key] = "A" if '"A"' in request.canonical_text else "B"
        return outcome

    def script(request: GenerateRequest) -> list[Event]:
        assert request.artifact_key is not None
        name = named[request.artifact_key]
        return says(f'"{swapped.get(name, name)}"')

    swapped: dict[str, str] = {}
    async with gateway_with(tmp_path, pool=PoolTwin(answer=answer), node=NodeTwin(script=script)) as world:

        async def ask(name: str) -> tuple[str, httpx.Response]:
            return name, await world.client.post(CHAT, json=strict(contracts[name]))

        answers = await asyncio.gather(*(ask(name) for name in "AB" * 100))
        swapped.update(A="B", B="A")
        wrong = await asyncio.gather(*(ask(name) for name in "AB" * 20))
        swapped.clear()
        later = await asyncio.gather(*(ask(name) for name in "AB" * 20))
    for name, response in [*answers, *later]:
        assert response.headers["x-schemagate-completion"] == "complete"
        assert response.json()["choices"][0]["message"]["content"] == f'"{name}"'
    digests = {(name, response.headers["x-schemagate-contract"]) for name, response in answers}
    assert len(digests) == len({digest for _, digest in digests}) == 2
    assert Counter(response.headers["x-schemagate-completion"] for _, response in wrong) == {"invalid": 40}


async def test_unbounded_compile_cache(tmp_path: Path) -> None:
    """Ever new contracts push each other out; the first is compiled again, and its answer is right."""
    pool = PoolTwin()
    node = NodeTwin(script=lambda _: says("0"))
    async with gateway_with(
        tmp_path, pool=pool, node=node, artifact_cache_bytes=20_000, requests_per_minute=100_000
    ) as world:
        for number in range(120):
            await world.client.post(CHAT, json=strict({"const": number}))
        assert len(pool.requests) == 120
        again = await world.client.post(CHAT, json=strict({"const": 0}))
        assert len(pool.requests) == 121
        warm = await world.client.post(CHAT, json=strict({"const": 119}))
        assert len(pool.requests) == 121
    assert again.headers["x-schemagate-completion"] == "complete"
    assert warm.headers["x-schemagate-completion"] == "invalid"  # the node says 0 and 119 was asked for


async def test_cosmetic_differences_share_an_entry_and_the_order_of_members_does_not(tmp_path: Path) -> None:
    """unbounded-compile-cache."""
    one, two = {"a": {"type": "integer"}, "b": {"type": "null"}}, {"b": {"type": "null"}, "a": {"type": "integer"}}
    plain = {"type": "object", "properties": one}
    pool = PoolTwin()
    async with gateway_with(tmp_path, pool=pool, node=NodeTwin(script=lambda _: says("{}"))) as world:
        for schema in (
            plain,
            {**plain, "title": "T", "description": "d"},
            {"properties": one, "type": "object"},
            {"type": "object", "properties": {name: {**part, "description": "x"} for name, part in one.items()}},
        ):
            assert (await world.client.post(CHAT, json=strict(schema))).status_code == 200
        assert len(pool.requests) == 1
        assert (await world.client.post(CHAT, json=strict({"type": "object", "properties": two}))).status_code == 200
        assert len(pool.requests) == 2


async def test_rotation_grace_ignored(tmp_path: Path) -> None:
    """Within the grace both secrets are one identity, with one quota."""
    node = NodeTwin(script=lambda _: says("hi", end="end_of_sequence", accepting=None))
    async with gateway_with(tmp_path, node=node, requests_per_minute=5) as world:
        made = (await world.client.post(KEYS, json={})).json()
        before = await ask_with(world, made["key"])
        second = await rotated(world, made["id"], overlap_seconds=3600)
        assert second["id"] == made["id"]
        within = [await ask_with(world, key) for key in (made["key"], second["key"], made["key"])]
        spent = [await ask_with(world, key) for key in (made["key"], second["key"])]
    assert [each.status_code for each in (before, *within)] == [200, 200, 200, 200]
    # Making a key is a request of the tenant too; rotating one is none.
    assert [each.headers["x-ratelimit-remaining-requests"] for each in within] == ["2", "1", "0"]
    assert [each.status_code for each in spent] == [429, 429]


async def test_a_stream_that_the_old_secret_opened_is_finished(tmp_path: Path) -> None:
    """rotation-grace-ignored: also where the grace has ended meanwhile."""
    gate = asyncio.Event()
    start, *rest = says("hi", end="end_of_sequence", accepting=None)
    node = NodeTwin(script=lambda _: [start, gate, *rest])
    async with gateway_with(tmp_path, node=node) as world:
        made = (await world.client.post(KEYS, json={})).json()
        stream = asyncio.ensure_future(ask_with(world, made["key"], stream=True))
        await until(lambda: node.num_open == 1)
        await rotated(world, made["id"], overlap_seconds=0)
        ended = await ask_with(world, made["key"])
        gate.set()
        finished = await stream
    assert ended.status_code == 401
    assert '"completion":"complete"' in finished.text
    assert finished.text.endswith("data: [DONE]\n\n")


async def ask_with(world: World, key: str, **fields: Any) -> httpx.Response:
    return await world.client.post(CHAT, json=chat(**fields), headers={"Authorization": f"Bearer {key}"})


async def rotated(world: World, key_id: str, *, overlap_seconds: int) -> Any:
    answer = await world.client.post(f"{KEYS}/{key_id}/rotate", json={"overlap_seconds": overlap_seconds})
    assert answer.status_code == 200, answer.text
    return answer.json()
