"""Whether patterns find a match in names, as far as that is cheap to know.

A pattern of a few bytes can be a program of megabytes, and each name a walk through it; what is asked here only makes
an estimate better. So one contract has a budget, and what is above it stays open.
"""

from typing import Final

import re2

from registry.patterns import translate_pattern

MAX_PROGRAM_BYTES: Final = 128 * 1024
"""Per pattern, program and automaton together: a few sets of Unicode letters fit."""
MAX_STEPS: Final = 50_000_000
"""Per contract: instructions times characters, at about 6 ns each."""
_STEPS_OF_A_PROGRAM: Final = 200_000
"""What making one costs, or finding that it is too large."""

_OPTIONS: Final = re2.Options()
_OPTIONS.max_mem = MAX_PROGRAM_BYTES
_OPTIONS.log_errors = False


class NameSearch:
    """Asked for one contract, whose patterns are within the common syntax."""

    def __init__(self) -> None:
        self._left = MAX_STEPS
        self._programs: dict[str, re2._Regexp | None] = {}

    def finds(self, pattern: str, name: str) -> bool | None:
        """Whether `pattern` finds a match in `name`; `None` (it may or may not) where that costs too much."""
        program = self._program(pattern)
        if program is None:
            return None
        steps = program.programsize * (len(name) + 1)
        if steps > self._left:
            return None
        self._left -= steps
        return program.search(name) is not None

    def _program(self, pattern: str) -> "re2._Regexp | None":
        if pattern in self._programs:
            return self._programs[pattern]
        if self._left < _STEPS_OF_A_PROGRAM:
            return None
        self._left -= _STEPS_OF_A_PROGRAM
        try:
            program = re2.compile(translate_pattern(pattern), _OPTIONS)
        except re2.error:
            program = None
        self._programs[pattern] = program
        return program
