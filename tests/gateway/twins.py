"""A compiler pool and an inference node in memory, speaking the real protocols over a transport instead of a socket.

They decide nothing: a test says what the pool answers and which events the node sends.
"""

import asyncio
import base64
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from fastapi import FastAPI

from compiler_pool.artifact import ArtifactAddress, TokenizerDigest
from compiler_pool.protocol import (
    Busy,
    CompileAnswer,
    CompileCost,
    Compiled,
    CompileOutcome,
    CompileRequest,
    PoolIdentity,
    ReportEntryWire,
    TokenizerIdentity,
    UsesReport,
)
from compiler_pool.wire_values import policy_of
from gateway.app import Surroundings, create_app
from gateway.auth.bootstrap import make_bootstrap_key
from gateway.compatibility.judges import GatewayJudges
from gateway.settings import GatewaySettings
from gateway.validation.kinds.judges import prepare_judge
from gateway.validation.verdict import Unjudged, Verdict
from inference_node.protocol import (
    ArtifactStored,
    Finish,
    GenerateRequest,
    NodeFault,
    NodeIdentity,
    NodeTimings,
    Started,
    StopCause,
    TokenEvent,
    Usage,
)
from registry.compatibility.comparison import Comparison, ContractText, compare
from registry.contract import ContractDigest, ContractKind

MODEL = "twin-135m"
TOKENIZER = "sha256:" + "a" * 64
PEPPER = "a pepper only for tests"
COST = CompileCost(
    queue_ms=0, lower_ms=1, compile_ms=2, trial_ms=3, cpu_ms=6, first_mask_ms=0.1, worst_mask_us=50, num_trial_steps=256
)
POOL = PoolIdentity(
    engine="llguidance",
    engine_version="1.9.1",
    lowering_version="1",
    tokenizers=[TokenizerIdentity(digest=TOKENIZER, name="twin", vocabulary_size=1000)],
)
NODE = NodeIdentity(
    model=MODEL,
    tokenizer_digest=TOKENIZER,
    chat_template_digest="sha256:" + "b" * 64,
    engine="torch",
    engine_version="1",
    device="cpu",
    dtype="float32",
    context_tokens=2048,
    max_sequences=8,
    vocabulary_size=1000,
)

Event = Started | TokenEvent | Finish


def compiled(request: CompileRequest, report: Sequence[ReportEntryWire] = ()) -> Compiled:
    """What a pool answers to a contract that it takes."""
    address = ArtifactAddress(
        contract_digest=ContractDigest(request.contract_digest),
        tokenizer_digest=TokenizerDigest(request.tokenizer_digest),
        engine=POOL.engine,
        engine_version=POOL.engine_version,
        lowering_version=POOL.lowering_version,
        policy_digest=policy_of(request.policy).digest,
        limits=request.limits,
        tenant_partition=request.tenant_partition,
    )
    entries = list(report) or [ReportEntryWire(pointer="/type", keyword="type", status="enforced")]
    frame = base64.b64encode(b"frame of " + address.key.encode()).decode()
    return Compiled(artifact_key=address.key, frame=frame, report=entries, cost=COST, cache="miss")


@dataclass(slots=True, kw_only=True)
class PoolTwin:
    """`answer` decides; `is_down` refuses connections; `gate`, where set, has to open before an answer."""

    answer: Callable[[CompileRequest], CompileOutcome | Busy] = compiled
    is_down: bool = False
    gate: asyncio.Event | None = None
    requests: list[CompileRequest] = field(default_factory=list)
    uses: list[UsesReport] = field(default_factory=list)

    async def handle(self, request: httpx.Request) -> httpx.Response:
        if self.is_down:
            raise httpx.ConnectError("connection refused", request=request)
        match request.url.path:
            case "/v1/identity":
                return _json(POOL)
            case "/v1/compile":
                sent = CompileRequest.model_validate_json(await request.aread())
                self.requests.append(sent)
                if self.gate is not None:
                    await self.gate.wait()
                outcome = self.answer(sent)
                if isinstance(outcome, Busy):
                    return _json(outcome, status=503, headers={"retry-after": "1"})
                return _json(CompileAnswer(result=outcome))
            case "/v1/uses":
                self.uses.append(UsesReport.model_validate_json(await request.aread()))
                return httpx.Response(204)
        return httpx.Response(404)


def says(
    *texts: str, end: StopCause = "grammar_end", accepting: bool | None = True, prompt_tokens: int = 5
) -> list[Event]:
    """A sequence that sends `texts`, one token each, and ends so."""
    tokens = [
        TokenEvent(text=text, token_ids=[number], num_forced_tokens=0, accepting=accepting)
        for number, text in enumerate(texts)
    ]
    return [Started(prompt_tokens=prompt_tokens), *tokens, finish(end, accepting, len(texts), prompt_tokens)]


def finish(end: StopCause, accepting: bool | None, completion_tokens: int, prompt_tokens: int = 5) -> Finish:  # noqa: FBT001
    """The last event."""
    return Finish(
        stop_cause=end,
        accepting=accepting,
        usage=Usage(prompt_tokens=prompt_tokens, completion_tokens=completion_tokens, forced_tokens=1),
        timings=NodeTimings(queue_seconds=0, prefill_seconds=0, decode_seconds=0, mask_seconds=0),
    )


class Broken(Exception):  # noqa: N818 - a marker in a script, not an error of anybody's
    """In a script: the connection breaks here."""


@dataclass(slots=True, kw_only=True)
class NodeTwin:
    """`script` makes the events of a request; an `asyncio.Event` in it is waited for, `Broken` cuts the line."""

    script: Callable[[GenerateRequest], Sequence[Event | asyncio.Event | type[Broken]]] = lambda _: says('"ok"')
    identity: NodeIdentity = NODE
    is_down: bool = False
    fault: NodeFault | None = None
    artifacts: dict[str, bytes] = field(default_factory=dict)
    requests: list[GenerateRequest] = field(default_factory=list)
    num_open: int = 0
    num_put: int = 0

    async def handle(self, request: httpx.Request) -> httpx.Response:
        if self.is_down:
            raise httpx.ConnectError("connection refused", request=request)
        path = request.url.path
        if path == "/v1/identity":
            return _json(self.identity)
        if path.startswith("/v1/artifacts/"):
            key = path.rpartition("/")[2]
            self.num_put += 1
            self.artifacts[key] = await request.aread()
            return _json(ArtifactStored(artifact_key=key, already_present=False))
        assert path == "/v1/generate"
        sent = GenerateRequest.model_validate_json(await request.aread())
        if self.fault is not None:
            return _json(self.fault, status=503)
        if sent.artifact_key is not None and sent.artifact_key not in self.artifacts:
            return _json(NodeFault(code="artifact_required", message="send it"), status=409)
        self.requests.append(sent)
        return httpx.Response(200, stream=_Stream(self._lines(sent)))

    async def _lines(self, request: GenerateRequest) -> AsyncGenerator[bytes, None]:
        self.num_open += 1
        try:
            for step in self.script(request):
                if isinstance(step, asyncio.Event):
                    await step.wait()
                elif step is Broken:
                    raise httpx.ReadError("peer closed the connection")
                else:
                    assert isinstance(step, Event)
                    yield step.model_dump_json().encode() + b"\n"
        finally:
            self.num_open -= 1


class _Stream(httpx.AsyncByteStream):
    def __init__(self, lines: AsyncGenerator[bytes, None]) -> None:
        self._lines = lines

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for line in self._lines:
            yield line

    async def aclose(self) -> None:
        await self._lines.aclose()


class TwinTransport(httpx.AsyncBaseTransport):
    """Routes by host name: `pool`, `node`, or any other node that a test names."""

    def __init__(self, pool: PoolTwin, nodes: dict[str, NodeTwin]) -> None:
        self._pool = pool
        self._nodes = nodes

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        host = request.url.host
        return await (self._pool.handle(request) if host == "pool" else self._nodes[host].handle(request))


class JudgeHere:
    """The real judge in this process: tests choose their documents, so nothing has to be killed."""

    num_ready = 1

    def __init__(self) -> None:
        self.num_asked = 0

    async def validate(
        self, canonical_text: str, contract_digest: str, document: bytes, *, seconds: float, kind: ContractKind
    ) -> Verdict:
        self.num_asked += 1
        judge = prepare_judge(kind, canonical_text)
        return judge if isinstance(judge, Unjudged) else judge.judge(document)


class CompareHere:
    """The real comparison in this process, with the real judge: tests choose their contracts."""

    async def compare(self, old: tuple[ContractKind, str], new: tuple[ContractKind, str]) -> Comparison:
        sides = [ContractText(kind=kind.value, text=text) for kind, text in (old, new)]
        return compare(sides[0], sides[1], GatewayJudges())


@dataclass(slots=True, kw_only=True)
class World:
    """One gateway with its neighbours, and a client that holds a key."""

    app: FastAPI
    client: httpx.AsyncClient
    key: str
    settings: GatewaySettings


def twin_settings(directory: Path, **settings: Any) -> GatewaySettings:
    """Settings of a gateway whose neighbours are twins."""
    return GatewaySettings(
        pool_url="http://pool",
        node_urls=settings.pop("node_urls", "http://node"),
        database_url=settings.pop("database_url", f"sqlite+aiosqlite:///{directory / 'gateway.db'}"),
        key_pepper=PEPPER,
        poll_seconds=settings.pop("poll_seconds", 0.02),
        # So that a test that counts what the pool is asked sees only what it asked for itself.
        num_precompiles=settings.pop("num_precompiles", 0),
        **settings,
    )


@asynccontextmanager
async def gateway_with(
    directory: Path,
    *,
    pool: PoolTwin | None = None,
    node: NodeTwin | None = None,
    nodes: dict[str, NodeTwin] | None = None,
    validator: Any = None,
    ledger: Any = None,
    **settings: Any,
) -> AsyncIterator[World]:
    """A gateway over twins, its lifespan begun, and a client inside the same process."""
    chosen = twin_settings(directory, **settings)
    transport = TwinTransport(pool or PoolTwin(), nodes or {"node": node or NodeTwin()})
    key = await make_bootstrap_key(database_url=chosen.database_url, pepper=PEPPER)
    app = create_app(
        chosen,
        Surroundings(transport=transport, validator=validator or JudgeHere(), ledger=ledger, comparer=CompareHere()),
    )
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(
            transport=httpx.ASGITransport(app=app),
            base_url="http://gateway",
            headers={"Authorization": f"Bearer {key}"},
            timeout=30,
        ) as client,
    ):
        yield World(app=app, client=client, key=key, settings=chosen)


def chat(**fields: Any) -> dict[str, Any]:
    """A body for `POST /v1/chat/completions`."""
    return {"model": MODEL, "messages": [{"role": "user", "content": "hi"}], "seed": 1} | fields


def strict(schema: Any, **fields: Any) -> dict[str, Any]:
    """A body with a strict contract."""
    sent = {"name": "x", "strict": True, "schema": schema}
    return chat(response_format={"type": "json_schema", "json_schema": sent}, **fields)


async def until(condition: Callable[[], bool | Awaitable[bool]], *, seconds: float = 10.0) -> None:
    """Wait for `condition`, giving others their turn; fail after `seconds`."""
    async with asyncio.timeout(seconds):
        while True:
            value = condition()
            if value if isinstance(value, bool) else await value:
                return
            await asyncio.sleep(0.005)


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """A generous bound that a hang would break, and nothing else."""
    loop = asyncio.get_running_loop()
    before = loop.time()
    yield
    assert loop.time() - before < seconds


def _json(model: Any, *, status: int = 200, headers: dict[str, str] | None = None) -> httpx.Response:
    async def body() -> AsyncGenerator[bytes, None]:
        yield model.model_dump_json().encode()

    return httpx.Response(
        status, stream=_Stream(body()), headers={"content-type": "application/json", **(headers or {})}
    )
