"""What a request costs whose contract is known: nothing is compiled, nothing is read again, and Redis is asked once."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from redis.asyncio.connection import AbstractConnection

import gateway.intake
from gateway.budgets.settings import BudgetSettings
from gateway.stages import Stage
from inference_node.protocol import GenerateRequest
from tests.gateway.twins import Event, NodeTwin, PoolTwin, gateway_with, says, strict
from tests.redis_server import RedisServer

CHAT = "/v1/chat/completions"
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}


@pytest.mark.parametrize("stream", [False, True])
async def test_a_warm_request_compiles_and_canonicalises_nothing_and_asks_redis_once_before_it_decodes(
    tmp_path: Path,
    redis: RedisServer,
    monkeypatch: pytest.MonkeyPatch,
    stream: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    asked: list[str] = []

    def noting(what: str, of: Any) -> Any:
        def noted(*args: Any, **kwargs: Any) -> Any:
            asked.append(what)
            return of(*args, **kwargs)

        return noted

    def script(_: GenerateRequest) -> list[Event]:
        asked.append("decode")
        return says('{"a":', "1}")

    for name in ("read_contract", "negotiate"):
        monkeypatch.setattr(gateway.intake, name, noting(name, getattr(gateway.intake, name)))
    # One of these is one journey to the server and back, whatever is in it.
    sending = noting("redis", AbstractConnection.send_packed_command)
    monkeypatch.setattr(AbstractConnection, "send_packed_command", sending)
    # The machine may be busy with anything: what is tested here is not patience.
    budgets = BudgetSettings(redis_url=SecretStr(redis.url), redis_timeout_seconds=5)
    pool, node = PoolTwin(), NodeTwin(script=script)
    async with gateway_with(tmp_path, pool=pool, node=node, budgets=budgets) as world:
        cold = await world.client.post(CHAT, json=strict(SCHEMA, stream=stream))
        assert cold.status_code == 200
        assert {"read_contract", "negotiate", "redis", "decode"} <= set(asked)
        assert len(pool.requests) == 1
        warm = cold
        for _ in range(3):
            asked.clear()
            warm = await world.client.post(CHAT, json=strict(SCHEMA, stream=stream))
            assert warm.headers["x-schemagate-contract"] == cold.headers["x-schemagate-contract"]
            assert asked == ["redis", "decode", "redis"]
        assert len(pool.requests) == 1
        assert node.num_put == 1
    timed = {part.partition(";")[0] for part in warm.headers["Server-Timing"].split(", ")}
    told = {str(stage) for stage in Stage} | {"total"}
    assert timed == (told - {"classify", "validate", "settle"} if stream else told)
