"""What the service and its judging processes say to each other: our own bytes, both ways."""

import json
import struct
from dataclasses import dataclass

from gateway.validation.verdict import Invalid, Unjudged, UnjudgedReason, Valid, Verdict

_LENGTHS = struct.Struct(">III")


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeJob:
    """One document under one contract. The digest names the contract in the process's cache."""

    contract_digest: str
    schema_text: str
    document: bytes


def pack_job(job: JudgeJob) -> bytes:
    """Three lengths (big endian, 32 bits), then the three parts."""
    parts = job.contract_digest.encode(), job.schema_text.encode(), job.document
    return _LENGTHS.pack(*map(len, parts)) + b"".join(parts)


def unpack_job(payload: bytes) -> JudgeJob:
    """The other half of `pack_job`."""
    digest_end, schema_length, document_length = _LENGTHS.unpack_from(payload)
    digest_end += _LENGTHS.size
    schema_end = digest_end + schema_length
    assert len(payload) == schema_end + document_length
    return JudgeJob(
        contract_digest=payload[_LENGTHS.size : digest_end].decode(),
        schema_text=payload[digest_end:schema_end].decode(),
        document=payload[schema_end:],
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
