"""Expressions of formats, read into the trees of languages."""

from compiler_pool.form.languages import Matching
from registry.patterns import parse_pattern


def matching(expression: str) -> Matching:
    """The strings that an ECMA-262 expression without anchors matches as a whole."""
    return Matching(tree=parse_pattern(expression)[0])
