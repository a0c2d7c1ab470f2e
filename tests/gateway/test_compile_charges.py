"""Who pays for a compile that several wait for: exactly one of them, whoever leaves."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from compiler_pool.protocol import Busy, CompileOutcome, CompileRequest, Crashed, Rejected, RejectionWire, TimedOut
from gateway.auth.bootstrap import BOOTSTRAP_TENANT
from gateway.budgets.memory_ledger import MemoryBudgetLedger
from tests.gateway.twins import COST, PoolTwin, World, compiled, gateway_with, strict, until

CHAT = "/v1/chat/completions"
COMPILE_BUDGET_MS = 500


class Compiling:
    """A gateway whose pool keeps everybody waiting for one contract until `answer`."""

    def __init__(self, world: World, pool: PoolTwin, ledger: MemoryBudgetLedger) -> None:
        self._world, self._ledger = world, ledger
        self.pool = pool

    @property
    def spent_ms(self) -> float:
        return self._ledger.spent_of(BOOTSTRAP_TENANT).compile_cpu_us / 1000

    async def ask(self) -> "asyncio.Future[httpx.Response]":
        """One more request; returns once it waits for the compile."""
        num_before = len(self._ledger.state_of(BOOTSTRAP_TENANT).held)
        asked = asyncio.ensure_future(self._world.client.post(CHAT, json=strict({"type": "string"})))
        await until(lambda: len(self._ledger.state_of(BOOTSTRAP_TENANT).held) == num_before + 1)
        await until(lambda: bool(self.pool.requests))
        return asked

    def answer(self, *answers: CompileOutcome | Busy | None) -> None:
        """The pool's first answers, one a request; None, and all that follow, take the contract."""
        left = list(answers)

        def next_answer(request: CompileRequest) -> CompileOutcome | Busy:
            return (left.pop(0) if left else None) or compiled(request)

        self.pool.answer = next_answer
        assert self.pool.gate is not None
        self.pool.gate.set()


@asynccontextmanager
async def compiling(directory: Path, **settings: Any) -> AsyncIterator[Compiling]:
    ledger = MemoryBudgetLedger()
    pool = PoolTwin(gate=asyncio.Event())
    async with gateway_with(directory, pool=pool, ledger=ledger, **settings) as world:
        yield Compiling(world, pool, ledger)


async def leave(asked: "asyncio.Future[httpx.Response]") -> None:
    asked.cancel()
    await asyncio.gather(asked, return_exceptions=True)


async def test_a_follower_pays_where_the_one_who_started_has_left(tmp_path: Path) -> None:
    async with compiling(tmp_path) as scene:
        first, second, third = [await scene.ask() for _ in range(3)]
        await leave(first)
        scene.answer()
        assert [(await each).status_code for each in (second, third)] == [200, 200]
        assert len(scene.pool.requests) == 1
        assert scene.spent_ms == 6


async def test_leaving_alone_costs_what_was_reserved(tmp_path: Path) -> None:
    async with compiling(tmp_path) as scene:
        await leave(await scene.ask())
        assert scene.spent_ms == COMPILE_BUDGET_MS


async def test_the_last_of_those_who_leave_pays_once(tmp_path: Path) -> None:
    async with compiling(tmp_path) as scene:
        for asked in [await scene.ask() for _ in range(3)]:
            await leave(asked)
        assert scene.spent_ms == COMPILE_BUDGET_MS


async def test_giving_up_alone_costs_what_was_reserved(tmp_path: Path) -> None:
    async with compiling(tmp_path, compile_seconds=0.05) as scene:
        assert (await (await scene.ask())).status_code == 503
        assert scene.spent_ms == COMPILE_BUDGET_MS


@pytest.mark.parametrize(
    ("outcome", "cost_ms"),
    [
        (TimedOut(limit_name="cpu_seconds", limit_seconds=0.5), COMPILE_BUDGET_MS),
        (TimedOut(limit_name="wall_seconds", limit_seconds=2), COMPILE_BUDGET_MS),
        (TimedOut(limit_name="wall_seconds", limit_seconds=0.1), 100),
        (Crashed(reason="memory"), COMPILE_BUDGET_MS),
        (Rejected(rejections=[RejectionWire(code="unsupported_keyword", message="no")], cost=COST), COST.cpu_ms),
        (Busy(retry_after_seconds=1), 0),
        (Busy(retry_after_seconds=1, spent_seconds=0.1), 100),
        (Busy(retry_after_seconds=1, spent_seconds=9), COMPILE_BUDGET_MS),
    ],
)
async def test_a_compile_that_was_cut_costs_the_most_cpu_time_that_it_can_have_used(
    tmp_path: Path, *, outcome: Any, cost_ms: float
) -> None:
    async with compiling(tmp_path) as scene:
        asked = await scene.ask()
        scene.answer(outcome)
        assert (await asked).status_code in {400, 503}
        assert scene.spent_ms == cost_ms


async def test_an_artifact_that_cannot_be_read_was_compiled_all_the_same(tmp_path: Path) -> None:
    async with compiling(tmp_path) as scene:
        asked = await scene.ask()
        request = scene.pool.requests[0]
        scene.answer(compiled(request).model_copy(update={"frame": "not base64!"}))
        assert (await asked).status_code == 503
        assert scene.spent_ms == 6


@pytest.mark.parametrize("outcome", [Busy(retry_after_seconds=1), TimedOut(limit_name="wall_seconds", limit_seconds=2)])
async def test_who_joined_does_not_inherit_the_lack_of_time_of_who_started(tmp_path: Path, *, outcome: Any) -> None:
    async with compiling(tmp_path) as scene:
        asked = [await scene.ask() for _ in range(3)]
        scene.answer(outcome)
        statuses = [(await each).status_code for each in asked]
        assert statuses == [503, 200, 200]
        assert len(scene.pool.requests) == 2


async def test_who_joined_asks_again_only_once(tmp_path: Path) -> None:
    async with compiling(tmp_path) as scene:
        asked = [await scene.ask() for _ in range(3)]
        scene.answer(*[Busy(retry_after_seconds=1)] * 5)
        assert [(await each).status_code for each in asked] == [503] * 3
        assert len(scene.pool.requests) == 2


@pytest.mark.parametrize(
    "outcome",
    [
        TimedOut(limit_name="cpu_seconds", limit_seconds=0.5),
        Crashed(reason="memory"),
        Rejected(rejections=[RejectionWire(code="unsupported_keyword", message="no")]),
    ],
)
async def test_what_was_found_out_about_the_contract_is_everybodys_answer(tmp_path: Path, *, outcome: Any) -> None:
    async with compiling(tmp_path) as scene:
        asked = [await scene.ask() for _ in range(3)]
        scene.answer(outcome)
        assert len({(await each).json()["error"]["code"] for each in asked}) == 1
        assert len(scene.pool.requests) == 1


async def test_who_has_paid_for_a_compile_that_was_cut_does_not_pay_for_a_second(tmp_path: Path) -> None:
    async with compiling(tmp_path) as scene:
        first, second = [await scene.ask() for _ in range(2)]
        await leave(first)
        scene.answer(TimedOut(limit_name="wall_seconds", limit_seconds=2))
        assert (await second).status_code == 503
        assert scene.spent_ms == COMPILE_BUDGET_MS
        assert len(scene.pool.requests) == 1


async def test_the_pool_has_less_time_than_the_request_so_that_it_can_say_so(tmp_path: Path) -> None:
    async with compiling(tmp_path, compile_seconds=8.0) as scene:
        asked = await scene.ask()
        scene.answer()
        await asked
        assert 0 < scene.pool.requests[0].deadline_seconds < 8.0
