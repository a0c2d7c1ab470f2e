"""What the service and its judging processes say to each other: our own bytes, both ways."""

import json
import struct
from dataclasses import dataclass

from gateway.validation.verdict import Invalid, Unjudged, UnjudgedReason, Valid, Verdict
from registry.contract import ContractKind

_LENGTHS = struct.Struct(">IIII")


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeJob:
    """One document under one contract. The digest names the contract in the process's cache."""

    contract_digest: str
    kind: ContractKind
    canonical_text: str
    document: bytes


def pack_job(job: JudgeJob) -> bytes:
    """Four lengths (big endian, 32 bits), then the four parts."""
    parts = job.contract_digest.encode(), job.kind.value.encode(), job.canonical_text.encode(), job.document
    return _LENGTHS.pack(*map(len, parts)) + b"".join(parts)


def unpack_job(payload: bytes) -> JudgeJob:
    """The other half of `pack_job`."""
    parts: list[bytes] = []
    at = _LENGTHS.size
    for length in _LENGTHS.unpack_from(payload):
        parts.append(payload[at : at + length])
        at += length
    assert at == len(payload)
    digest, kind, text, document = parts
    return JudgeJob(
        contract_digest=digest.decode(),
        kind=ContractKind(kind.decode()),
        canonical_text=text.decode(),
        document=document,
    )


def pack_verdict(verdict: Verdict) -> bytes:
    """A verdict as JSON."""
    return json.dumps(_members(verdict)).encode()


def _members(verdict: Verdict) -> dict[str, str]:
    match verdict:
        case Valid():
            return {"verdict": "valid"}
        case Invalid(pointer=pointer, keyword=keyword, message=message):
            return {"verdict": "invalid", "pointer": pointer, "keyword": keyword, "message": message}
        case Unjudged(reason=reason, message=message):
            return {"verdict": "unjudged", "reason": reason.value, "message": message}


def unpack_verdict(payload: bytes) -> Verdict:
    """The other half of `pack_verdict`."""
    members = json.loads(payload)  # noqa: TID251 - our own process wrote it
    match members["verdict"]:
        case "valid":
            return Valid()
        case "invalid":
            return Invalid(pointer=members["pointer"], keyword=members["keyword"], message=members["message"])
        case _:
            return Unjudged(reason=UnjudgedReason(members["reason"]), message=members["message"])
