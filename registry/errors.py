"""What the registry raises.

RegistryError
├── ContractRejectedError       the contract is refused, by name and place; deterministic
└── UnsupportedPatternError     a `pattern` outside the subset that engine and validator read alike
"""

from policy.rejection import Rejection, RejectionCode


class RegistryError(Exception):
    """Everything the registry raises on purpose."""


class ContractRejectedError(RegistryError):
    """The contract is refused. At least one rejection, at most `MAX_REJECTIONS`, in the order they were found."""

    def __init__(self, rejections: tuple[Rejection, ...]) -> None:
        if not rejections:
            raise ValueError("a refusal needs its reason")
        self.rejections = rejections[:MAX_REJECTIONS]
        first = self.rejections[0]
        super().__init__(f"{first.code} at {first.pointer or 'the root'}: {first.message}")


class UnsupportedPatternError(RegistryError):
    """`pattern` is not ECMA-262, or asks for what RE2 and the engine cannot both do. `position` is in characters."""

    code = RejectionCode.UNSUPPORTED_REGEX

    def __init__(self, *, reason: str, position: int) -> None:
        self.reason = reason
        self.position = position
        super().__init__(f"{reason} (at character {position})")


MAX_REJECTIONS = 16
"""One answer lists so many faults; an author repairs and asks again."""
