"""Governed contracts are compiled before anybody asks, behind everybody who does."""

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from compiler_pool.protocol import Busy, CompileOutcome, CompileRequest, Crashed, Rejected, RejectionWire
from gateway import precompile
from tests.gateway.contracts.world import INVOICE, WIDER, Registry, registry
from tests.gateway.twins import NodeTwin, PoolTwin, chat, compiled, says, until

CHAT = "/v1/chat/completions"
PROD = "/v1/contracts/invoice/aliases/prod"


class Governing:
    """A registry with a governed contract, and the two people that its promotion takes."""

    def __init__(self, here: Registry, approver: Registry, private: Ed25519PrivateKey, key_id: str) -> None:
        self.here, self._approver, self._private, self._key_id = here, approver, private, key_id

    async def promote(self, number: int, schema: dict[str, Any]) -> None:
        """Register, sign, propose, approve."""
        await self.here.register(schema=schema, **{"class": "governed", "visibility": "shared"})
        place = f"/v1/contracts/invoice/revisions/{number}"
        payload = (await self.here.ask("GET", f"{place}/signing-payload")).json()
        signature = base64.b64encode(self._private.sign(base64.b64decode(payload["base64"]))).decode()
        await self.here.ask("POST", f"{place}/signatures", {"key_id": self._key_id, "signature": signature})
        proposed = await self.here.ask("PUT", PROD, {"revision": number})
        applied = await self._approver.ask("POST", f"{proposed.headers['location']}/approve", {"override": True})
        assert applied.status_code == 200, applied.text

    async def metric(self, outcome: str) -> float:
        """How many contracts came to that end."""
        text = (await self.here.client.get("/metrics")).text
        name = f'schemagate_gateway_precompiles_total{{outcome="{outcome}"}} '
        return next((float(line[len(name) :]) for line in text.splitlines() if line.startswith(name)), 0.0)

    async def until(self, outcome: str, number: int = 1) -> None:
        """Wait for it."""

        async def has_come() -> bool:
            return await self.metric(outcome) >= number

        await until(has_come)


@asynccontextmanager
async def governing(directory: Path, pool: PoolTwin, **settings: Any) -> AsyncIterator[Governing]:
    private = Ed25519PrivateKey.generate()
    raw = private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    settings = {"num_precompiles": 1, "governed_tenants": "local"} | settings
    node = NodeTwin(script=lambda _: says('{"id":"a"}'))
    async with (
        registry(directory, pool=pool, node=node, **settings) as here,
        here.holding(principal="approver", roles=["approver", "operator"]) as approver,
    ):
        await here.ask("PUT", "/v1/policy", {"allow_governed": True})
        body = {"public_key": base64.b64encode(raw).decode(), "label": directory.name}
        key = (await here.ask("POST", "/v1/signing-keys", body)).json()
        yield Governing(here, approver, private, key["id"])


async def test_the_first_request_after_a_promotion_finds_it_compiled(tmp_path: Path) -> None:
    pool = PoolTwin()
    async with governing(tmp_path, pool) as scene:
        await scene.promote(1, INVOICE)
        await scene.until("compiled")
        answered = await scene.here.ask("POST", CHAT, chat(contract="invoice"))
        text = (await scene.here.client.get("/metrics")).text
    assert answered.json()["schemagate"]["cache"] == "l1"
    assert [(each.urgency, each.limits, each.tenant_partition) for each in pool.requests] == [
        ("precompile", "governed", "governed")
    ]
    assert "schemagate_gateway_precompile_cpu_seconds_total 0.006" in text


async def test_every_governed_name_is_seen_to_when_a_gateway_starts(tmp_path: Path) -> None:
    async with governing(tmp_path, PoolTwin(), num_precompiles=0) as scene:
        await scene.promote(1, INVOICE)
        await scene.here.register("own", {"type": "null"})
        await scene.here.promote(1, name="own", alias="dev")
    pool = PoolTwin()
    async with registry(tmp_path, pool=pool, governed_tenants="local", num_precompiles=2) as here:
        await until(lambda: len(pool.requests) == 1)
        assert here.world is not None
    assert [each.urgency for each in pool.requests] == ["precompile"]


async def test_moving_back_is_seen_to_as_well_and_what_is_there_costs_nothing(tmp_path: Path) -> None:
    pool = PoolTwin()
    async with governing(tmp_path, pool) as scene:
        await scene.promote(1, INVOICE)
        await scene.promote(2, WIDER)
        await scene.until("compiled", 2)
        back = await scene.here.ask("POST", f"{PROD}/rollback", {})
        assert back.status_code == 200, back.text
        await scene.until("present")
    assert len(pool.requests) == 2


async def test_a_tenants_own_contract_is_compiled_when_it_is_asked_for(tmp_path: Path) -> None:
    pool = PoolTwin()
    async with governing(tmp_path, pool) as scene:
        await scene.here.register("own", {"type": "null"})
        await scene.here.promote(1, name="own", alias="dev")
        await scene.promote(1, INVOICE)
        await scene.until("compiled")
    assert len(pool.requests) == 1


async def test_a_pool_that_is_busy_is_asked_again(tmp_path: Path) -> None:
    left: list[Busy | None] = [Busy(retry_after_seconds=0.01), Busy(retry_after_seconds=0.01)]

    def answer(request: CompileRequest) -> CompileOutcome | Busy:
        return (left.pop() if left else None) or compiled(request)

    pool = PoolTwin(answer=answer)
    async with governing(tmp_path, pool) as scene:
        await scene.promote(1, INVOICE)
        await scene.until("compiled")
    assert len(pool.requests) == 3


async def test_a_pool_that_stays_busy_is_left_to_the_first_request(tmp_path: Path) -> None:
    pool = PoolTwin(answer=lambda _: Busy(retry_after_seconds=0.001))
    async with governing(tmp_path, pool) as scene:
        await scene.promote(1, INVOICE)
        await scene.until("given_up")
        pool.answer = compiled
        answered = await scene.here.ask("POST", CHAT, chat(contract="invoice"))
    assert answered.json()["schemagate"]["cache"] == "compiled"


async def test_what_cannot_be_compiled_is_said_once_and_not_tried_again(tmp_path: Path) -> None:
    refusal = Rejected(rejections=[RejectionWire(code="compile_refused", message="no")])
    ends: list[CompileOutcome] = [Crashed(reason="memory"), refusal]
    pool = PoolTwin(answer=lambda _: ends.pop())
    async with governing(tmp_path, pool) as scene:
        await scene.promote(1, INVOICE)
        await scene.until("refused")
        await scene.promote(2, WIDER)
        await scene.until("refused", 2)
    assert len(pool.requests) == 2


async def test_a_request_does_not_wait_as_if_it_were_nobody(tmp_path: Path) -> None:
    pool = PoolTwin(gate=asyncio.Event())
    async with governing(tmp_path, pool) as scene:
        await scene.promote(1, INVOICE)
        await until(lambda: len(pool.requests) == 1)
        asked = asyncio.ensure_future(scene.here.ask("POST", CHAT, chat(contract="invoice")))
        await until(lambda: len(pool.requests) == 2)
        assert pool.gate is not None
        pool.gate.set()
        assert (await asked).status_code == 200
    assert [each.urgency for each in pool.requests] == ["precompile", "answer"]


async def test_a_pool_that_was_not_there_is_asked_once_it_comes(tmp_path: Path) -> None:
    async with governing(tmp_path, PoolTwin(), num_precompiles=0) as scene:
        await scene.promote(1, INVOICE)
    pool = PoolTwin(is_down=True)
    async with registry(tmp_path, pool=pool, governed_tenants="local", num_precompiles=1):
        await asyncio.sleep(0.1)
        assert pool.requests == []
        pool.is_down = False
        await until(lambda: len(pool.requests) == 1)


async def test_what_was_given_up_because_the_pool_went_away_is_seen_to_when_it_is_back(
    tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr(precompile, "MAX_ATTEMPTS", 1)
    pool = PoolTwin()
    async with governing(tmp_path, pool) as scene:
        pool.is_down = True
        await scene.promote(1, INVOICE)
        await scene.until("given_up")
        pool.is_down = False
        await scene.until("compiled")
    assert [each.urgency for each in pool.requests] == ["precompile"]
