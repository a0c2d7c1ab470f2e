"""Faults inside a judgement; `Judge` turns each into `Unjudged`, so none leaves this package.

UnjudgeableError
├── UnjudgeablePatternError    a pattern that RE2 cannot run
└── UnjudgeableContractError   a contract that is not plain JSON Schema 2020-12
"""


class UnjudgeableError(Exception):
    """The contract cannot be judged, whatever the document says."""


class UnjudgeablePatternError(UnjudgeableError):
    """`pattern` is outside what RE2 can run in its memory."""

    def __init__(self, *, pattern: str, reason: str) -> None:
        super().__init__(f"the pattern {pattern[:80]!r} cannot be run: {reason}")
        self.pattern = pattern
        self.reason = reason


class UnjudgeableContractError(UnjudgeableError):
    """A subschema asks for another dialect, or for a type that JSON does not have."""
