"""A regular expression as a contract: the whole output is one match of it.

The dialect is that of `pattern` (ECMA-262 over code points), so that one expression means one thing in every kind of
contract: `\\d` is an ASCII digit, `.` no line terminator. Anchors at the ends say what holds anyway and go.
"""

from policy.rejection import RejectionCode
from registry.contract import CanonicalContract, ContractKind, JsonValue
from registry.errors import UnsupportedPatternError
from registry.full_match import full_match_tree
from registry.kinds.faults import refuse, text_of
from registry.kinds.parts import Parts
from registry.kinds.pattern_sizes import shortest_match_bytes
from registry.kinds.regex_text import write_regex
from registry.kinds.terms import Terms
from registry.pattern_program import pattern_program
from registry.pattern_syntax import PatternProfile
from registry.patterns import parse_pattern

_NAME = "regular expression"


def read_regex(value: JsonValue, terms: Terms, *, pointer: str = "") -> CanonicalContract:
    """The contract that a regular expression is. Raises `ContractRejectedError`."""
    pattern = text_of(value, _NAME, pointer=pointer)
    parts = Parts(terms)
    parts.check("max_pattern_bytes", len(pattern.encode()), "The size of the pattern", pointer=pointer)
    try:
        profile = parse_pattern(pattern)[1]
        check_pattern_sizes(profile, parts, pointer=pointer)
        # The group keeps `a|b` together; that it is well formed by itself was just seen.
        tree = full_match_tree(f"^(?:{pattern})$")
        # What could be generated and never judged would be a contract under which every answer fails.
        pattern_program(f"^(?:{pattern})$")
    except UnsupportedPatternError as error:
        message = f"The pattern is not supported: {error}."
        refuse(RejectionCode.UNSUPPORTED_REGEX, message, pointer=pointer)
    least = shortest_match_bytes(tree)
    if least is None:
        refuse(RejectionCode.UNSATISFIABLE, "No text matches the pattern.", pointer=pointer)
    parts.check("max_shortest_instance_bytes", least, "The shortest match", pointer=pointer)
    return parts.finish(ContractKind.REGEX, write_regex(tree), text=write_regex(tree), depth=profile.depth)


def check_pattern_sizes(
    profile: PatternProfile, parts: Parts, *, pointer: str = "", keyword: str | None = None
) -> None:
    """Hold the sizes of one pattern against their limits. Raises `ContractRejectedError`."""
    for name, observed, what in (
        ("max_pattern_bytes", profile.num_bytes, "The size of the pattern"),
        ("max_pattern_repeat", profile.max_repeat, "The bound of a repeat"),
        ("max_pattern_repeat_product", profile.repeat_product, "The product of nested repeats"),
        ("max_pattern_depth", profile.depth, "The nesting of groups"),
    ):
        parts.check(name, observed, what, pointer=pointer, keyword=keyword)
