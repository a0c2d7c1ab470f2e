"""What a webhook may answer: `{"valid": true | false, "message"?: text}`, and nothing else."""

from typing import Final

from gateway.rules.rule_set import MAX_MESSAGE_CHARACTERS
from gateway.rules.verdict import Failed, Passed, RuleFault, Undecided
from registry.errors import ContractRejectedError
from registry.parsing import parse_json

MAX_ANSWER_BYTES: Final = 64 * 1024
_MAX_NESTING: Final = 8
_MEMBERS: Final = frozenset({"valid", "message"})


def read_answer(body: bytes) -> Passed | Failed | Undecided:
    """The verdict in a body. What is not exactly an answer is none: a yes is never read into anything."""
    bad = Undecided(fault=RuleFault.BAD_ANSWER)
    try:
        value = parse_json(body, max_bytes=MAX_ANSWER_BYTES, max_nesting=_MAX_NESTING)
    except ContractRejectedError:
        return bad
    if not isinstance(value, dict) or not value.keys() <= _MEMBERS:
        return bad
    valid, message = value.get("valid"), value.get("message", "")
    if not isinstance(valid, bool) or not isinstance(message, str):
        return bad
    return Passed() if valid else Failed(message=_shown(message))


def _shown(message: str) -> str:
    """For a caller's log: one line, bounded, without control characters."""
    plain = "".join(char if char.isprintable() else " " for char in message[:MAX_MESSAGE_CHARACTERS])
    return plain.strip()
