"""One product for all system tests that only talk to it; a test that kills something starts its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.system.product import Product, running_product


@pytest.fixture(scope="session")
def product(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    """The running product. Closing it is an assertion too: no process may survive."""
    directory: Path = tmp_path_factory.mktemp("product")
    with running_product(directory) as running:
        yield running
