"""Mail addresses: `Mailbox` of RFC 5321, and of RFC 6531 with it."""

from unicodedata import normalize

import re2

from gateway.validation.formats.network import is_hostname, is_idn_hostname, is_ipv4, is_ipv6

MAX_LOCAL_OCTETS = 64
"""RFC 5321 section 4.5.3.1.1."""

_ATEXT = r"-0-9A-Za-z!#$%&'*+/=?^_`{|}~"
_BEYOND_ASCII = r"\x{80}-\x{10ffff}"
_LOCAL = r'(?:[{a}]+(?:\.[{a}]+)*|"(?:[ !#-\[\]-~{b}]|\\[ -~])*")'
_ASCII_LOCAL = re2.compile(_LOCAL.replace("{a}", _ATEXT).replace("{b}", ""))
_ANY_LOCAL = re2.compile(_LOCAL.replace("{a}", _ATEXT + _BEYOND_ASCII).replace("{b}", _BEYOND_ASCII))
_GENERAL_LITERAL = re2.compile(r"[0-9A-Za-z-]*[0-9A-Za-z]:[!-Z^-~]+")


def is_email(text: str) -> bool:
    """`Mailbox` of RFC 5321 section 4.1.2: a dotted or quoted local part at a domain or an address literal."""
    local, at, domain = text.rpartition("@")
    if not at or len(local) > MAX_LOCAL_OCTETS or _ASCII_LOCAL.fullmatch(local) is None:
        return False
    return _is_address_literal(domain) or is_hostname(domain)


def is_idn_email(text: str) -> bool:
    """`Mailbox` as RFC 6531 section 3.3 extends it: no normal form is asked of either part."""
    local, at, domain = text.rpartition("@")
    if not at or len(local.encode()) > MAX_LOCAL_OCTETS or _ANY_LOCAL.fullmatch(local) is None:
        return False
    return _is_address_literal(domain) or _is_idn_domain(domain)


def _is_address_literal(domain: str) -> bool:
    """RFC 5321 section 4.1.3."""
    if not (domain.startswith("[") and domain.endswith("]")):
        return False
    literal = domain[1:-1]
    if literal[:5].lower() == "ipv6:":
        return is_ipv6(literal[5:])
    return is_ipv4(literal) or _GENERAL_LITERAL.fullmatch(literal) is not None


def _is_idn_domain(domain: str) -> bool:
    """A domain whose labels are LDH labels or U-labels up to normal form, because RFC 6531 leaves NFC to the sender."""
    # Only the ASCII full stop separates labels in a mail domain.
    return not any(stop in domain for stop in "\u3002\uff0e\uff61") and is_idn_hostname(normalize("NFC", domain))
