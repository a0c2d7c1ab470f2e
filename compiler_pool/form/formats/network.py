"""Addresses, host names and identifiers."""

from collections.abc import Callable
from typing import Final

from compiler_pool.form.formats.reading import matching
from compiler_pool.form.languages import Language, Lengths, both

_OCTET: Final = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
IPV4: Final = rf"{_OCTET}(?:\.{_OCTET}){{3}}"
HEX: Final = "[0-9A-Fa-f]"


def _up_to(group: str, count: int) -> str:
    """At most `count` groups with colons between them."""
    return "" if count == 0 else f"(?:{group}(?::{group}){{0,{count - 1}}})?"


def _ipv6() -> str:
    """RFC 4291 section 2.2: eight groups; `::` stands for one or more of zeros; the last two may be an IPv4 address."""
    group = f"{HEX}{{1,4}}"
    tail = f"(?:{group}:{group}|{IPV4})"
    forms = [f"(?:{group}:){{6}}{tail}"]
    # `after` groups and the tail follow the `::`; at most 5 - after go before it.
    forms += [f"{_up_to(group, 5 - after)}::(?:{group}:){{{after}}}{tail}" for after in range(5, -1, -1)]
    forms.append(f"{_up_to(group, 6)}::{group}")
    forms.append(f"{_up_to(group, 7)}::")
    return f"(?:{'|'.join(forms)})"


IPV6: Final = _ipv6()

_L: Final = "[0-9A-Za-z]"
_M: Final = "[0-9A-Za-z-]"


def label(longest: int) -> str:
    """RFC 1123 labels of at most `longest` characters, except those that begin with `xn--`.

    Whether such a one is valid depends on what it decodes to, which no regular expression can say: valid A-labels are
    left out with the others.
    """
    return (
        f"(?:[0-9A-WYZa-wyz](?:{_M}{{0,{longest - 2}}}{_L})?"
        f"|[Xx](?:[0-9A-MO-Za-mo-z](?:{_M}{{0,{longest - 3}}}{_L})?|-{_M}{{0,{longest - 3}}}{_L})?"
        f"|[Xx][Nn](?:{_L}(?:{_M}{{0,{longest - 4}}}{_L})?|-{_L}(?:{_M}{{0,{longest - 5}}}{_L})?)?)"
    )


def dotted(shapes: tuple[tuple[int, int], ...], part: Callable[[int], str]) -> str:
    """Parts with dots between: for each shape, at most so many parts of at most so many characters.

    A limit on the whole length would have to be counted beside everything else, which costs the engine more than a
    contract is allowed. Shapes keep within it by construction, and leave out long names of many long parts.
    """
    forms = (rf"{part(longest)}(?:\.{part(longest)}){{0,{count - 1}}}" for longest, count in shapes)
    return f"(?:{'|'.join(forms)})"


# At most 253 characters, because RFC 1035 allows 255 octets on the wire, length bytes and the root's included:
# 3 * 63 + 2, 7 * 31 + 6, 14 * 17 + 13.
_HOSTNAME: Final = dotted(((63, 3), (31, 7), (17, 14)), label)


def ipv4() -> Language:
    """`dotted-quad` of RFC 2673 section 3.2."""
    return matching(IPV4)


def ipv6() -> Language:
    """RFC 4291 section 2.2, without the zone of RFC 4007."""
    return matching(IPV6)


def uuid() -> Language:
    """RFC 4122 section 3, of any version."""
    return matching(f"{HEX}{{8}}(?:-{HEX}{{4}}){{3}}-{HEX}{{12}}")


def hostname() -> Language:
    """RFC 1123 section 2.1, without A-labels."""
    return matching(_HOSTNAME)


def wider_idn_hostname() -> Language:
    """More than RFC 5890 allows: labels of anything but ASCII that no label has, with the dots of RFC 3490 between."""
    label = "(?:[0-9A-Za-z-]|[\\u{80}-\\u{10ffff}])+"
    return both(matching(rf"{label}(?:[.\u3002\uff0e\uff61]{label})*"), Lengths(maximum=253))
