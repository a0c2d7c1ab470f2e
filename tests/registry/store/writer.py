"""Writes until it is killed, and says what was acknowledged: `python -m tests.registry.store.writer URL`.

In turns it registers a revision and moves the alias to it, from where the database says that it stands.
"""

import asyncio
import sys
from datetime import UTC, datetime

from registry.store.records import Sameness
from tests.registry.store.world import ACME, ADA, INVOICE, PROD, new, number, opened


async def write(url: str) -> None:
    """For ever; a line for each operation that has returned."""
    async with opened(url) as world:
        contract = await world.contracts.contract(ACME, INVOICE)
        latest = None if contract is None else contract.latest
        while True:
            content = 1 if latest is None else latest + 1
            made = await world.contracts.register(
                ADA, new(content), same=Sameness.CONTENT, expected_latest=latest, at=datetime.now(UTC)
            )
            latest = made.revision.number
            print(f"registered {latest} {made.revision.revision_id}", flush=True)  # noqa: T201
            alias = await world.contracts.move_alias(
                ADA,
                INVOICE,
                PROD,
                number(latest),
                expected_version=None,
                must_be_new=False,
                reason="",
                at=datetime.now(UTC),
            )
            print(f"moved {latest} {alias.version}", flush=True)  # noqa: T201


if __name__ == "__main__":
    asyncio.run(write(sys.argv[1]))
