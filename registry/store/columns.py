"""Column types that read back exactly what was written, on both databases."""

from datetime import UTC, datetime

from sqlalchemy import DateTime, Dialect, LargeBinary
from sqlalchemy.types import TypeDecorator


class UtcDateTime(TypeDecorator[datetime]):
    """A moment. SQLite keeps no zone, so only UTC is written and what is read is UTC."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, _dialect: Dialect) -> datetime | None:
        """Whatever its zone, as UTC; a moment without one would be a guess."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a moment needs its zone")
        return value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, _dialect: Dialect) -> datetime | None:
        """With its zone."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class Utf8(TypeDecorator[str]):
    """Text as its UTF-8 bytes: PostgreSQL's own text cannot hold U+0000, and no collation or encoding has a say."""

    impl = LargeBinary
    cache_ok = True

    def process_bind_param(self, value: str | None, _dialect: Dialect) -> bytes | None:
        """As bytes."""
        return None if value is None else value.encode()

    def process_result_value(self, value: bytes | None, _dialect: Dialect) -> str | None:
        """As text."""
        return None if value is None else bytes(value).decode()
