"""Which database a test's registry stands on."""

import pytest

from tests.registry import world


@pytest.fixture
def each_database(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test runs twice: on SQLite and on a real PostgreSQL server."""
    monkeypatch.setattr(world, "default_url", database_url)
