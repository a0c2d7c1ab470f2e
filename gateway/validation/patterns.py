"""A contract's patterns on RE2, in linear time and bounded memory: the programs that the compiler asked for, too."""

from gateway.validation.errors import UnjudgeablePatternError
from registry.errors import UnsupportedPatternError
from registry.pattern_program import pattern_program


def matches(pattern: str, text: str) -> bool:
    """Whether the ECMA-262 `pattern` is found anywhere in `text`.

    Raises:
        UnjudgeablePatternError: RE2 cannot run it; never skipped, because a skipped pattern is a constraint lost.
    """
    try:
        return pattern_program(pattern).search(text) is not None
    except UnsupportedPatternError as error:
        raise UnjudgeablePatternError(pattern=pattern, reason=error.reason) from error
