"""What the service and its judging processes say to each other: our own bytes, both ways."""

import json
import struct
from dataclasses import dataclass

from gateway.validation.verdict import Invalid, Unjudged, UnjudgedReason, Valid, Verdict
from registry.contract import ContractKind

_LENGTHS = struct.Struct(">IIII")
_NOT_SENT = 0xFFFF_FFFF
"""In place of the text's length; no message is so long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeJob:
    """One document under one contract. The digest names the contract in the process's cache.

    `canonical_text` None relies on that cache; the answer is `ContractNeeded` where it fails.
    """

    contract_digest: str
    kind: ContractKind
    canonical_text: str | None
    document: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractNeeded:
    """The process does not know the contract's text; send it."""


def pack_job(job: JudgeJob) -> bytes:
    """Four lengths (big endian, 32 bits), then the four parts."""
    text = b"" if job.canonical_text is None else job.canonical_text.encode()
    num_text = _NOT_SENT if job.canonical_text is None else len(text)
    digest, kind = job.contract_digest.encode(), job.kind.value.encode()
    head = _LENGTHS.pack(len(digest), len(kind), num_text, len(job.document))
    return b"".join((head, digest, kind, text, job.document))


def unpack_job(payload: bytes) -> JudgeJob:
    """The other half of `pack_job`."""
    parts: list[bytes] = []
    at = _LENGTHS.size
    lengths = _LENGTHS.unpack_from(payload)
    for length in lengths:
        size = 0 if length == _NOT_SENT else length
        parts.append(payload[at : at + size])
        at += size
    assert at == len(payload)
    digest, kind, text, document = parts
    return JudgeJob(
        contract_digest=digest.decode(),
        kind=ContractKind(kind.decode()),
        canonical_text=None if lengths[2] == _NOT_SENT else text.decode(),
        document=document,
    )


_VALID = b'{"verdict": "valid"}'
_NEEDED = b'{"verdict": "contract_needed"}'


def pack_verdict(verdict: Verdict | ContractNeeded) -> bytes:
    """A verdict as JSON."""
    match verdict:
        case Valid():
            return _VALID
        case ContractNeeded():
            return _NEEDED
        case Invalid() | Unjudged():
            return json.dumps(_members(verdict)).encode()


def _members(verdict: Invalid | Unjudged) -> dict[str, str]:
    match verdict:
        case Invalid(pointer=pointer, keyword=keyword, message=message):
            return {"verdict": "invalid", "pointer": pointer, "keyword": keyword, "message": message}
        case Unjudged(reason=reason, message=message):
            return {"verdict": "unjudged", "reason": reason.value, "message": message}


def unpack_verdict(payload: bytes) -> Verdict | ContractNeeded:
    """The other half of `pack_verdict`."""
    if payload == _VALID:
        return Valid()
    if payload == _NEEDED:
        return ContractNeeded()
    members = json.loads(payload)  # noqa: TID251 - our own process wrote it
    match members["verdict"]:
        case "invalid":
            return Invalid(pointer=members["pointer"], keyword=members["keyword"], message=members["message"])
        case _:
            return Unjudged(reason=UnjudgedReason(members["reason"]), message=members["message"])
