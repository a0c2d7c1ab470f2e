"""One question to one webhook: to a checked address, signed, within its time, and with a bounded answer."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from http.cookiejar import CookieJar, DefaultCookiePolicy
from ipaddress import ip_address
from pathlib import Path
from typing import Final

import httpx

from gateway.rules.rule_set import Webhook
from gateway.rules.verdict import Failed, Passed, RuleFault, Undecided
from gateway.webhooks.answer import MAX_ANSWER_BYTES, read_answer
from gateway.webhooks.origins import BadUrlError, IpAddress, ListedTargets, Origin, WebhookUrl, read_url
from gateway.webhooks.signature import SIGNATURE_HEADER, signature

WebhookVerdict = Passed | Failed | Undecided
Resolve = Callable[[Origin], Awaitable[Sequence[IpAddress]]]

_MAX_ADDRESSES: Final = 16
"""Of one name."""
_MAX_TRIED: Final = 3
"""Addresses of one name that a connection is tried to, in the resolver's order."""
_NUM_RESOLVERS: Final = 4
"""Threads that ask for names. A resolver that hangs holds one of them, and webhooks wait, nothing else."""


class _FaultError(Exception):
    """Ends a question without a verdict."""

    def __init__(self, fault: RuleFault) -> None:
        super().__init__(fault)
        self.fault = fault


@dataclass(frozen=True, slots=True, kw_only=True)
class CallBounds:
    """How many questions are asked at one moment."""

    max_calls: int
    max_calls_of_tenant: int


class WebhookClient:
    """Asks webhooks. Connections are never kept: one is good for the name that it was checked for, and no other."""

    def __init__(
        self,
        *,
        targets: ListedTargets,
        secrets: Mapping[str, Sequence[bytes]],
        bounds: CallBounds,
        trusted: ssl.SSLContext,
        resolve: Resolve | None = None,
    ) -> None:
        self._targets = targets
        self._secrets = secrets
        self._bounds = bounds
        self._resolvers = ThreadPoolExecutor(max_workers=_NUM_RESOLVERS, thread_name_prefix="webhook names")
        self._resolve = resolve or self._look_up
        self._all = asyncio.Semaphore(bounds.max_calls)
        self._of_tenant: dict[str, tuple[asyncio.Semaphore, int]] = {}
        limits = httpx.Limits(max_connections=bounds.max_calls, max_keepalive_connections=0)
        self._http = httpx.AsyncClient(
            verify=trusted,
            limits=limits,
            follow_redirects=False,
            trust_env=False,
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            timeout=None,  # noqa: S113 - the whole question has one, below
        )

    def fault_of(self, webhook: Webhook, tenant: str) -> RuleFault | None:
        """Why this webhook cannot be asked at all, as far as that is known without asking."""
        try:
            url = read_url(webhook.url)
        except BadUrlError:
            return RuleFault.REFUSED_ADDRESS
        if url.origin not in self._targets.origins:
            return RuleFault.REFUSED_ADDRESS
        return None if self._secrets.get(secret_name(tenant, webhook.name)) else RuleFault.NO_SECRET

    async def ask(self, webhook: Webhook, tenant: str, body: bytes) -> WebhookVerdict:
        """The webhook's verdict on `body`, within its own time, waiting for its turn included."""
        fault = self.fault_of(webhook, tenant)
        if fault is not None:
            return Undecided(fault=fault)
        has_turn = False
        try:
            async with asyncio.timeout(webhook.timeout_seconds), self._turn(tenant):
                has_turn = True
                return await self._answer(webhook, tenant, body)
        except TimeoutError:
            return Undecided(fault=RuleFault.SILENT if has_turn else RuleFault.BUSY)
        except _FaultError as error:
            return Undecided(fault=error.fault)

    async def close(self) -> None:
        """Close what is open."""
        self._resolvers.shutdown(wait=False, cancel_futures=True)
        await self._http.aclose()

    async def _answer(self, webhook: Webhook, tenant: str, body: bytes) -> WebhookVerdict:
        url = read_url(webhook.url)
        addresses = await self._checked_addresses(url.origin)
        keys = self._secrets[secret_name(tenant, webhook.name)]
        now = int(datetime.now(UTC).timestamp())
        headers = {
            "Host": url.origin.authority,
            "Content-Type": "application/json",
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            "User-Agent": "schemagate",
            SIGNATURE_HEADER: signature(keys, body, unix_seconds=now),
        }
        for number, address in enumerate(addresses, start=1):
            try:
                return read_answer(await self._exchange(_request(url, address, headers, body)))
            except httpx.ConnectError:
                if number == len(addresses):
                    raise _FaultError(RuleFault.UNREACHABLE) from None
            except (httpx.HTTPError, httpx.InvalidURL):
                raise _FaultError(RuleFault.UNREACHABLE) from None
        raise _FaultError(RuleFault.UNREACHABLE)

    async def _checked_addresses(self, origin: Origin) -> Sequence[IpAddress]:
        literal = origin.address
        addresses = (literal,) if literal is not None else await self._resolved(origin)
        if not self._targets.may_reach(origin, addresses):
            raise _FaultError(RuleFault.REFUSED_ADDRESS)
        return addresses[:_MAX_TRIED]

    async def _resolved(self, origin: Origin) -> Sequence[IpAddress]:
        try:
            addresses = await self._resolve(origin)
        except OSError:
            raise _FaultError(RuleFault.UNREACHABLE) from None
        return tuple(dict.fromkeys(addresses))[:_MAX_ADDRESSES]

    async def _look_up(self, origin: Origin) -> Sequence[IpAddress]:
        loop = asyncio.get_running_loop()

        def ask() -> list[str]:
            found = socket.getaddrinfo(origin.host, origin.port, type=socket.SOCK_STREAM)
            return [str(entry[4][0]) for entry in found]

        return [ip_address(text) for text in await loop.run_in_executor(self._resolvers, ask)]

    async def _exchange(self, request: httpx.Request) -> bytes:
        response = await self._http.send(request, stream=True)
        try:
            # Undecoded: a body that unpacks to more than was read is not read at all.
            if (
                response.status_code != httpx.codes.OK
                or response.headers.get("content-encoding", "identity") != "identity"
            ):
                raise _FaultError(RuleFault.BAD_ANSWER)
            parts = bytearray()
            async for part in response.aiter_raw():
                parts += part
                if len(parts) > MAX_ANSWER_BYTES:
                    raise _FaultError(RuleFault.BAD_ANSWER)
            return bytes(parts)
        finally:
            await response.aclose()

    @asynccontextmanager
    async def _turn(self, tenant: str) -> AsyncIterator[None]:
        """A place among the tenant's own questions, then among all."""
        own, num_users = self._of_tenant.get(tenant, (asyncio.Semaphore(self._bounds.max_calls_of_tenant), 0))
        self._of_tenant[tenant] = own, num_users + 1
        try:
            async with own, self._all:
                yield
        finally:
            own, num_users = self._of_tenant[tenant]
            if num_users == 1:
                del self._of_tenant[tenant]
            else:
                self._of_tenant[tenant] = own, num_users - 1


def trusted_authorities(ca_file: Path | None) -> ssl.SSLContext:
    """The public authorities, and those in the file.

    Raises:
        OSError: the file is not there, or holds no certificate.
    """
    context = httpx.create_ssl_context(trust_env=False)
    if ca_file is not None:
        context.load_verify_locations(cafile=ca_file)
    return context


def secret_name(tenant: str, webhook: str) -> str:
    """Under which name the installation keeps a webhook's secrets."""
    return f"{tenant}/{webhook}"


def _request(url: WebhookUrl, address: IpAddress, headers: Mapping[str, str], body: bytes) -> httpx.Request:
    """To the address that was checked, never to a name that could lead elsewhere a moment later."""
    origin = url.origin
    host = f"[{address}]" if address.version == 6 else str(address)
    # The certificate is still the name's.
    extensions = {"sni_hostname": origin.host} if origin.address is None else {}
    return httpx.Request(
        "POST",
        f"{origin.scheme}://{host}:{origin.port}{url.target}",
        headers=headers,
        content=body,
        extensions=extensions,
    )
