"""Do registering and resolving stay flat? Prints, for both databases, medians of the first and the last thousand.

    python -m tests.benchmarks.registry_flatness [--num-revisions 10000] [--services]

Two shapes: all revisions under one name, and each under a name of its own. While the registry grows, one picked from
all there are is asked for by alias, by number and by digest.

Without options the store itself is asked. With `--services` a JSON Schema goes through the registrar, which reads it
and compares it with the one before, and is resolved without the cache's help: each number is asked for once.
"""

import argparse
import asyncio
import random
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from policy.enforcement import EnforcementPolicy
from policy.roles import ALL_ROLES
from registry.contract import AnnotationDigest, ContractDigest, ContractKind
from registry.identifiers import AliasName, ContractName, PrincipalId, RevisionNumber, TenantId
from registry.naming import ByAlias, ByDigest, ByNumber, Reference
from registry.revision import Actor, RevisionState
from registry.store.contracts import ContractStore
from registry.store.database import Database
from registry.store.records import BareContract, NewRevision, Sameness
from tests.postgres import find_programs, running_postgres
from tests.registry.world import a_registry, closed

TENANT = TenantId("acme")
ACTOR = Actor(tenant=TENANT, principal=PrincipalId("bench"), roles=ALL_ROLES)
SOURCE = '{"type":"object","properties":{"number":{"type":"integer"},"text":{"type":"string","maxLength":100}}}'
PROD = AliasName("prod")


def _digest(index: int) -> str:
    return f"sha256:{index:064x}"


def _new(name: ContractName, index: int) -> NewRevision:
    return NewRevision(
        name=name,
        kind=ContractKind.JSON_SCHEMA,
        digest=ContractDigest(_digest(index)),
        annotation_digest=AnnotationDigest(_digest(0)),
        source_text=SOURCE,
        source_digest=_digest(index),
        canonical_text=SOURCE,
        policy=EnforcementPolicy(),
        state=RevisionState.ACTIVE,
    )


async def _measure(url: str, num_revisions: int, *, one_name: bool) -> dict[str, list[float]]:
    database = await Database.open(url)
    store = ContractStore(database)
    times: dict[str, list[float]] = {"register": [], "alias": [], "number": [], "digest": []}
    choose = random.Random(0)
    try:
        for index in range(1, num_revisions + 1):
            name = ContractName("one" if one_name else f"contract-{index}")
            latest = RevisionNumber(index - 1) if one_name and index > 1 else None
            new = _new(name, index)
            begun = time.perf_counter()
            made = await store.register(ACTOR, new, same=Sameness.CONTENT, expected_latest=latest, at=datetime.now(UTC))
            times["register"].append(time.perf_counter() - begun)
            if made.revision.number == 1:
                await store.move_alias(
                    ACTOR, name, PROD, made.revision.number,
                    expected_version=None, must_be_new=True, reason="", at=datetime.now(UTC),
                )  # fmt: skip
            some = choose.randint(1, index)
            old = ContractName("one" if one_name else f"contract-{some}")
            number = RevisionNumber(some if one_name else 1)
            await _time(store, times["alias"], ByAlias(name=old, alias=PROD))
            await _time(store, times["number"], ByNumber(name=old, number=number))
            await _time(store, times["digest"], ByDigest(digest=ContractDigest(_digest(some))))
    finally:
        await database.close()
    return times


async def _time(store: ContractStore, times: list[float], reference: Reference) -> None:
    begun = time.perf_counter()
    found = await store.serving(TENANT, reference)
    times.append(time.perf_counter() - begun)
    if found is None or isinstance(found, BareContract):
        raise AssertionError(f"{reference} was not found")


async def _measure_services(url: str, num_revisions: int) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {"register": [], "resolve": []}
    async with a_registry(url) as world:
        for index in range(1, num_revisions + 1):
            definition = closed(text={"type": "string", "maxLength": index}, number={"type": "integer"})
            begun = time.perf_counter()
            await world.register(definition, state=RevisionState.ACTIVE)
            registered = time.perf_counter()
            await world.catalogue.resolver.resolve(f"invoice@{index}", TENANT, serving=True)
            times["register"].append(registered - begun)
            times["resolve"].append(time.perf_counter() - registered)
    return times


def _report(title: str, times: dict[str, list[float]]) -> None:
    for what, all_times in times.items():
        part = min(1000, len(all_times) // 2)
        first, last = median(all_times[:part]) * 1000, median(all_times[-part:]) * 1000
        print(
            f"{title:24} {what:8} first {first:7.3f} ms   last {last:7.3f} ms   ratio {last / first:5.2f}", flush=True
        )


@asynccontextmanager
async def _urls() -> AsyncIterator[list[tuple[str, Callable[[], str]]]]:
    with tempfile.TemporaryDirectory() as directory:
        files = iter(range(100))
        kinds: list[tuple[str, Callable[[], str]]] = [
            ("SQLite", lambda: f"sqlite+aiosqlite:///{Path(directory) / f'{next(files)}.db'}")
        ]
        programs = find_programs()
        if programs is None:
            print("PostgreSQL is not installed; only SQLite is measured")
            yield kinds
            return
        with running_postgres(programs) as server:
            yield [*kinds, ("PostgreSQL", server.make_database)]


async def main(num_revisions: int, *, through_services: bool) -> None:
    """Measure and print."""
    async with _urls() as kinds:
        for database, make in kinds:
            if through_services:
                _report(f"{database}, services", await _measure_services(make(), num_revisions))
                continue
            for one_name in (True, False):
                shape = "one name" if one_name else "many names"
                _report(f"{database}, {shape}", await _measure(make(), num_revisions, one_name=one_name))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--num-revisions", type=int, default=10_000)
    parser.add_argument("--services", action="store_true", help="through registrar and resolver")
    options = parser.parse_args()
    asyncio.run(main(options.num_revisions, through_services=options.services))
