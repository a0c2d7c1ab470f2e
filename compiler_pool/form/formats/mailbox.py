"""Mail addresses: `Mailbox` of RFC 5321 section 4.1.2."""

from typing import Final

from compiler_pool.form.formats.network import HOSTNAME, IPV4, IPV6, MAX_NAME_CHARACTERS
from compiler_pool.form.formats.reading import matching
from compiler_pool.form.languages import Language, both

MAX_LOCAL_CHARACTERS: Final = 64
"""RFC 5321 section 4.5.3.1.1."""

_ATOM: Final = "[0-9A-Za-z!#$%&'*+/=?^_`{|}~-]+"
_LOCAL: Final = rf'(?:{_ATOM}(?:\.{_ATOM})*|"(?:[ !#-\[\]-~]|\\[ -~])*")'
# Section 4.1.3. Literals under other tags than `IPv6` are left out: no other is registered.
_LITERAL: Final = rf"\[(?:{IPV4}|[Ii][Pp][Vv]6:{IPV6})\]"


def email() -> Language:
    """A dotted or quoted local part at a host name without A-labels, or at an address literal."""
    sizes = f"[^]{{1,{MAX_LOCAL_CHARACTERS}}}@[^@]{{1,{MAX_NAME_CHARACTERS}}}"
    return both(matching(f"{_LOCAL}@(?:{HOSTNAME}|{_LITERAL})"), matching(sizes))


def wider_idn_email() -> Language:
    """More than RFC 6531 allows: something at something."""
    return matching("[^]{1,64}@[^@ ]+")
