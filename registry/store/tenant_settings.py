"""Operators' settings for tenants, as versioned JSON documents. What one means is for its topic's reader to say."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from sqlalchemy import ColumnElement, Row, and_, insert, select, update

from registry.audit import AuditAction
from registry.canonical import read_canonical
from registry.contract import JsonValue
from registry.errors import PreconditionFailedError
from registry.identifiers import PrincipalId, TenantId
from registry.revision import Actor
from registry.store.audit_log import append_event
from registry.store.database import Database
from registry.store.faults import retried
from registry.store.ledger import lock_ledger
from registry.store.tables.settings import TENANT_SETTINGS
from registry.text import value_text

_DROPPED: Final = "null"
"""In the place of a document that was dropped; no topic has a document that is null."""


class Topic(StrEnum):
    """What can be set; a closed list."""

    BUDGET = "budget"
    SERVING = "serving"
    RULES = "rules"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One document. `subject` "" is the tenant as a whole; otherwise a team, a key, a family of contracts."""

    tenant: TenantId
    topic: Topic
    subject: str
    document: JsonValue
    version: int
    changed_at: datetime
    changed_by: PrincipalId


class TenantSettingsStore:
    """Settings in the database that the gateways share."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @retried
    async def of_tenant(self, tenant: TenantId, topic: Topic) -> Mapping[str, Setting]:
        """All documents of a topic, by subject."""
        where = and_(
            TENANT_SETTINGS.c.tenant == tenant,
            TENANT_SETTINGS.c.topic == topic.value,
            TENANT_SETTINGS.c.document != _DROPPED,
        )
        async with self._database.looking() as session:
            rows = (await session.execute(select(TENANT_SETTINGS).where(where))).all()
        return {
            row.subject: Setting(
                tenant=TenantId(row.tenant),
                topic=Topic(row.topic),
                subject=row.subject,
                document=read_canonical(row.document),
                version=row.version,
                changed_at=row.changed_at,
                changed_by=PrincipalId(row.changed_by),
            )
            for row in rows
        }

    @retried
    async def put(
        self,
        actor: Actor,
        tenant: TenantId,
        topic: Topic,
        subject: str,
        document: JsonValue,
        *,
        expected_version: int | None,
        at: datetime,
    ) -> Setting:
        """Put a document in the place of the one before. `actor` may be an operator of another tenant.

        Raises:
            PreconditionFailedError: the version is not `expected_version` (0: there is none).
        """
        text = value_text(document)
        assert text != _DROPPED, "a document is an object"
        where = _at(tenant, topic, subject)
        async with self._database.writing() as session:
            await lock_ledger(session, tenant)
            row = (await session.execute(select(TENANT_SETTINGS).where(where))).one_or_none()
            _check_version(row, expected_version)
            version = 1 if row is None else int(row.version) + 1
            values = {
                "document": text,
                "version": version,
                "changed_at": at,
                "changed_by": actor.principal,
            }
            if row is None:
                key = {"tenant": tenant, "topic": topic.value, "subject": subject}
                await session.execute(insert(TENANT_SETTINGS).values(**key, **values))
            else:
                await session.execute(update(TENANT_SETTINGS).where(where).values(values))
            await append_event(
                session,
                tenant=tenant,
                actor=actor.principal,
                key_id=actor.key_id,
                action=AuditAction.SETTING_SET,
                subject={"topic": topic.value, "subject": subject},
                details={"to": document, "version": version},
                at=at,
            )
        return Setting(
            tenant=tenant,
            topic=topic,
            subject=subject,
            document=document,
            version=version,
            changed_at=at,
            changed_by=actor.principal,
        )

    @retried
    async def drop(
        self,
        actor: Actor,
        tenant: TenantId,
        topic: Topic,
        subject: str,
        *,
        expected_version: int | None,
        at: datetime,
    ) -> bool:
        """Forget a document, so that the default holds again; whether there was one.

        Raises:
            PreconditionFailedError: as `put`.
        """
        where = _at(tenant, topic, subject)
        async with self._database.writing() as session:
            await lock_ledger(session, tenant)
            row = (await session.execute(select(TENANT_SETTINGS).where(where))).one_or_none()
            _check_version(row, expected_version)
            if row is None or row.document == _DROPPED:
                return False
            # The row stays, so that versions never begin again: whoever remembers an old one is not taken for current.
            gone = {
                "document": _DROPPED,
                "version": int(row.version) + 1,
                "changed_at": at,
                "changed_by": actor.principal,
            }
            await session.execute(update(TENANT_SETTINGS).where(where).values(gone))
            await append_event(
                session,
                tenant=tenant,
                actor=actor.principal,
                key_id=actor.key_id,
                action=AuditAction.SETTING_DROPPED,
                subject={"topic": topic.value, "subject": subject},
                details={"from": read_canonical(row.document)},
                at=at,
            )
        return True


def _check_version(row: Row[Any] | None, expected: int | None) -> None:
    observed = 0 if row is None or row.document == _DROPPED else int(row.version)
    if expected is not None and observed != expected:
        raise PreconditionFailedError(expected=expected, observed=observed)


def _at(tenant: TenantId, topic: Topic, subject: str) -> ColumnElement[bool]:
    return and_(
        TENANT_SETTINGS.c.tenant == tenant,
        TENANT_SETTINGS.c.topic == topic.value,
        TENANT_SETTINGS.c.subject == subject,
    )
