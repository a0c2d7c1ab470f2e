"""URIs (RFC 3986 appendix A), IRIs (RFC 3987 section 2.2) and URI templates (RFC 6570 section 2)."""

from typing import Final

from compiler_pool.form.formats.network import HEX, IPV6
from compiler_pool.form.formats.reading import matching
from compiler_pool.form.languages import Language

_UCSCHAR: Final = (
    r"\u{A0}-\u{D7FF}\u{F900}-\u{FDCF}\u{FDF0}-\u{FFEF}"
    + "".join(rf"\u{{{plane:X}0000}}-\u{{{plane:X}FFFD}}" for plane in range(0x1, 0xE))
    + r"\u{E1000}-\u{EFFFD}"
)
_IPRIVATE: Final = r"\u{E000}-\u{F8FF}\u{F0000}-\u{FFFFD}\u{100000}-\u{10FFFD}"
_SUB_DELIMS: Final = "!$&'()*+,;="
_ESCAPED: Final = f"%{HEX}{HEX}"


def _resource(extra: str, private: str) -> tuple[str, str]:
    """`URI` and `relative-ref`, with more unreserved characters, and more in queries."""
    unreserved = f"0-9A-Za-z._~{extra}"

    def run(more: str, least: int) -> str:
        return f"(?:[{unreserved}{_SUB_DELIMS}{more}-]|{_ESCAPED}){'*' if least == 0 else '+'}"

    future = rf"[Vv]{HEX}+\.[0-9A-Za-z._~{_SUB_DELIMS}:-]+"
    host = rf"(?:\[(?:{IPV6}|{future})\]|{run('', 0)})"
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

_VARIABLE_NAME: Final = rf"(?:[0-9A-Za-z_]|{_ESCAPED})(?:\.?(?:[0-9A-Za-z_]|{_ESCAPED}))*"
_VARIABLE: Final = rf"{_VARIABLE_NAME}(?::[1-9][0-9]{{0,3}}|\*)?"
# With the apostrophe of erratum 6937.
_LITERAL: Final = rf"[!#$&-;=?-\[\]_a-z~{_UCSCHAR}{_IPRIVATE}]"


def uri() -> Language:
    """`URI`: a scheme is required, a fragment allowed."""
    return matching(_URI)


def uri_reference() -> Language:
    """`URI-reference`."""
    return matching(f"(?:{_URI}|{_RELATIVE})")


def iri() -> Language:
    """`IRI`."""
    return matching(_IRI)


def iri_reference() -> Language:
    """`IRI-reference`."""
    return matching(f"(?:{_IRI}|{_IRI_RELATIVE})")


def uri_template() -> Language:
    """`URI-Template`."""
    return matching(rf"(?:{_LITERAL}|{_ESCAPED}|\{{[+#./;?&=,!@|]?{_VARIABLE}(?:,{_VARIABLE})*\}})*")
