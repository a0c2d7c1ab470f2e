"""How often artifacts of this process's own cache are used, told to the compiler pool every few seconds.

The pool is asked once for what is then kept here. What all pools share keeps its place by being asked for again, and
this is where that shows. A count that gets lost costs nothing but a place.
"""

import asyncio
from collections import Counter
from typing import Final

import structlog

from compiler_pool.artifact import ArtifactKey
from compiler_pool.errors import PoolUnavailableError
from compiler_pool.protocol import UsesReport
from gateway.compilers import Compiler

_log = structlog.get_logger(__name__)

REPORT_SECONDS: Final = 10.0
MAX_COUNTED: Final = 1_000
"""Artifacts between two reports; of more, the others show themselves the next time."""
_MAX_USES: Final = 1_000_000


class ArtifactUses:
    """Counts in memory. Calling order: `count` at any time, `run` in one task."""

    def __init__(self, compiler: Compiler) -> None:
        self._compiler = compiler
        self._counts: Counter[ArtifactKey] = Counter()

    def count(self, key: ArtifactKey) -> None:
        """It was found here and will be used."""
        if key in self._counts or len(self._counts) < MAX_COUNTED:
            self._counts[key] = min(self._counts[key] + 1, _MAX_USES)

    async def report(self) -> None:
        """Tell the pool; what it does not take is forgotten."""
        if not self._counts or not self._compiler.is_live:
            return
        report = UsesReport(uses=dict(self._counts))
        self._counts.clear()
        try:
            await self._compiler.client.report_uses(report)
        except PoolUnavailableError as error:
            _log.info("uses of artifacts could not be told", why=str(error))

    async def run(self) -> None:
        """Report again and again, until cancelled."""
        while True:
            await asyncio.sleep(REPORT_SECONDS)
            try:
                await self.report()
            except Exception:
                _log.exception("uses of artifacts could not be told")
