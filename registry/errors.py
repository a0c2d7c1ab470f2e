"""What the registry raises.

RegistryError
├── ContractRejectedError       the contract is refused, by name and place; deterministic
├── UnsupportedPatternError     a `pattern` outside the subset that engine and validator read alike
├── InvalidNameError            a name, alias, team or reference outside its grammar
├── NotFoundError               there is nothing of that name that the asker may see
├── TombstonedError             it was there and has been retired; only its own tenant is told
├── ForbiddenError              it can be seen, and not be changed, by who asks
├── IncompatibleError           a revision breaks the level its contract keeps, with a witness
├── UndecidedError              whether it breaks the level could not be decided, which is not a yes
├── PreconditionFailedError     the thing has changed since it was read (`If-Match`)
├── StateError                  what is asked does not fit the state of things
├── SignatureRequiredError      policy asks for a live signature
├── InvalidSignatureError       a signature or public key that does not verify or cannot be read
├── SecondPersonError           who proposed or wrote it may not approve it
├── StaleRevisionError          a stored text no longer reads as the digest it was stored under
└── StoreUnavailableError       the database does not answer; nothing is known
"""

from policy.rejection import Rejection, RejectionCode
from policy.roles import Action, needed_roles


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


class InvalidNameError(RegistryError):
    """`what` is "contract", "alias", "team", "reference" …; `text` is as it was sent."""

    def __init__(self, what: str, text: str, *, reason: str = "") -> None:
        super().__init__(f"{text[:80]!r} cannot be {what}" + (f": {reason}" if reason else ""))
        self.what = what
        self.text = text


class NotFoundError(RegistryError):
    """The same for what is not there and for what is another tenant's. `what` is "contract", "revision", "alias" …"""

    def __init__(self, what: str, text: str) -> None:
        super().__init__(f"there is no {what} {text[:320]!r}")
        self.what = what
        self.text = text


class TombstonedError(RegistryError):
    """It was retired; its identifier is not given out again."""

    def __init__(self, what: str, text: str) -> None:
        super().__init__(f"the {what} {text[:320]!r} has been retired")
        self.what = what
        self.text = text


class ForbiddenError(RegistryError):
    """`reason` is for who asks; it names roles and owners of what they can see anyway."""

    def __init__(self, action: Action, *, reason: str | None = None) -> None:
        roles = " or ".join(sorted(needed_roles(action)))
        super().__init__(reason or f"this key may not do that: it takes the role {roles}")
        self.action = action
        self.reason = reason
        """Whose the thing is; None where a role is missing."""


class IncompatibleError(RegistryError):
    """`witness_text` is a document that the one revision allows and the other refuses; the validator has seen it."""

    def __init__(self, message: str, *, level: str, against: int, question: str, witness_text: str) -> None:
        super().__init__(message)
        self.level = level
        self.against = against
        """The number of the earlier revision."""
        self.question = question
        """`consumer_safe` or `producer_safe`."""
        self.witness_text = witness_text


class UndecidedError(RegistryError):
    """Neither a proof nor a witness was found within the budget."""

    def __init__(self, message: str, *, level: str, against: int, question: str) -> None:
        super().__init__(message)
        self.level = level
        self.against = against
        self.question = question


class PreconditionFailedError(RegistryError):
    """`observed` is the present version."""

    def __init__(self, *, expected: int | None, observed: int | None) -> None:
        now = "it does not exist" if observed is None else f"its version is {observed}"
        super().__init__(f"it has changed since it was read: {now}")
        self.expected = expected
        self.observed = observed


class StateError(RegistryError):
    """`code` is a stable name: `draft_revision`, `sunset_revision`, `backwards_state`, `still_referenced`, …"""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class SignatureRequiredError(RegistryError):
    """No live signature is on the revision."""


class InvalidSignatureError(RegistryError):
    """Nothing was stored."""


class SecondPersonError(RegistryError):
    """Two-person promotion: the approver is somebody else than author and proposer."""


class StaleRevisionError(RegistryError):
    """Served as an error rather than under a digest it no longer has."""


class StoreUnavailableError(RegistryError):
    """The database does not answer."""

    def __init__(self) -> None:
        super().__init__("the registry's database does not answer; ask again")
