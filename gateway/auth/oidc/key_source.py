"""Where the issuer's keys come from, and how long what was read is believed.

They are fetched again in the background, and once more where a token names a key that is not known: never more often
than the settings say, however many tokens ask.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

import httpx
import structlog

from gateway.auth.oidc.key_set import KeySetError, VerifyingKey, read_key_set
from gateway.auth.oidc.settings import OidcSettings
from gateway.errors import IdentityProviderUnavailableError

_log = structlog.get_logger(__name__)

_OK: Final = 200

Fetch = Callable[[], Awaitable[bytes]]


class KeySource:
    """The present keys. Calling order: `run` in one task, `matching` at any time."""

    def __init__(
        self, fetch: Fetch, settings: OidcSettings, *, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._fetch = fetch
        self._settings = settings
        self._monotonic = monotonic
        self._keys: tuple[VerifyingKey, ...] = ()
        self._read_at: float | None = None
        self._tried_at: float | None = None
        self._turn = asyncio.Lock()

    async def matching(self, kid: str | None, algorithm: str) -> tuple[VerifyingKey, ...]:
        """The keys that a token with this header may be signed with.

        A token that names no key can mean only the one key that there is for its algorithm.

        Raises:
            IdentityProviderUnavailableError: no keys have been read, or too long ago.
        """
        if not self._is_fresh():
            await self._refresh()
        found = self._of(kid, algorithm)
        if not found:
            await self._refresh()
            found = self._of(kid, algorithm)
        age = self._age()
        if age is None or age > self._settings.jwks_max_age_seconds + self._settings.jwks_stale_seconds:
            raise IdentityProviderUnavailableError(retry_after_seconds=self._settings.jwks_refetch_seconds)
        return found

    async def run(self) -> None:
        """Keep them fresh, until cancelled."""
        while True:
            await self._refresh()
            # Half of the time, so that no request ever waits for it while the issuer answers.
            await asyncio.sleep(
                self._settings.jwks_max_age_seconds / 2 if self._is_fresh() else self._settings.jwks_refetch_seconds
            )

    def _of(self, kid: str | None, algorithm: str) -> tuple[VerifyingKey, ...]:
        found = tuple(key for key in self._keys if key.algorithm == algorithm and kid in {None, key.kid})
        return found if kid is not None or len(found) == 1 else ()

    def _age(self) -> float | None:
        return None if self._read_at is None else self._monotonic() - self._read_at

    def _is_fresh(self) -> bool:
        age = self._age()
        return age is not None and age < self._settings.jwks_max_age_seconds

    async def _refresh(self) -> None:
        async with self._turn:
            now = self._monotonic()
            if self._tried_at is not None and now - self._tried_at < self._settings.jwks_refetch_seconds:
                return  # whoever waited for the turn has what the one before it found
            self._tried_at = now
            try:
                async with asyncio.timeout(self._settings.jwks_fetch_seconds):
                    data = await self._fetch()
                keys = read_key_set(data, max_bytes=self._settings.max_jwks_bytes)
            except (KeySetError, httpx.HTTPError, OSError, TimeoutError) as error:
                _log.warning("the identity provider's keys could not be read", why=f"{type(error).__name__}: {error}")
                return
            if not keys:
                _log.warning("the identity provider publishes no key that tokens may be signed with")
            self._keys, self._read_at = keys, now


def fetch_url(http: httpx.AsyncClient, url: str, *, max_bytes: int) -> Fetch:
    """Fetches the set, never following a redirect and never reading more than `max_bytes` and a piece."""

    async def fetch() -> bytes:
        # Uncompressed: a small answer must not become a large one here.
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        async with http.stream("GET", url, headers=headers, follow_redirects=False) as response:
            if response.status_code != _OK:
                raise KeySetError(f"the answer has status {response.status_code}")
            data = b""
            async for piece in response.aiter_raw():
                data += piece
                if len(data) > max_bytes:
                    raise KeySetError(f"the set of keys has more than {max_bytes} bytes")
            return data

    return fetch


def fetch_file(path: Path, *, max_bytes: int) -> Fetch:
    """Reads the set from a file."""

    def read() -> bytes:
        with path.open("rb") as file:
            return file.read(max_bytes + 1)

    async def fetch() -> bytes:
        return await asyncio.to_thread(read)

    return fetch
