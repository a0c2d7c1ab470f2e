"""Formats as regular expressions: the engine's own are wider than the standards they are named after.

Every expression here accepts only what the standard accepts. Where it accepts less, its comment says so; a grammar may
be narrower than its contract, never wider. A format without an exact expression is not in the table.
"""

from collections.abc import Callable
from types import MappingProxyType

_OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_IPV4 = rf"{_OCTET}(?:\.{_OCTET}){{3}}"
_HEX = "[0-9A-Fa-f]"


def _ipv6() -> str:
    """RFC 4291 section 2.2: eight groups; `::` stands for one or more of zeros; the last two may be an IPv4 address."""
    group = f"{_HEX}{{1,4}}"
    tail = f"(?:{group}:{group}|{_IPV4})"
    forms = [f"(?:{group}:){{6}}{tail}"]
    # `after` groups and the tail follow the `::`; at most 5 - after go before it.
    forms += [f"{_up_to(group, 5 - after)}::(?:{group}:){{{after}}}{tail}" for after in range(5, -1, -1)]
    forms.append(f"{_up_to(group, 6)}::{group}")
    forms.append(f"{_up_to(group, 7)}::")
    return f"(?:{'|'.join(forms)})"


def _up_to(group: str, count: int) -> str:
    """At most `count` groups with colons between them."""
    return "" if count == 0 else f"(?:{group}(?::{group}){{0,{count - 1}}})?"


_DAY_28 = "(?:0[1-9]|1[0-9]|2[0-8])"
_YEAR = "[0-9]{4}"
# Divisible by 4 and not by 100, or by 400 (year 0000 is).
_LEAP_YEAR = "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)"
_DATE = (
    f"(?:{_YEAR}-(?:(?:0[1-9]|1[0-2])-{_DAY_28}|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)|{_LEAP_YEAR}-02-29)"
)
_HOUR, _SIXTY = "(?:[01][0-9]|2[0-3])", "[0-5][0-9]"
_FRACTION = r"(?:\.[0-9]+)?"
# Leap seconds are taken at UTC only; RFC 3339 also has them at the same instant under other offsets.
_TIME = f"(?:{_HOUR}:{_SIXTY}:{_SIXTY}{_FRACTION}(?:[Zz]|[+-]{_HOUR}:{_SIXTY})|23:59:60{_FRACTION}(?:[Zz]|[+-]00:00))"
_N = "[0-9]+"
_CLOCK = f"T(?:{_N}H(?:{_N}M(?:{_N}S)?)?|{_N}M(?:{_N}S)?|{_N}S)"
_DAYS = f"(?:{_N}Y(?:{_N}M(?:{_N}D)?)?|{_N}M(?:{_N}D)?|{_N}D)"
# RFC 3339 appendix A: no unit is skipped between two others, weeks stand alone.
_DURATION = f"P(?:{_DAYS}(?:{_CLOCK})?|{_CLOCK}|{_N}W)"

_L, _M = "[0-9A-Za-z]", "[0-9A-Za-z-]"


def _label(longest: int) -> str:
    """RFC 1123 labels of at most `longest` characters, except those that begin with `xn--`.

    Whether such a one is valid depends on what it decodes to, which no regular expression can say: valid A-labels are
    refused with the others.
    """
    return (
        f"(?:[0-9A-WYZa-wyz](?:{_M}{{0,{longest - 2}}}{_L})?"
        f"|[Xx](?:[0-9A-MO-Za-mo-z](?:{_M}{{0,{longest - 3}}}{_L})?|-{_M}{{0,{longest - 3}}}{_L})?"
        f"|[Xx][Nn](?:{_L}(?:{_M}{{0,{longest - 4}}}{_L})?|-{_L}(?:{_M}{{0,{longest - 5}}}{_L})?)?)"
    )


def _dotted(shapes: tuple[tuple[int, int], ...], part: Callable[[int], str]) -> str:
    """Parts with dots between: for each shape, at most so many parts of at most so many characters.

    A limit on the whole length would have to be counted beside everything else, which costs the engine more than a
    contract is allowed. Shapes keep within it by construction, and leave out long names of many long parts.
    """
    forms = (rf"{part(longest)}(?:\.{part(longest)}){{0,{count - 1}}}" for longest, count in shapes)
    return f"(?:{'|'.join(forms)})"


# At most 253 characters, RFC 1035: 3 * 63 + 2, 7 * 31 + 6, 14 * 17 + 13.
_HOSTNAME = _dotted(((63, 3), (31, 7), (17, 14)), _label)

_ATEXT = "[0-9A-Za-z!#$%&'*+/=?^_`{|}~-]"
# RFC 5321 `Mailbox`, its dot-atom form at a domain name: quoted local parts and address literals are left out.
# At most 64 characters before the `@`: 64, 2 * 31 + 1, 4 * 15 + 3, 8 * 7 + 7.
_LOCAL = _dotted(((64, 1), (31, 2), (15, 4), (7, 8)), lambda longest: f"{_ATEXT}{{1,{longest}}}")
_EMAIL = f"{_LOCAL}@{_HOSTNAME}"

_POINTER = "(?:/(?:[^/~]|~[01])*)*"
_COUNT = "(?:0|[1-9][0-9]*)"
_RELATIVE_POINTER = f"{_COUNT}(?:[+-]{_COUNT})?(?:#|{_POINTER})"

# RFC 3987 section 2.2.
_UCSCHAR = (
    r"\x{A0}-\x{D7FF}\x{F900}-\x{FDCF}\x{FDF0}-\x{FFEF}"
    + "".join(rf"\x{{{plane:X}0000}}-\x{{{plane:X}FFFD}}" for plane in range(0x1, 0xE))
    + r"\x{E1000}-\x{EFFFD}"
)
_IPRIVATE = r"\x{E000}-\x{F8FF}\x{F0000}-\x{FFFFD}\x{100000}-\x{10FFFD}"
_SUB_DELIMS = "!$&'()*+,;="
_ESCAPED = f"%{_HEX}{_HEX}"


def _resource(extra: str, private: str) -> tuple[str, str]:
    """RFC 3986 appendix A, `URI` and `relative-ref`; with RFC 3987's characters, `IRI` and `irelative-ref`."""
    unreserved = f"0-9A-Za-z._~{extra}"

    def run(more: str, least: int) -> str:
        return f"(?:[{unreserved}{_SUB_DELIMS}{more}-]|{_ESCAPED}){'*' if least == 0 else '+'}"

    future = rf"[Vv]{_HEX}+\.[0-9A-Za-z._~{_SUB_DELIMS}:-]+"
    host = rf"(?:\[(?:{_ipv6()}|{future})\]|{run('', 0)})"
    authority = f"(?:{run(':', 0)}@)?{host}(?::[0-9]*)?"
    segment = f"(?:/{run(':@', 0)})*"
    absolute_path = f"/(?:{run(':@', 1)}{segment})?"
    tail = (
        rf"(?:\?(?:[{unreserved}{_SUB_DELIMS}:@/?{private}-]|{_ESCAPED})*)?"
        rf"(?:#(?:[{unreserved}{_SUB_DELIMS}:@/?-]|{_ESCAPED})*)?"
    )
    rooted = f"//{authority}{segment}|{absolute_path}"
    whole = f"[A-Za-z][0-9A-Za-z+.-]*:(?:{rooted}|{run(':@', 1)}{segment}|){tail}"
    relative = f"(?:{rooted}|{run('@', 1)}{segment}|){tail}"
    return whole, relative


_URI, _RELATIVE = _resource("", "")
_IRI, _IRI_RELATIVE = _resource(_UCSCHAR, _IPRIVATE)

# RFC 6570 section 2, with the apostrophe of erratum 6937.
_VARIABLE_NAME = rf"(?:[0-9A-Za-z_]|{_ESCAPED})(?:\.?(?:[0-9A-Za-z_]|{_ESCAPED}))*"
_VARIABLE = rf"{_VARIABLE_NAME}(?::[1-9][0-9]{{0,3}}|\*)?"
_TEMPLATE_LITERAL = rf"[!#$&-;=?-\[\]_a-z~{_UCSCHAR}{_IPRIVATE}]"
_TEMPLATE = rf"(?:{_TEMPLATE_LITERAL}|{_ESCAPED}|\{{[+#./;?&=,!@|]?{_VARIABLE}(?:,{_VARIABLE})*\}})*"

FORMATS = MappingProxyType(
    {
        "date": _DATE,
        "time": _TIME,
        "date-time": f"{_DATE}[Tt]{_TIME}",
        "duration": _DURATION,
        "email": _EMAIL,
        "hostname": _HOSTNAME,
        "ipv4": _IPV4,
        "ipv6": _ipv6(),
        "uuid": f"{_HEX}{{8}}(?:-{_HEX}{{4}}){{3}}-{_HEX}{{12}}",
        "json-pointer": _POINTER,
        "relative-json-pointer": _RELATIVE_POINTER,
        "uri": _URI,
        "uri-reference": f"(?:{_URI}|{_RELATIVE})",
        "iri": _IRI,
        "iri-reference": f"(?:{_IRI}|{_IRI_RELATIVE})",
        "uri-template": _TEMPLATE,
    }
)
"""Formats that the grammar enforces. `idn-email`, `idn-hostname` and `regex` are not regular."""
