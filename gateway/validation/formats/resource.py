"""URIs (RFC 3986), IRIs (RFC 3987) and URI templates (RFC 6570), each spelled from its grammar."""

import re2

from gateway.validation.formats.network import is_ipv6

_UCSCHAR = (
    r"\x{a0}-\x{d7ff}\x{f900}-\x{fdcf}\x{fdf0}-\x{ffef}"
    + "".join(rf"\x{{{plane:x}0000}}-\x{{{plane:x}fffd}}" for plane in range(0x1, 0xE))
    + r"\x{e1000}-\x{efffd}"
)
_IPRIVATE = r"\x{e000}-\x{f8ff}\x{f0000}-\x{ffffd}\x{100000}-\x{10fffd}"
_PERCENT = "%[0-9A-Fa-f]{2}"


class _Grammar:
    """The generic syntax of RFC 3986 appendix A, over a set of extra characters (none for URIs)."""

    __slots__ = ("_reference", "_whole")

    def __init__(self, extra: str, private: str) -> None:
        unreserved = rf"0-9A-Za-z._~{extra}-"
        sub_delims = r"!$&'()*+,;="
        pchar = rf"(?:[{sub_delims}:@{unreserved}]|{_PERCENT})"
        pchar_no_colon = rf"(?:[{sub_delims}@{unreserved}]|{_PERCENT})"
        user_info = rf"(?:[{sub_delims}:{unreserved}]|{_PERCENT})*"
        reg_name = rf"(?:[{sub_delims}{unreserved}]|{_PERCENT})*"
        # What stands between the brackets is captured, and read as an address afterwards.
        literal = rf"\[([0-9A-Fa-f:.]+|[Vv][0-9A-Fa-f]+\.[{sub_delims}:0-9A-Za-z._~-]+)\]"
        authority = rf"(?:{user_info}@)?(?:{literal}|{reg_name})(?::[0-9]*)?"
        path_abempty = rf"(?:/{pchar}*)*"
        path_absolute = rf"/(?:{pchar}+(?:/{pchar}*)*)?"
        path_rootless = rf"{pchar}+(?:/{pchar}*)*"
        path_noscheme = rf"{pchar_no_colon}+(?:/{pchar}*)*"
        tail = rf"(?:\?(?:{pchar}|[/?{private}])*)?(?:#(?:{pchar}|[/?])*)?"
        hier = rf"(?://{authority}{path_abempty}|{path_absolute}|{path_rootless}|)"
        relative = rf"(?://{authority}{path_abempty}|{path_absolute}|{path_noscheme}|)"
        self._whole = re2.compile(rf"[A-Za-z][0-9A-Za-z+.-]*:{hier}{tail}")
        self._reference = re2.compile(rf"{relative}{tail}")

    def is_absolute(self, text: str) -> bool:
        return self._fits(self._whole, text)

    def is_reference(self, text: str) -> bool:
        return self._fits(self._whole, text) or self._fits(self._reference, text)

    @staticmethod
    def _fits(pattern: "re2._Regexp", text: str) -> bool:
        match = pattern.fullmatch(text)
        if match is None:
            return False
        literal = match.group(1)
        return literal is None or literal[0] in "Vv" or is_ipv6(literal)


_URI = _Grammar("", "")
_IRI = _Grammar(_UCSCHAR, _IPRIVATE)

_VARNAME = rf"(?:[0-9A-Za-z_]|{_PERCENT})(?:\.?(?:[0-9A-Za-z_]|{_PERCENT}))*"
_VARSPEC = rf"{_VARNAME}(?::[1-9][0-9]{{0,3}}|\*)?"
_LITERAL = rf"[!#$&'(-;=?-\[\]_a-z~{_UCSCHAR}{_IPRIVATE}]"
_TEMPLATE = re2.compile(rf"(?:{_LITERAL}|{_PERCENT}|\{{[+#./;?&=,!@|]?{_VARSPEC}(?:,{_VARSPEC})*\}})*")


def is_uri(text: str) -> bool:
    """`URI` of RFC 3986: a scheme is required, a fragment allowed."""
    return _URI.is_absolute(text)


def is_uri_reference(text: str) -> bool:
    """`URI-reference` of RFC 3986."""
    return _URI.is_reference(text)


def is_iri(text: str) -> bool:
    """`IRI` of RFC 3987."""
    return _IRI.is_absolute(text)


def is_iri_reference(text: str) -> bool:
    """`IRI-reference` of RFC 3987."""
    return _IRI.is_reference(text)


def is_uri_template(text: str) -> bool:
    """`URI-Template` of RFC 6570 section 2, the apostrophe of erratum 6937 included."""
    return _TEMPLATE.fullmatch(text) is not None
