"""How often the stock `openai` client asks for each class of error, counted by the gateway: what waiting cannot change
is asked for once, and what it can is asked for again after the time that was told."""

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import httpx
import openai
import pytest

from compiler_pool.protocol import Busy, Crashed, Rejected, RejectionWire, TimedOut
from inference_node.protocol import NodeFault
from tests.gateway.serving import served_gateway
from tests.gateway.twins import MODEL, Broken, NodeTwin, PoolTwin, compiled, says, until

Api = Literal["chat", "responses"]
OBJECT = {"type": "object"}
SCHEMAS: dict[Api, str] = {"chat": "response_format.json_schema.schema", "responses": "text.format.schema"}
"""Where either API has the schema of a contract."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """One way to be refused, and what the client is to make of it."""

    raises: type[openai.APIStatusError]
    code: str
    type: str = "invalid_request_error"
    param: str | None = None
    num_asked: int = 1
    """Of a client that would ask twice."""
    waits: Sequence[float] = ()
    """The times that the client says it waits, where the gateway says how long."""
    node: Callable[[], NodeTwin] = NodeTwin
    pool: Callable[[], PoolTwin] = PoolTwin
    settings: dict[str, Any] = field(default_factory=dict)
    fields: dict[str, Any] = field(default_factory=dict)
    has_contract: bool = True


def _faulty(code: Any) -> Callable[[], NodeTwin]:
    return lambda: NodeTwin(fault=NodeFault(code=code, message="no"))


def _ending(*texts: str, **end: Any) -> Callable[[], NodeTwin]:
    return lambda: NodeTwin(script=lambda _: says(*texts, **end))


def _pool(answer: Any) -> Callable[[], PoolTwin]:
    return lambda: PoolTwin(answer=lambda _: answer)


SERVER = "server_error"
UNENFORCEABLE = Rejected(rejections=[RejectionWire(code="unsupported_keyword", message="no", pointer="/type")])
REFUSALS: dict[str, Refusal] = {
    "a value out of range": Refusal(
        raises=openai.BadRequestError, code="invalid_value", param="temperature", fields={"temperature": 9}
    ),
    "a contract that cannot be enforced": Refusal(
        raises=openai.BadRequestError, code="unsupported_keyword", param="{schema}.type", pool=_pool(UNENFORCEABLE)
    ),
    "a contract that costs too much": Refusal(
        raises=openai.BadRequestError,
        code="compile_timed_out",
        param="{schema}",
        pool=_pool(TimedOut(limit_name="cpu_seconds", limit_seconds=0.5)),
    ),
    "a name that nobody has": Refusal(
        raises=openai.NotFoundError,
        code="contract_not_found",
        param="contract",
        has_contract=False,
        fields={"extra_body": {"contract": "nobody@1"}},
    ),
    "a model that nobody serves": Refusal(
        raises=openai.NotFoundError, code="model_not_found", param="model", fields={"model": "nobody"}
    ),
    "a body that is too large": Refusal(
        raises=openai.APIStatusError,
        code="body_too_large",
        settings={"max_body_bytes": 1024},
        fields={"user": "a" * 2000},
    ),
    "an answer that is invalid": Refusal(
        raises=openai.UnprocessableEntityError, code="output_failed_validation", type="output_error", node=_ending("[]")
    ),
    "an answer that is impossible": Refusal(
        raises=openai.UnprocessableEntityError,
        code="impossible_continuation",
        type="output_error",
        node=_ending("{", end="dead_end", accepting=False),
    ),
    "a quota that is used up": Refusal(
        raises=openai.RateLimitError,
        code="insufficient_quota",
        type="insufficient_quota",
        settings={"tokens_per_minute": 1},
    ),
    "a contract that kills workers": Refusal(
        raises=openai.InternalServerError,
        code="compiler_crashed",
        type=SERVER,
        param="{schema}",
        pool=_pool(Crashed(reason="memory")),
    ),
    "a node with another operator's key": Refusal(
        raises=openai.InternalServerError, code="backend_failed", type=SERVER, node=_faulty("invalid_frame")
    ),
    "a node that names contracts otherwise": Refusal(
        raises=openai.InternalServerError, code="backend_failed", type=SERVER, node=_faulty("artifact_key_mismatch")
    ),
    "a line that is full": Refusal(
        raises=openai.InternalServerError,
        code="compiler_unavailable",
        type=SERVER,
        pool=_pool(Busy(retry_after_seconds=0.75)),
        num_asked=2,
        waits=[0.75],
    ),
    "nodes that are full": Refusal(
        raises=openai.InternalServerError,
        code="backend_failed",
        type=SERVER,
        node=_faulty("overloaded"),
        num_asked=2,
        waits=[1],
    ),
    "a contract that a node cannot load": Refusal(
        raises=openai.InternalServerError,
        code="backend_failed",
        type=SERVER,
        node=_faulty("artifact_failed"),
        num_asked=2,
    ),
    "a node that goes away": Refusal(
        raises=openai.InternalServerError,
        code="backend_failed",
        type=SERVER,
        node=lambda: NodeTwin(script=lambda _: [*says("{")[:2], Broken]),
        num_asked=2,
    ),
    "a request that takes too long": Refusal(
        raises=openai.InternalServerError,
        code="backend_failed",
        type=SERVER,
        node=lambda: NodeTwin(script=lambda _: [*says("{")[:2], asyncio.Event()]),
        settings={"request_seconds": 0.2},
        num_asked=2,
    ),
}


@asynccontextmanager
async def client(
    directory: Path, refusal: Refusal, *, max_retries: int = 1
) -> AsyncIterator[tuple[openai.AsyncOpenAI, str]]:
    async with (
        served_gateway(directory, node=refusal.node(), pool=refusal.pool(), **refusal.settings) as (url, key),
        openai.AsyncOpenAI(base_url=f"{url}/v1", api_key=key, max_retries=max_retries) as api,
    ):
        yield api, url


async def ask(api: openai.AsyncOpenAI, kind: Api, *, has_contract: bool = True, **fields: Any) -> Any:
    """One request of either API, under a contract unless a test wants otherwise."""
    if kind == "chat":
        sent: dict[str, Any] = {"model": MODEL, "messages": [{"role": "user", "content": "hi"}]}
        form: dict[str, Any] = {"type": "json_schema", "json_schema": {"name": "x", "strict": True, "schema": OBJECT}}
        contract = {"response_format": form} if has_contract else {}
        return await api.chat.completions.create(**{**sent, **contract, **fields})
    form = {"type": "json_schema", "name": "x", "strict": True, "schema": OBJECT}
    contract = {"text": {"format": form}} if has_contract else {}
    return await api.responses.create(**{"model": MODEL, "input": "hi", **contract, **fields})


async def num_asked(url: str, status: int) -> int:
    """How many requests of a generation the gateway has answered with `status`."""
    async with httpx.AsyncClient() as raw:
        text = (await raw.get(f"{url}/metrics")).text
    lines = re.findall(r"^schemagate_gateway_requests_total\{(.*)\} ([0-9.]+)$", text, re.MULTILINE)
    ours = [
        (labels, count)
        for labels, count in lines
        if 'route="chat_completions"' in labels or 'route="responses"' in labels
    ]
    return sum(int(float(count)) for labels, count in ours if f'status="{status}"' in labels)


def waits(caplog: pytest.LogCaptureFixture) -> list[float]:
    """How long the client says that it waits before it asks again."""
    told = [re.search(r"Retrying request in ([0-9.]+) seconds", record.getMessage()) for record in caplog.records]
    return [float(found.group(1)) for found in told if found]


@pytest.mark.parametrize("name", REFUSALS)
async def test_each_class_has_its_exception_and_is_asked_for_as_often_as_waiting_helps(
    tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="openai")
    refusal = REFUSALS[name]
    async with client(tmp_path, refusal) as (api, url):
        for num_before, (kind, schema) in enumerate(SCHEMAS.items()):
            caplog.clear()
            with pytest.raises(refusal.raises) as caught:
                await ask(api, kind, has_contract=refusal.has_contract, **refusal.fields)
            error = caught.value
            assert (error.code, error.type) == (refusal.code, refusal.type)
            assert error.param == (refusal.param and refusal.param.replace("{schema}", schema))
            assert error.request_id
            assert await num_asked(url, error.status_code) == refusal.num_asked * (num_before + 1)
            assert len(waits(caplog)) == refusal.num_asked - 1
            if refusal.waits:
                assert waits(caplog) == refusal.waits


@pytest.mark.parametrize("kind", ["chat", "responses"])
async def test_an_error_before_a_stream_is_raised_and_counted_like_any_other(tmp_path: Path, kind: Api) -> None:
    for name in ("a contract that cannot be enforced", "a node with another operator's key", "a quota that is used up"):
        directory = tmp_path / name
        directory.mkdir()
        async with client(directory, REFUSALS[name], max_retries=2) as (api, url):
            with pytest.raises(REFUSALS[name].raises) as caught:
                await ask(api, kind, stream=True)
            assert caught.value.code == REFUSALS[name].code
            assert await num_asked(url, caught.value.status_code) == 1


async def test_a_stream_that_had_begun_is_never_asked_for_again(tmp_path: Path) -> None:
    node = NodeTwin(script=lambda _: [*says("{")[:2], Broken])
    async with client(tmp_path, Refusal(raises=openai.APIStatusError, code="", node=lambda: node)) as (api, _):
        stream = await ask(api, "chat", stream=True)
        with pytest.raises(openai.APIError) as caught:
            async for _ in stream:
                pass
        assert caught.value.code == "backend_failed"
        events = [event async for event in await ask(api, "responses", stream=True)]
        assert events[-1].type == "response.failed"
    assert len(node.requests) == 2


@pytest.mark.parametrize("kind", ["chat", "responses"])
async def test_a_client_that_was_told_to_wait_gets_its_answer_then(
    tmp_path: Path, kind: Api, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="openai")
    answers = [Busy(retry_after_seconds=0.25), Busy(retry_after_seconds=0.5)]
    pool = PoolTwin(answer=lambda request: answers.pop(0) if answers else compiled(request))
    node = NodeTwin(script=lambda _: says("{}"))
    told = Refusal(raises=openai.APIStatusError, code="", node=lambda: node, pool=lambda: pool)
    async with client(tmp_path, told, max_retries=2) as (api, url):
        answer = await ask(api, kind)
        assert await num_asked(url, 503) == 2
    assert answer.schemagate["completion"] == "complete"
    assert waits(caplog) == [0.25, 0.5]
    assert len(node.requests) == 1


@pytest.mark.parametrize("kind", ["chat", "responses"])
async def test_a_caller_with_too_many_requests_at_one_moment_waits_for_one_to_end(tmp_path: Path, kind: Api) -> None:
    gate = asyncio.Event()
    node = NodeTwin(script=lambda _: [says()[0], gate, *says("{}")[1:]])
    told = Refusal(raises=openai.APIStatusError, code="", node=lambda: node, settings={"max_concurrent_requests": 1})
    async with client(tmp_path, told, max_retries=3) as (api, url):
        first = asyncio.ensure_future(ask(api, kind))
        await until(lambda: node.num_open == 1)
        with pytest.raises(openai.RateLimitError) as caught:
            await ask(api.with_options(max_retries=0), kind)
        assert (caught.value.code, caught.value.type) == ("rate_limit_exceeded", "rate_limit_error")
        second = asyncio.ensure_future(ask(api, kind))

        async def is_refused() -> bool:
            return await num_asked(url, 429) == 2

        await until(is_refused)
        gate.set()
        answers = [await first, await second]
        assert await num_asked(url, 200) == 2
    assert [answer.schemagate["completion"] for answer in answers] == ["complete", "complete"]


@pytest.mark.parametrize("kind", ["chat", "responses"])
async def test_a_twin_under_one_idempotency_key_gets_the_answer_of_the_first(tmp_path: Path, kind: Api) -> None:
    gate = asyncio.Event()
    node = NodeTwin(script=lambda _: [says()[0], gate, *says("{}")[1:]])
    told = Refusal(raises=openai.APIStatusError, code="", node=lambda: node)
    keyed: dict[str, Any] = {"extra_headers": {"Idempotency-Key": "one"}}
    async with client(tmp_path, told, max_retries=3) as (api, url):
        first = asyncio.ensure_future(ask(api, kind, **keyed))
        await until(lambda: node.num_open == 1)
        with pytest.raises(openai.ConflictError) as caught:
            await ask(api.with_options(max_retries=0), kind, **keyed)
        assert caught.value.code == "idempotency_in_progress"
        second = asyncio.ensure_future(ask(api, kind, **keyed))

        async def is_refused() -> bool:
            return await num_asked(url, 409) == 2

        await until(is_refused)
        gate.set()
        assert await first == await second
        with pytest.raises(openai.ConflictError) as caught:
            await ask(api, kind, **keyed, temperature=0.5)
        assert caught.value.code == "idempotency_conflict"
        assert await num_asked(url, 409) == 3
    assert len(node.requests) == 1


@pytest.mark.parametrize("kind", ["chat", "responses"])
async def test_who_may_not_is_told_once(tmp_path: Path, kind: Api) -> None:
    async with client(tmp_path, Refusal(raises=openai.APIStatusError, code=""), max_retries=2) as (api, url):
        async with httpx.AsyncClient(headers={"Authorization": f"Bearer {api.api_key}"}) as raw:
            made = await raw.post(f"{url}/v1/admin/tenants/local/keys", json={"scopes": ["contracts:read"]})
        assert made.status_code == 201, made.text
        with pytest.raises(openai.PermissionDeniedError) as forbidden:
            await ask(api.with_options(api_key=made.json()["key"]), kind)
        with pytest.raises(openai.AuthenticationError) as unknown:
            await ask(api.with_options(api_key="sg_nobody_secret"), kind)
        assert [await num_asked(url, status) for status in (401, 403)] == [1, 1]
    assert (unknown.value.code, unknown.value.type) == ("invalid_api_key", "invalid_request_error")
    assert (forbidden.value.code, forbidden.value.type) == ("insufficient_scope", "invalid_request_error")
