"""A process that is killed loses nothing that it has acknowledged, and leaves a chain that verifies."""

import asyncio
import os
import random
import sys

from registry.audit import AuditHead
from registry.audit_chain import Intact, verify_chain
from registry.revision import RevisionState
from registry.store.bounds import MAX_EVENTS
from tests.conftest import ROOT
from tests.registry.store.world import ACME, INVOICE, PROD, World, number, opened

OPERATIONS = 200
PER_LIFE = 20


async def live_and_die(url: str, *, operations: int, more_seconds: float) -> list[str]:
    """What a writer acknowledged before it was killed, that long after its last but unread operation."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.registry.store.writer",
        url,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    lines = [await process.stdout.readline() for _ in range(operations)]
    # Somewhere within the next operations: what was acknowledged until then counts as well.
    await asyncio.sleep(more_seconds)
    process.kill()
    rest = await process.stdout.read()
    await process.wait()
    complete = [line for line in (b"".join(lines) + rest).split(b"\n")[:-1] if line]
    return [line.decode() for line in complete]


async def until_the_dead_are_buried(world: World) -> None:
    """PostgreSQL ends what a killed client had begun a moment later; what is read before would be two states."""
    if world.database.is_sqlite:
        return
    others = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    async with asyncio.timeout(30):
        while True:
            async with world.database.looking() as session:
                if (await session.exec_driver_sql(others)).scalar_one() == 0:
                    return
            await asyncio.sleep(0.01)


async def check(world: World, acknowledged: list[str]) -> None:
    contract = await world.contracts.contract(ACME, INVOICE)
    assert contract is not None
    last_moved = last_version = 0
    for line in acknowledged:
        verb, which, detail = line.split()
        if verb == "registered":
            stored = await world.contracts.revision(ACME, INVOICE, number(int(which)))
            assert stored is not None
            assert stored.revision.revision_id == detail
            assert stored.status.state is RevisionState.ACTIVE
        else:
            last_moved, last_version = int(which), int(detail)
    alias = await world.contracts.alias(ACME, INVOICE, PROD)
    assert alias is not None
    # One more may have been done than was said; never one fewer, and never half of one.
    assert last_moved <= alias.number <= last_moved + 1
    assert alias.version in {last_version, last_version + 1}
    assert alias.number in {contract.latest - 1, contract.latest}
    events = await world.audit.events(ACME, after=0, limit=MAX_EVENTS)
    head = await world.audit.head(ACME)
    assert isinstance(head, AuditHead)
    assert isinstance(verify_chain(events, head), Intact)
    assert len(events) == 1 + contract.latest + alias.version


async def test_nothing_acknowledged_is_lost(database_url: str) -> None:
    moments = random.Random(20260301)
    acknowledged: list[str] = []
    while len(acknowledged) < OPERATIONS:
        lived = await live_and_die(database_url, operations=PER_LIFE, more_seconds=moments.uniform(0, 0.03))
        assert len(lived) >= PER_LIFE
        acknowledged += lived
        async with opened(database_url) as world:
            await until_the_dead_are_buried(world)
            await check(world, acknowledged)
