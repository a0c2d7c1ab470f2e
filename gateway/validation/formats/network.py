"""Addresses and host names."""

import ipaddress
from unicodedata import bidirectional

import idna
import re2

_LABEL = re2.compile(r"[0-9A-Za-z](?:[0-9A-Za-z-]{0,61}[0-9A-Za-z])?")
_OCTET = re2.compile(r"25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9]")
_UUID = re2.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")

MAX_NAME_CHARACTERS = 253
"""RFC 1035 allows 255 octets on the wire: length bytes and the root's take two more than the dots of the text."""

_SEPARATORS = re2.compile("[.\u3002\uff0e\uff61]")
"""Full stops that RFC 3490 (and the browsers after it) take as label separators."""


def is_ipv4(text: str) -> bool:
    """`dotted-quad` of RFC 2673 section 3.2: four decimal octets without leading zeros."""
    octets = text.split(".")
    return len(octets) == 4 and all(_OCTET.fullmatch(octet) is not None for octet in octets)


def is_ipv6(text: str) -> bool:
    """RFC 4291 section 2.2, without the zone of RFC 4007; an embedded IPv4 address has no leading zeros."""
    if not text.isascii() or "%" in text or "/" in text:
        return False
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    tail = text.rpartition(":")[2]
    return "." not in tail or is_ipv4(tail)


def is_uuid(text: str) -> bool:
    """RFC 4122 section 3: 32 hexadecimal digits, grouped 8-4-4-4-12; any version, any variant."""
    return _UUID.fullmatch(text) is not None


def is_hostname(text: str) -> bool:
    """RFC 1123 section 2.1; a label that claims to be an A-label (`xn--`) must be one by RFC 5891."""
    if not text or len(text) > MAX_NAME_CHARACTERS:
        return False
    return all(
        _LABEL.fullmatch(label) is not None and (not label.lower().startswith("xn--") or _is_a_label(label))
        for label in text.split(".")
    )


def is_idn_hostname(text: str) -> bool:
    """RFC 5890: every label an LDH label, an A-label or a U-label, and the whole name within the rule of RFC 5893."""
    labels = _SEPARATORS.split(text)
    if not text or not all(labels):
        return False
    try:
        ascii_labels = [_to_a_label(label) for label in labels]
    except (idna.IDNAError, UnicodeError):
        return False
    if sum(map(len, ascii_labels)) + len(labels) - 1 > MAX_NAME_CHARACTERS:
        return False
    return _obeys_bidi_rule([idna.ulabel(label) for label in ascii_labels])


def _is_a_label(label: str) -> bool:
    """Whether it decodes to a U-label that encodes back to it."""
    try:
        return idna.alabel(idna.ulabel(label.lower())).decode("ascii") == label.lower()
    except (idna.IDNAError, UnicodeError):
        return False


def _to_a_label(label: str) -> str:
    """The label in ASCII.

    Raises:
        idna.IDNAError: it is none of the three kinds.
    """
    if label.isascii():
        if _LABEL.fullmatch(label) is None:
            raise idna.IDNAError("not an LDH label")
        if label[2:4] != "--":
            return label
        if not _is_a_label(label):
            raise idna.IDNAError("not an A-label")
        return label.lower()
    return idna.alabel(label).decode("ascii")


def _obeys_bidi_rule(labels: list[str]) -> bool:
    """RFC 5893 section 2: once one label is right to left, every label must keep the rule."""
    if not any(_has_right_to_left(label) for label in labels):
        return True
    try:
        return all(idna.check_bidi(label, check_ltr=True) for label in labels)
    except idna.IDNABidiError:
        return False


def _has_right_to_left(label: str) -> bool:
    return any(bidirectional(character) in {"R", "AL", "AN"} for character in label)
