"""When keys were last used, gathered in memory and written down by the minute: no request ever waits for it."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

import structlog

from gateway.auth.store import KeyStore
from gateway.errors import GatewayError
from gateway.identifiers import KeyId

_log = structlog.get_logger(__name__)

WRITE_SECONDS: Final = 20.0
ONCE_IN_SECONDS: Final = 60.0
"""A key's moment is written at most once in this time, however often it is used."""
MAX_NOTED: Final = 10_000
"""Keys between two writes; of more, the others show themselves the next time."""


class KeyUses:
    """Calling order: `note` at any time, `run` in one task, `close` at the end."""

    def __init__(self, store: KeyStore, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._monotonic = monotonic
        self._noted: dict[KeyId, datetime] = {}
        self._written: OrderedDict[KeyId, float] = OrderedDict()
        self._former: dict[KeyId, tuple[str, str]] = {}

    def note(self, key_id: KeyId) -> None:
        """The key was used just now."""
        if key_id in self._noted or len(self._noted) < MAX_NOTED:
            self._noted[key_id] = datetime.now(UTC)

    def note_former_pepper(self, key_id: KeyId, *, old: str, new: str) -> None:
        """The key's secret was found under the pepper before this one: its digest is made anew."""
        if len(self._former) < MAX_NOTED:
            self._former[key_id] = (old, new)

    async def write(self) -> None:
        """Write what is due. What the database does not take is noted for the next time."""
        due = self._monotonic() - ONCE_IN_SECONDS
        moments = {key: at for key, at in self._noted.items() if self._written.get(key, due) <= due}
        former, self._former = self._former, {}
        for key in moments:
            del self._noted[key]
        try:
            await self._store.mark_used(moments)
            while former:
                key, (old, new) = former.popitem()
                await self._store.replace_digest(key, old=old, new=new)
        except GatewayError as error:
            _log.warning("the last use of keys could not be written", why=str(error))
            self._noted = {**moments, **self._noted}
            self._former = {**former, **self._former}
            return
        for key in moments:
            self._written[key] = self._monotonic()
            self._written.move_to_end(key)
        while self._written and (len(self._written) > MAX_NOTED or next(iter(self._written.values())) <= due):
            self._written.popitem(last=False)

    async def run(self) -> None:
        """Write again and again, until cancelled."""
        while True:
            await asyncio.sleep(WRITE_SECONDS)
            try:
                await self.write()
            except Exception:
                _log.exception("the last use of keys could not be written")

    async def close(self) -> None:
        """Write what is left."""
        self._written.clear()
        await self.write()
