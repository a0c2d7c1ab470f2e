"""From a gateway's error answer to the end of a command: which status, and lines that say what, where and why."""

from collections.abc import Iterator, Mapping
from typing import Final

from cli.remote.exits import CommandError, Exit
from policy.rejection import RejectionCode
from registry.contract import JsonValue
from registry.errors import ContractRejectedError
from registry.parsing import parse_json

_MAX_BYTES: Final = 16 * 1024 * 1024
_MAX_NESTING: Final = 64

_CONTRACT_FAULTS: Final = frozenset(str(code) for code in RejectionCode) | {
    "unsupported_kind",
    "compile_timed_out",
    "invalid_signature",
}
"""400s that are an answer about the contract, not about how it was asked."""


def refusal(status: int, data: bytes, headers: Mapping[str, str]) -> CommandError:
    """The end that an answer other than 2xx means."""
    error = _error(data)
    if error is None:
        where = f" to {headers['location'][:200]}" if "location" in headers else ""
        message = f"the gateway answered {status}{where}: is there a Schemagate gateway at that address?"
        return CommandError(message, exit_code=Exit.TRY_AGAIN, code="unexpected_answer")
    code, message = _text(error, "code"), _text(error, "message")
    details = "".join(f"\n  {line}" for line in _details(error))
    shown = f"{code}: {message}{details}" if code else f"{status}: {message}{details}"
    return CommandError(shown, exit_code=_exit(status, code), code=code, members=error)


def _exit(status: int, code: str) -> Exit:
    match status:
        case 401 | 403:
            return Exit.FORBIDDEN
        case 404 if code.endswith("_not_found"):
            return Exit.NOT_FOUND
        case 410 if code.endswith("_gone"):
            return Exit.NOT_FOUND
        case 400:
            return Exit.NO if code in _CONTRACT_FAULTS else Exit.USAGE
        case 409 if code == "undecided":
            return Exit.UNDECIDED
        case 409 if code == "idempotency_in_progress":
            return Exit.TRY_AGAIN
        case 409 | 410 | 412 | 413 | 422:
            return Exit.NO
        case _:
            return Exit.TRY_AGAIN


def _details(error: Mapping[str, JsonValue]) -> Iterator[str]:
    several = error.get("errors")
    if isinstance(several, list):
        # The first of them is the answer itself.
        yield from (_place(error),) if _place(error) else ()
        for each in several[1:]:
            if isinstance(each, dict):
                yield f"{_text(each, 'code')}: {_text(each, 'message')}{_behind(_place(each))}"
    elif _place(error):
        yield _place(error)
    witness = error.get("witness")
    if isinstance(witness, str):
        yield f"document: {witness}"


def _behind(place: str) -> str:
    return f" ({place})" if place else ""


def _place(error: Mapping[str, JsonValue]) -> str:
    parts: list[str] = []
    pointer = error.get("pointer")
    if isinstance(pointer, str):
        parts.append(f"at {pointer}" if pointer else "at the root")
    elif isinstance(error.get("param"), str):
        parts.append(f"in {_text(error, 'param')}")
    if isinstance(error.get("limit_name"), str):
        parts.append(f"{_text(error, 'limit_name')} is {error.get('limit')}, the contract has {error.get('observed')}")
    return ", ".join(parts)


def _error(data: bytes) -> Mapping[str, JsonValue] | None:
    try:
        value = parse_json(data, max_bytes=_MAX_BYTES, max_nesting=_MAX_NESTING)
    except ContractRejectedError:
        return None
    error = value.get("error") if isinstance(value, dict) else None
    return error if isinstance(error, dict) else None


def _text(members: Mapping[str, JsonValue], name: str) -> str:
    found = members.get(name)
    return found if isinstance(found, str) else ""
