"""Mail addresses: `Mailbox` of RFC 5321 section 4.1.2."""

from typing import Final

from compiler_pool.form.formats.network import HEX, IPV4, dotted, label
from compiler_pool.form.formats.reading import matching
from compiler_pool.form.languages import Language

_ATOM: Final = "[0-9A-Za-z!#$%&'*+/=?^_`{|}~-]"
# At most 64 characters before the `@` (RFC 5321 section 4.5.3.1.1): 64, 2 * 31 + 1, 4 * 15 + 3, 8 * 7 + 7; or between
# quotes, where an escape counts as the two characters that it is.
_DOTTED: Final = dotted(((64, 1), (31, 2), (15, 4), (7, 8)), lambda longest: f"{_ATOM}{{1,{longest}}}")
_QUOTED: Final = r'"(?:[ !#-\[\]-~]{0,62}|(?:[ !#-\[\]-~]|\\[ -~]){0,31})"'
_GROUP: Final = f"{HEX}{{1,4}}"
# Section 4.1.3. Literals under other tags than `IPv6` are left out (no other is registered), and so are addresses that
# end in dotted decimals or have more than three groups on a side of `::`.
_FEW: Final = f"(?:{_GROUP}(?::{_GROUP}){{0,2}})?"
_LITERAL: Final = rf"\[(?:{IPV4}|IPv6:(?:(?:{_GROUP}:){{7}}{_GROUP}|{_FEW}::{_FEW}))\]"
# One shape of host names: beside literals, the others cost the engine more than a contract is allowed.
_DOMAIN: Final = dotted(((31, 7),), label)


def email() -> Language:
    """A dotted or quoted local part at a host name without A-labels, or at an address literal."""
    return matching(f"(?:{_DOTTED}|{_QUOTED})@(?:{_DOMAIN}|{_LITERAL})")


def wider_idn_email() -> Language:
    """More than RFC 6531 allows: something at something."""
    return matching("[^]{1,64}@[^@ ]+")
