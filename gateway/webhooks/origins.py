"""Where webhooks may lead: origins that the installation lists, and of their addresses those that may be reached.

A URL is read by one narrow grammar, and the request is made from its parts, so that no second parser can read another
host out of it. A host that could be an address in disguise (`2130706433`, `0x7f.1`, `127.1`) is refused.
"""

import ipaddress
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
IpNetwork = ipaddress.IPv4Network | ipaddress.IPv6Network

_URL: Final = re.compile(
    r"(?P<scheme>https?)://(?:(?P<name>[a-z0-9][a-z0-9.-]*)|\[(?P<v6>[0-9a-f:.]+)\])(?::(?P<port>[0-9]{1,5}))?"
    r"(?P<target>[/?][!$%&'()*+,\-./0-9:;=?@A-Z_a-z~]*)?",
    re.ASCII,
)
_LABEL: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?", re.ASCII)
_NUMERIC: Final = re.compile(r"[0-9]+|0x[0-9a-f]*", re.ASCII)
_SPECIAL: Final[tuple[IpNetwork, ...]] = tuple(
    map(ipaddress.ip_network, ("192.0.0.0/24", "192.88.99.0/24", "3fff::/20", "fec0::/10"))
)
"""Set aside for protocols, relays, documentation and sites (which still have them), though the library says global."""
_PORTS: Final = {"http": 80, "https": 443}
_MAX_HOST_CHARACTERS: Final = 253


class BadUrlError(ValueError):
    """A text that is not a URL of a webhook; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Scheme, host and port. `host` is a name in lower case, or an address in its shortest spelling."""

    scheme: str
    host: str
    port: int

    @property
    def address(self) -> IpAddress | None:
        """The host, where it is an address."""
        try:
            return ipaddress.ip_address(self.host)
        except ValueError:
            return None

    @property
    def authority(self) -> str:
        """As the `Host` header spells it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookUrl:
    """An origin, and what is asked for there."""

    origin: Origin
    target: str


def read_url(text: str) -> WebhookUrl:
    """Read a URL: no user, no fragment, no escapes in the host.

    Raises:
        BadUrlError: it is none.
    """
    # Scheme and host are read without regard to case; what follows them is kept as it is.
    authority = re.match(r"[^:]*://[^/?#]*", text)
    lowered = text if authority is None else authority[0].lower() + text[authority.end() :]
    found = _URL.fullmatch(lowered)
    if found is None:
        raise BadUrlError("it is not `http(s)://host[:port]/path` in plain ASCII, without a user and a fragment")
    port = int(found["port"] or _PORTS[found["scheme"]])
    if not 1 <= port <= 65535:
        raise BadUrlError(f"there is no port {port}")
    host = _address(found["v6"]) if found["v6"] else _host(found["name"])
    target = found["target"] or "/"
    return WebhookUrl(
        origin=Origin(scheme=found["scheme"], host=host, port=port),
        target=target if target.startswith("/") else f"/{target}",
    )


def read_origin(text: str) -> Origin:
    """Read an origin: a URL that ends with its host or port.

    Raises:
        BadUrlError: it is none, or has a path.
    """
    url = read_url(text.rstrip("/"))
    if url.target != "/":
        raise BadUrlError("an origin has no path")
    return url.origin


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedTargets:
    """What the installation lets webhooks reach."""

    origins: frozenset[Origin]
    private_networks: tuple[IpNetwork, ...]
    """Addresses that are not public and may be reached all the same, by an origin's name."""

    @classmethod
    def read(cls, origins: Iterable[str], private_networks: Iterable[str]) -> "ListedTargets":
        """Read both lists.

        Raises:
            ValueError: an entry is no origin, or no network.
        """
        return cls(
            origins=frozenset(read_origin(text) for text in origins),
            private_networks=tuple(ipaddress.ip_network(text) for text in private_networks),
        )

    def may_reach(self, origin: Origin, addresses: Sequence[IpAddress]) -> bool:
        """Whether the origin is listed and every address that its name leads to is public, or listed."""
        if origin not in self.origins or not addresses:
            return False
        # One bad address among them is enough to refuse: a name that leads to both is an attempt.
        return all(self._is_reachable(origin, address) for address in addresses)

    def _is_reachable(self, origin: Origin, address: IpAddress) -> bool:
        if address == origin.address:
            return True  # the origin itself was listed by its address
        return is_public(address) or any(
            address.version == network.version and address in network for network in self.private_networks
        )


def is_public(address: IpAddress) -> bool:
    """Whether anybody may be there, and nobody of this installation: addresses inside addresses are looked at too."""
    if isinstance(address, ipaddress.IPv6Address):
        if address.scope_id is not None:
            return False
        if address.ipv4_mapped is not None:
            return is_public(address.ipv4_mapped)
        inner = [address.sixtofour, *(address.teredo or ())]
        if any(one is not None and not is_public(one) for one in inner):
            return False
    is_special = any(address.version == network.version and address in network for network in _SPECIAL)
    return address.is_global and not (address.is_multicast or address.is_reserved or is_special)


def _host(name: str) -> str:
    last = name.rsplit(".", 1)[-1]
    if _NUMERIC.fullmatch(last) is not None:
        # Readers differ on what a host of numbers is; four decimal parts are the one spelling that all share.
        return _address(name)
    if len(name) > _MAX_HOST_CHARACTERS or any(_LABEL.fullmatch(label) is None for label in name.split(".")):
        raise BadUrlError(f"{name[:80]!r} is not a host's name")
    return name


def _address(text: str) -> str:
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        raise BadUrlError(f"{text[:80]!r} is not an address in its usual spelling") from None
