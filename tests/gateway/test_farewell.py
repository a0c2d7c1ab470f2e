"""A gateway that is told to end says so to those whom it still owes an answer."""

import asyncio
import gc
from pathlib import Path

import httpx

from gateway.__main__ import GatewayServer
from gateway.app import Surroundings, create_app
from gateway.auth.bootstrap import make_bootstrap_key
from tests.gateway.backends.world import UPSTREAM, asked
from tests.gateway.openai_stub import OpenAIStub, Streams, chunk
from tests.gateway.serving import served
from tests.gateway.twins import PEPPER, CompareHere, JudgeHere, NodeTwin, PoolTwin, TwinTransport, twin_settings, until

CHAT = "/v1/chat/completions"


async def test_who_is_still_waiting_gets_an_end_by_its_class_and_not_a_cut(tmp_path: Path) -> None:
    for_ever = asyncio.Event()
    stub = OpenAIStub(script=lambda _: Streams(steps=[chunk("Once", role="assistant"), for_ever]))
    try:
        async with served(stub.app) as upstream:
            backend = {"name": "cloud", "base_url": f"{upstream}/v1", "models": {UPSTREAM: "large"}, "max_attempts": 2}
            settings = twin_settings(tmp_path, openai_backends=[backend])
            key = await make_bootstrap_key(database_url=settings.database_url, pepper=PEPPER)
            around = Surroundings(
                transport=TwinTransport(PoolTwin(), {"node": NodeTwin()}),
                validator=JudgeHere(),
                comparer=CompareHere(),
            )
            app = create_app(settings, around)
            async with httpx.AsyncClient(headers={"authorization": f"Bearer {key}"}, timeout=30) as client:
                async with served(app, server_type=GatewayServer, shutdown_seconds=0) as url:
                    streamed = asyncio.create_task(client.post(url + CHAT, json=asked(stream=True)))
                    whole = asyncio.create_task(client.post(url + CHAT, json=asked()))
                    await until(lambda: stub.num_open == 2)
                stream, answer = await streamed, await whole
            for_ever.set()
    finally:
        gc.unfreeze()  # what the server keeps for good is not the tests' to keep
    assert (answer.status_code, answer.json()["error"]["code"]) == (502, "backend_failed")
    assert answer.headers["x-schemagate-completion"] == "backend_failed"
    assert stream.status_code == 200
    assert '"completion":"backend_failed"' in stream.text
    assert stream.text.endswith("data: [DONE]\n\n")
    assert len(stub.requests) == 2, "nothing is asked again on the way out"
