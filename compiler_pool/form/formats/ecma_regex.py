"""Regular expressions of ECMA-262 in Unicode mode, as far as a regular expression can tell one.

Left out: groups nested more than five deep, look-around within groups or around them, named groups and references
back, `\\0`, most ranges in classes but those of digits and those that begin or end with the alphabet, and most pairs
of bounds of three or more digits each.
"""

from typing import Final

from compiler_pool.form.formats.reading import matching
from compiler_pool.form.languages import Language

NESTED_GROUPS: Final = 5

_HEX: Final = "[0-9A-Fa-f]"
# Escapes that mean the same in a class and out of it; `\/` is a syntax character too.
_ESCAPE: Final = (
    r"\\(?:[\^$\\.*+?()\[\]{}|/dDsSwWfnrtv]|c[A-Za-z]"
    rf"|x{_HEX}{{2}}|u{_HEX}{{4}}|u\{{(?:{_HEX}{{1,5}}|10{_HEX}{{4}})\}}"
    r"|[pP]\{[A-Za-z_]+(?:=[0-9A-Za-z_]+)?\})"
)
_SYNTAX: Final = r"\^$\\*+?()\[\]{}|"


def ecma_regex() -> Language:
    """What `new RegExp(text, "u")` takes, and less."""
    plain = _pattern()
    inner = plain
    for _ in range(NESTED_GROUPS - 1):
        inner = _pattern(_group(inner))
    return matching(_pattern(_group(inner), rf"|\(\?<?[=!]{plain}\)"))


def _group(pattern: str) -> str:
    return rf"|\((?:\?:)?{pattern}\)"


def _pattern(atoms: str = "", assertions: str = "") -> str:
    """Terms and bars in any order, with more atoms, and more that cannot be repeated."""
    atom = rf"(?:[^{_SYNTAX}]|{_ESCAPE}|{_class()}{atoms})"
    return rf"(?:[|^$]|\\[bB]{assertions}|{atom}(?:{_quantifier()})?)*"


def _quantifier() -> str:
    ordered = "|".join(f"{low},[{low}-9]" for low in range(10))
    tens = "|".join(f"{low}[0-9],[{low + 1}-9][0-9]" for low in range(1, 9))
    same = "|".join(f"{at},{at // 10}[{at % 10}-9]" for at in range(10, 100))
    longer = "[0-9],[1-9][0-9]{1,4}|[1-9][0-9],[1-9][0-9]{2,4}"
    return rf"(?:[*+?]|\{{(?:[0-9]{{1,5}},?|{ordered}|{tens}|{same}|{longer})\}})\??"


def _class() -> str:
    # A hyphen is one at either end, and after a range; elsewhere it would make a range.
    single = rf"[^\\\]-]|{_ESCAPE}|\\[b-]"
    return rf"\[\^?-?(?:{_range()}-?|{single})*-?\]"


def _range() -> str:
    """Ranges in order: of digits, and of letters from the first or to the last. More cost the engine too much."""
    digits = [f"{low}-[{low}-9]" for low in range(10)]
    return "(?:" + "|".join([*digits, "a-[a-z]", "[b-z]-z", "A-[A-Z]", "[B-Z]-Z"]) + ")"
