"""One gateway process for all tests of commands: real HTTP, real comparisons, SQLite. Each test has its own tenants."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.contract.desk import Site
from tests.system.gateways import running_gateway


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The gateway, and its database for making keys."""
    directory: Path = tmp_path_factory.mktemp("gateway")
    database_url = f"sqlite+aiosqlite:///{directory / 'schemagate.db'}"
    with running_gateway(database_url, directory) as gateway:
        yield Site(url=gateway.url, database_url=database_url)
