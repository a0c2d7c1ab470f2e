"""The registry's rows as subjects and versions, on both databases."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from policy.enforcement import EnforcementPolicy
from policy.roles import ALL_ROLES
from registry.audit import AuditAction
from registry.contract import AnnotationDigest, ContractDigest, ContractKind
from registry.identifiers import ContractName, PrincipalId, RevisionNumber, TenantId
from registry.revision import Actor, Dependency, RevisionState
from registry.store.audit_log import AuditLog
from registry.store.contracts import ContractStore
from registry.store.database import Database
from registry.store.records import NewRevision, Registered, Sameness
from registry.store.subjects import Standing, SubjectStore, Version

AT = datetime(2026, 11, 30, tzinfo=UTC)
MINE = TenantId("mine")
ME = Actor(tenant=MINE, principal=PrincipalId("me"), roles=ALL_ROLES)
OTHER = Actor(tenant=TenantId("other"), principal=PrincipalId("them"), roles=ALL_ROLES)
POLICY = EnforcementPolicy()


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    database: Database
    contracts: ContractStore
    subjects: SubjectStore

    async def register(self, name: str, word: str, *, actor: Actor = ME, **fields: Any) -> Registered:
        """A revision whose text is one word."""
        contract = await self.contracts.contract(actor.tenant, ContractName(name))
        new = NewRevision(
            name=ContractName(name),
            kind=fields.pop("kind", ContractKind.JSON_SCHEMA),
            digest=ContractDigest(f"sha256:{word:0>64}"),
            annotation_digest=AnnotationDigest(f"sha256:{'0' * 64}"),
            source_text=f'"{word}"',
            source_digest=f"{word:0>64}",
            canonical_text=f'"{word}"',
            policy=POLICY,
            state=fields.pop("state", RevisionState.ACTIVE),
            **fields,
        )
        return await self.contracts.register(
            actor,
            new,
            same=Sameness.SOURCE,
            expected_latest=None if contract is None else contract.latest,
            revive=True,
            at=AT,
        )

    async def retire(self, name: str, number: int) -> None:
        await self.contracts.tombstone_revision(ME, ContractName(name), RevisionNumber(number), reason="", at=AT)

    async def hide(self, name: str, versions: Sequence[Version]) -> tuple[int, ...]:
        return await self.subjects.hide(ME, ContractName(name), versions, at=AT)

    async def names(self, standing: Standing, prefix: str = "", offset: int = 0, limit: int = 99) -> list[str]:
        found = await self.subjects.subjects(MINE, prefix=prefix, standing=standing, offset=offset, limit=limit)
        return list(found)

    async def numbers(self, name: str, standing: Standing) -> list[int]:
        return [v.number for v in await self.subjects.versions(MINE, ContractName(name), standing=standing)]

    async def version(self, name: str, **which: Any) -> Version | None:
        return await self.subjects.version(MINE, ContractName(name), **({"standing": Standing.LIVE} | which))


@asynccontextmanager
async def world(url: str) -> AsyncIterator[World]:
    database = await Database.open(url)
    try:
        yield World(database=database, contracts=ContractStore(database), subjects=SubjectStore(database))
    finally:
        await database.close()


async def test_a_subject_is_a_schema_of_ones_own_with_a_version(database_url: str) -> None:
    async with world(database_url) as it:
        await it.register("b", "one")
        await it.register("a_1", "two")
        await it.register("draft", "three", state=RevisionState.DRAFT)
        await it.register("words", "four", kind=ContractKind.CHOICE)
        await it.register("theirs", "five", actor=OTHER)
        await it.register("A_2", "six")
        assert set(await it.names(Standing.ANY)) == {"b", "a_1", "A_2"}
        assert await it.names(Standing.LIVE, prefix="a_") == ["a_1"]
        assert await it.names(Standing.LIVE, prefix="%") == []
        assert await it.version("draft") is None
        assert await it.version("words") is None
        assert await it.version("theirs") is None
        everything = await it.names(Standing.LIVE)
        assert await it.names(Standing.LIVE, offset=1, limit=1) == everything[1:2]


async def test_retired_versions_are_listed_apart_until_they_are_hidden(database_url: str) -> None:
    async with world(database_url) as it:
        for word in ("one", "two", "three"):
            await it.register("a", word)
        await it.retire("a", 3)
        assert await it.numbers("a", Standing.LIVE) == [1, 2]
        assert await it.numbers("a", Standing.RETIRED) == [3]
        assert await it.numbers("a", Standing.ANY) == [1, 2, 3]
        latest = await it.version("a")
        assert latest is not None
        assert (latest.number, latest.is_live) == (2, True)
        assert await it.names(Standing.RETIRED) == []
        await it.contracts.tombstone_contract(ME, ContractName("a"), reason="", at=AT)
        assert await it.names(Standing.RETIRED) == ["a"]
        gone = await it.subjects.versions(MINE, ContractName("a"), standing=Standing.RETIRED)
        assert await it.hide("a", gone[:2]) == (1, 2)
        assert await it.hide("a", gone[:2]) == ()
        assert await it.numbers("a", Standing.ANY) == [3]
        assert await it.hide("a", gone[1:]) == (3,)
        assert await it.names(Standing.ANY) == []
        again = await it.register("a", "one")
        assert (again.revision.number, again.is_new) == (4, True)
        assert await it.numbers("a", Standing.ANY) == [4]


async def test_a_revision_at_its_sunset_is_retired(database_url: str) -> None:
    async with world(database_url) as it:
        await it.register("a", "one")
        await it.contracts.set_state(
            ME, ContractName("a"), RevisionNumber(1), RevisionState.DEPRECATED, reason="", at=AT
        )
        assert await it.numbers("a", Standing.LIVE) == [1]
        await it.contracts.set_state(ME, ContractName("a"), RevisionNumber(1), RevisionState.SUNSET, reason="", at=AT)
        assert await it.numbers("a", Standing.LIVE) == []
        assert await it.numbers("a", Standing.RETIRED) == [1]


async def test_hiding_is_said_in_the_audit_and_cannot_be_undone(database_url: str) -> None:
    async with world(database_url) as it:
        await it.register("a", "one")
        await it.retire("a", 1)
        version = await it.version("a", standing=Standing.RETIRED)
        assert version is not None
        await it.hide("a", [version])
        await it.hide("a", [version])
        events = await AuditLog(it.database).events(MINE, after=0, limit=99)
        hidden = [event for event in events if event.action is AuditAction.REVISION_HIDDEN]
        assert [(event.subject, event.details) for event in hidden] == [({"name": "a"}, {"numbers": [1]})]
        for statement in ("DELETE FROM hidden_revisions", "UPDATE hidden_revisions SET hidden_by = 'x'"):
            with pytest.raises(DBAPIError, match="append-only"):
                async with it.database.reading() as session:
                    await session.execute(text(statement))


async def test_one_id_leads_to_every_use_the_live_ones_first(database_url: str) -> None:
    async with world(database_url) as it:
        first = await it.register("a", "same")
        await it.register("b", "same")
        await it.register("b", "other")
        await it.retire("a", 1)
        schema_id = first.revision.schema_id
        uses = await it.subjects.uses(MINE, schema_id, standing=Standing.ANY, limit=9)
        assert [(use.subject, use.number, use.is_live) for use in uses] == [("b", 1, True), ("a", 1, False)]
        live = await it.subjects.uses(MINE, schema_id, standing=Standing.LIVE, limit=9)
        assert [use.subject for use in live] == ["b"]
        mine = await it.subjects.uses(MINE, schema_id, standing=Standing.ANY, subject=ContractName("a"), limit=9)
        assert [use.subject for use in mine] == ["a"]
        assert await it.subjects.uses(OTHER.tenant, schema_id, standing=Standing.ANY, limit=9) == ()


async def test_versions_are_found_by_source_and_by_meaning(database_url: str) -> None:
    async with world(database_url) as it:
        await it.register("a", "one")
        await it.register("a", "two")
        await it.retire("a", 1)
        await it.register("a", "one")
        found = await it.version("a", source_digest=f"{'one':0>64}", standing=Standing.ANY)
        assert found is not None
        assert found.number == 3
        two = await it.version("a", digest=ContractDigest(f"sha256:{'two':0>64}"))
        assert two is not None
        assert two.number == 2
        assert await it.version("a", source_digest="none") is None
        assert await it.version("a", number=RevisionNumber(1)) is None


async def test_all_versions_are_listed_and_the_highest_of_each_subject(database_url: str) -> None:
    async with world(database_url) as it:
        for name, word in (("a", "one"), ("a", "two"), ("ab", "three"), ("c", "four")):
            await it.register(name, word)
        await it.retire("a", 2)

        async def listed(prefix: str, standing: Standing, *, latest_only: bool) -> list[tuple[str, int]]:
            found = await it.subjects.listed(
                MINE, prefix=prefix, standing=standing, latest_only=latest_only, offset=0, limit=99
            )
            return [(version.subject, version.number) for version in found]

        assert await listed("a", Standing.LIVE, latest_only=False) == [("a", 1), ("ab", 1)]
        assert await listed("", Standing.ANY, latest_only=True) == [("a", 2), ("ab", 1), ("c", 1)]
        assert await listed("", Standing.LIVE, latest_only=True) == [("a", 1), ("ab", 1), ("c", 1)]


async def test_who_refers_to_a_version_is_known_by_id(database_url: str) -> None:
    async with world(database_url) as it:
        base = (await it.register("base", "one")).revision
        pin = Dependency(uri="base.json", digest=base.digest, revision_id=base.revision_id)
        user = (await it.register("user", "two", dependencies=(pin,))).revision
        await it.register("twin", "two", dependencies=(pin,))
        assert await it.subjects.dependents(MINE, base.revision_id, offset=0, limit=9) == (user.schema_id,)
        assert await it.subjects.dependents(MINE, user.revision_id, offset=0, limit=9) == ()
        named = await it.subjects.named(MINE, [base.revision_id, user.revision_id])
        assert {(version.subject, version.number) for version in named.values()} == {("base", 1), ("user", 1)}
        assert await it.subjects.named(OTHER.tenant, [base.revision_id]) == {}


async def test_concurrent_hiding_hides_once(database_url: str) -> None:
    async with world(database_url) as it:
        await it.register("a", "one")
        await it.retire("a", 1)
        gone = await it.subjects.versions(MINE, ContractName("a"), standing=Standing.RETIRED)
        hidden = await asyncio.gather(*(it.hide("a", gone) for _ in range(8)))
        assert sorted(hidden) == [(), (), (), (), (), (), (), (1,)]
        assert await it.names(Standing.ANY) == []
