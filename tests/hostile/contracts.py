"""Contracts that are meant to do harm, each with the verdicts that are right for it.

A contract is made when it is asked for, so that listing them costs nothing.
"""

from collections.abc import Iterator

from tests.hostile.contract import Hostile
from tests.hostile.kinds import hostile_kinds
from tests.hostile.scalars import hostile_scalars
from tests.hostile.schemas import hostile_schemas
from tests.hostile.thickets import hostile_thickets


def hostile_contracts() -> Iterator[Hostile]:
    """All of them."""
    yield from hostile_schemas()
    yield from hostile_thickets()
    yield from hostile_scalars()
    yield from hostile_kinds()
