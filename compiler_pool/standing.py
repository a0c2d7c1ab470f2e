"""Whose job it is and how urgent: what decides when it is its turn."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from types import MappingProxyType
from typing import Final

from compiler_pool.job import Partition


class Urgency(IntEnum):
    """Classes of jobs; a smaller one is served first where turns are even."""

    GOVERNED = 0
    """Somebody waits for a contract that the installation vouches for."""
    TENANT = 1
    """Somebody waits for a contract of their own."""
    PRECOMPILE = 2
    """Nobody waits yet."""


TURNS: Final[Mapping[Urgency, int]] = MappingProxyType({Urgency.GOVERNED: 16, Urgency.TENANT: 4, Urgency.PRECOMPILE: 1})
"""Of 21 jobs that start while every class has some waiting, so many are of each: nobody starves, whatever floods."""


@dataclass(slots=True, kw_only=True)
class Standing:
    """A job's place among others. It may rise while it waits: when somebody comes to wait for what was nobody's."""

    partition: Partition
    urgency: Urgency

    def raise_to(self, urgency: Urgency) -> None:
        """Never lowers it."""
        self.urgency = min(self.urgency, urgency)
