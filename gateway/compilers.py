"""The compiler pool as the gateway sees it: who it is, whether it answers, and what it says of a contract."""

import asyncio

import structlog

from compiler_pool.client import PoolClient
from compiler_pool.errors import PoolUnavailableError
from compiler_pool.protocol import PoolIdentity

_log = structlog.get_logger(__name__)

IDENTITY_SECONDS = 3.0
_MAX_SILENT_POLLS = 2


class Compiler:
    """One pool. Its last identity outlives it: artifacts that are here already need no pool."""

    def __init__(self, client: PoolClient) -> None:
        self.client = client
        self.identity: PoolIdentity | None = None
        self.is_live = False
        self.why_down = "not asked yet"
        self._num_silent = 0

    @property
    def tokenizers(self) -> frozenset[str]:
        """Digests of the tokenizers that the pool compiles for."""
        return frozenset() if self.identity is None else frozenset(each.digest for each in self.identity.tokenizers)

    async def refresh(self) -> None:
        """Ask the pool who it is."""
        try:
            async with asyncio.timeout(IDENTITY_SECONDS):
                identity = await self.client.identity()
        except TimeoutError:
            self._num_silent += 1
            if self._num_silent >= _MAX_SILENT_POLLS:
                self.mark_down("does not answer")
        except PoolUnavailableError as error:
            self.mark_down(str(error))
        else:
            if not self.is_live:
                _log.info("compiler pool is live", engine=identity.engine, engine_version=identity.engine_version)
            self._num_silent = 0
            self.identity, self.is_live, self.why_down = identity, True, ""

    def mark_down(self, why: str) -> None:
        """It does not answer now."""
        if self.is_live:
            _log.warning("compiler pool is down", why=why)
        self.is_live, self.why_down = False, why
