"""Operators' documents on the request path: at most a second old, and one question for all who wait."""

import asyncio
from collections.abc import Mapping

from gateway.tasks import TaskOwner
from gateway.tenant_settings import MAX_AGE_SECONDS, TenantSettings
from registry.identifiers import TenantId
from registry.store.tenant_settings import Setting, TenantSettingsStore, Topic
from tests.gateway.twins import until
from tests.registry.store.world import ACME, ADA, NOON, opened


class Slow(TenantSettingsStore):
    """The real store, which counts its questions and answers when it is let."""

    num_asked = 0
    gate: asyncio.Event | None = None

    async def of_tenant(self, tenant: TenantId, topic: Topic) -> Mapping[str, Setting]:
        self.num_asked += 1
        if self.gate is not None:
            await self.gate.wait()
        return await super().of_tenant(tenant, topic)


async def test_what_is_known_is_not_asked_again_within_a_second(database_url: str) -> None:
    async with opened(database_url) as world:
        now = 0.0
        store = Slow(world.database)
        settings = TenantSettings(store, monotonic=lambda: now)
        assert await settings.of_tenant(ACME, Topic.SERVING) == {}
        await store.put(ADA, ACME, Topic.SERVING, "", {"floor": "strict"}, expected_version=0, at=NOON)
        now = MAX_AGE_SECONDS - 0.01
        assert await settings.of_tenant(ACME, Topic.SERVING) == {}
        assert store.num_asked == 1
        now = MAX_AGE_SECONDS
        assert list(await settings.of_tenant(ACME, Topic.SERVING)) == [""]


async def test_what_was_changed_here_is_seen_at_once(database_url: str) -> None:
    async with opened(database_url) as world:
        store = Slow(world.database)
        settings = TenantSettings(store, monotonic=lambda: 0.0)
        assert await settings.of_tenant(ACME, Topic.SERVING) == {}
        await store.put(ADA, ACME, Topic.SERVING, "", {}, expected_version=0, at=NOON)
        settings.forget(ACME, Topic.SERVING)
        assert list(await settings.of_tenant(ACME, Topic.SERVING)) == [""]


async def test_a_thousand_who_wait_ask_once(database_url: str) -> None:
    async with opened(database_url) as world:
        store = Slow(world.database)
        store.gate = asyncio.Event()
        settings = TenantSettings(store, monotonic=lambda: 0.0)
        async with asyncio.TaskGroup() as group:
            for _ in range(1000):
                group.create_task(settings.of_tenant(ACME, Topic.SERVING))
            await asyncio.sleep(0)
            store.gate.set()
        assert store.num_asked == 1


async def test_a_change_while_the_question_is_under_way_is_not_overlooked(database_url: str) -> None:
    async with opened(database_url) as world:
        store = Slow(world.database)
        store.gate = asyncio.Event()
        settings = TenantSettings(store, monotonic=lambda: 0.0)
        async with asyncio.TaskGroup() as group:
            asking = group.create_task(settings.of_tenant(ACME, Topic.SERVING))
            await until(lambda: store.num_asked == 1)
            settings.forget(ACME, Topic.SERVING)
            store.gate.set()
        assert asking.result() == {}
        await settings.of_tenant(ACME, Topic.SERVING)
        assert store.num_asked == 2


async def test_a_document_in_use_is_renewed_beside_the_requests_that_use_it(database_url: str) -> None:
    async with opened(database_url) as world:
        now, tasks, store = 0.0, TaskOwner(), Slow(world.database)
        settings = TenantSettings(store, tasks=tasks, monotonic=lambda: now)
        assert await settings.of_tenant(ACME, Topic.SERVING) == {}
        await store.put(ADA, ACME, Topic.SERVING, "", {"floor": "strict"}, expected_version=0, at=NOON)
        now = 0.6
        assert await settings.of_tenant(ACME, Topic.SERVING) == {}  # at once, from memory
        await until(lambda: settings._kept[ACME, Topic.SERVING][0] > now + 0.9)
        assert store.num_asked == 2
        assert (await settings.of_tenant(ACME, Topic.SERVING))[""].document == {"floor": "strict"}
        now = 1.5  # past the first one's end, not past the second's
        assert (await settings.of_tenant(ACME, Topic.SERVING))[""].version == 1
        await tasks.close()
