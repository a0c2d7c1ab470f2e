"""How often revisions are used: counts that arrive in batches and are added up by day."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from sqlalchemy import func, select
from sqlalchemy.sql.functions import coalesce

from registry.identifiers import ContractName, RevisionId, RevisionNumber, TenantId
from registry.store.bounds import MAX_USAGE_DAYS
from registry.store.database import Database
from registry.store.faults import retried
from registry.store.ledger import inserting
from registry.store.records import DayUsage, RevisionUsage, UsageCount
from registry.store.tables.contracts import REVISIONS
from registry.store.tables.operations import USAGE

_BATCH = 500
"""Rows in one statement."""


class UsageStore:
    """Counts of all tenants."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @retried
    async def add(self, counts: Sequence[UsageCount]) -> None:
        """Add to what was counted before. All of it or, if this raises, none."""
        merged: dict[tuple[RevisionId, object], UsageCount] = {}
        for count in counts:
            key = (count.revision_id, count.day)
            known = merged.get(key)
            merged[key] = count if known is None else _sum(known, count)
        # In one order, so that two processes that flush the same revisions wait for each other and not in a circle.
        ordered = [merged[key] for key in sorted(merged, key=str)]
        if not ordered:
            return
        async with self._database.writing() as session:
            for start in range(0, len(ordered), _BATCH):
                statement = inserting(session, USAGE).values(
                    [
                        {
                            "revision_id": count.revision_id,
                            "day": count.day,
                            "num_requests": count.num_requests,
                            "last_used_at": count.last_used_at,
                        }
                        for count in ordered[start : start + _BATCH]
                    ]
                )
                newer = func.max if session.dialect.name == "sqlite" else func.greatest
                await session.execute(
                    statement.on_conflict_do_update(
                        index_elements=[USAGE.c.revision_id, USAGE.c.day],
                        set_={
                            "num_requests": USAGE.c.num_requests + statement.excluded.num_requests,
                            "last_used_at": newer(USAGE.c.last_used_at, statement.excluded.last_used_at),
                        },
                    )
                )

    @retried
    async def usage(self, tenant: TenantId, name: ContractName) -> tuple[RevisionUsage, ...]:
        """Of every revision that was ever used, newest first. Unused ones are not named."""
        used = REVISIONS.join(USAGE, USAGE.c.revision_id == REVISIONS.c.revision_id)
        mine = (REVISIONS.c.tenant == tenant, REVISIONS.c.name == name)
        totals = (
            select(
                REVISIONS.c.revision_id,
                REVISIONS.c.number,
                coalesce(func.sum(USAGE.c.num_requests), 0).label("num_requests"),
                func.max(USAGE.c.last_used_at, type_=USAGE.c.last_used_at.type).label("last_used_at"),
            )
            .select_from(used)
            .where(*mine)
            .group_by(REVISIONS.c.revision_id, REVISIONS.c.number)
            .order_by(REVISIONS.c.number.desc())
        )
        newest = select(func.max(USAGE.c.day)).select_from(used).where(*mine)
        async with self._database.reading() as session:
            found = (await session.execute(totals)).all()
            last_day = (await session.execute(newest)).scalar_one_or_none()
            days: dict[RevisionId, list[DayUsage]] = {}
            if last_day is not None:
                recent = (
                    select(USAGE)
                    .select_from(used)
                    .where(*mine, USAGE.c.day > last_day - timedelta(days=MAX_USAGE_DAYS))
                    .order_by(USAGE.c.day.desc())
                )
                for row in await session.execute(recent):
                    days.setdefault(row.revision_id, []).append(DayUsage(day=row.day, num_requests=row.num_requests))
        return tuple(
            RevisionUsage(
                revision_id=RevisionId(row.revision_id),
                number=RevisionNumber(row.number),
                num_requests=int(row.num_requests),
                last_used_at=row.last_used_at,
                days=tuple(days.get(row.revision_id, ())),
            )
            for row in found
        )


def _sum(one: UsageCount, other: UsageCount) -> UsageCount:
    return replace(
        one,
        num_requests=one.num_requests + other.num_requests,
        last_used_at=max(one.last_used_at, other.last_used_at),
    )
