"""The registry's comparer over the processes that compare: bounded in time, and fair between tenants."""

from contextvars import ContextVar

from gateway.compatibility.service import ComparisonService
from gateway.identifiers import TenantPartition
from registry.compatibility.comparison import Comparison
from registry.contract import ContractKind

_NOBODY = TenantPartition("")
COMPARING_FOR: ContextVar[TenantPartition] = ContextVar("COMPARING_FOR", default=_NOBODY)
"""Whose request this task works on. Set when a caller is admitted; the registry's services know nothing of queues."""


class BoundedComparer:
    """`registry.measuring.Comparer` with a time for each comparison; over it nothing was decided."""

    def __init__(self, service: ComparisonService, *, seconds: float) -> None:
        self._service = service
        self._seconds = seconds

    async def compare(self, old: tuple[ContractKind, str], new: tuple[ContractKind, str]) -> Comparison:
        """What `new` allows and forbids against `old`."""
        return await self._service.compare(
            (old[0].value, old[1]), (new[0].value, new[1]), seconds=self._seconds, partition=COMPARING_FOR.get()
        )
