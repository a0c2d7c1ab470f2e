"""What this process's cache answers is told to the pool, in bounded reports that may get lost."""

from pathlib import Path
from typing import Any

import httpx

from compiler_pool.artifact import ArtifactKey
from compiler_pool.client import PoolClient
from gateway import artifact_uses
from gateway.artifact_uses import MAX_COUNTED, ArtifactUses
from gateway.compilers import Compiler
from tests.gateway.twins import PoolTwin, TwinTransport, gateway_with, strict, until

CHAT = "/v1/chat/completions"


def key(number: int) -> ArtifactKey:
    return ArtifactKey(f"{number:064x}")


async def test_hits_are_told_and_what_was_compiled_is_not(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(artifact_uses, "REPORT_SECONDS", 0.01)
    pool = PoolTwin()
    async with gateway_with(tmp_path, pool=pool) as world:
        answers = [(await world.client.post(CHAT, json=strict({"type": "string"}))).json() for _ in range(4)]
        await until(lambda: sum(sum(each.uses.values()) for each in pool.uses) == 3)
    assert {used for each in pool.uses for used in each.uses} == {answers[0]["schemagate"]["artifact_key"]}


async def test_a_report_is_bounded_and_one_that_is_lost_is_forgotten() -> None:
    pool = PoolTwin()
    async with httpx.AsyncClient(transport=TwinTransport(pool, {})) as http:
        compiler = Compiler(PoolClient("http://pool", http))
        uses = ArtifactUses(compiler)
        for number in range(MAX_COUNTED + 100):
            uses.count(key(number))
        uses.count(key(0))
        await uses.report()
        assert pool.uses == []  # nobody is there yet
        await compiler.refresh()
        await uses.report()
        assert len(pool.uses[0].uses) == MAX_COUNTED
        assert pool.uses[0].uses[key(0)] == 2
        uses.count(key(1))
        pool.is_down = True
        await uses.report()
        pool.is_down = False
        await uses.report()
        assert len(pool.uses) == 1
