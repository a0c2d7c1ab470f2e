"""What the service and its comparing processes say to each other: our own JSON, both ways."""

import json
import struct

from registry.compatibility.changes import Change, ChangeKind, Effect, Example, NoExample
from registry.compatibility.comparison import Comparison, ContractText
from registry.compatibility.verdicts import Answer, Safe, Unknown, UnknownReason, Unsafe
from registry.contract import JsonValue
from registry.parsing import parse_json
from registry.text import canonical_json

_LENGTHS = struct.Struct(">IIII")

MAX_ANSWER_BYTES = 64 * 1024 * 1024
MAX_ANSWER_NESTING = 1024
"""A witness is as nested as its contracts' documents, and the answer is around it."""


def pack_job(old: ContractText, new: ContractText) -> bytes:
    """Four lengths (big endian, 32 bits), then kind and text of the old contract and of the new one."""
    parts = [part.encode() for part in (old.kind, old.text, new.kind, new.text)]
    return _LENGTHS.pack(*map(len, parts)) + b"".join(parts)


def unpack_job(payload: bytes) -> tuple[ContractText, ContractText]:
    """The other half of `pack_job`."""
    parts: list[str] = []
    start = _LENGTHS.size
    for length in _LENGTHS.unpack_from(payload):
        parts.append(payload[start : start + length].decode())
        start += length
    assert start == len(payload)
    return ContractText(kind=parts[0], text=parts[1]), ContractText(kind=parts[2], text=parts[3])


def pack_comparison(comparison: Comparison) -> bytes:
    """A comparison as JSON; documents are texts in it, because their numbers are exact."""
    members = {
        "consumer_safe": _answer_members(comparison.consumer_safe),
        "producer_safe": _answer_members(comparison.producer_safe),
        "changes": [_change_members(change) for change in comparison.changes],
        "changes_left_out": comparison.changes_left_out,
    }
    return json.dumps(members).encode()


def unpack_comparison(payload: bytes) -> Comparison:
    """The other half of `pack_comparison`."""
    members = json.loads(payload)  # noqa: TID251 - our own process wrote it
    return Comparison(
        consumer_safe=_answer(members["consumer_safe"]),
        producer_safe=_answer(members["producer_safe"]),
        changes=tuple(map(_change, members["changes"])),
        changes_left_out=members["changes_left_out"],
    )


def _answer_members(answer: Answer) -> dict[str, str | list[str]]:
    match answer:
        case Safe(proof=proof):
            return {"answer": "safe", "proof": [*proof]}
        case Unsafe():
            return {
                "answer": "unsafe",
                "witness": canonical_json(answer.witness),
                "witness_text": answer.witness_text,
                "old_pointer": answer.old_pointer,
                "new_pointer": answer.new_pointer,
                "message": answer.message,
            }
        case Unknown(reason=reason, message=message):
            return {"answer": "unknown", "reason": reason.value, "message": message}


def _answer(members: dict[str, str]) -> Answer:
    match members["answer"]:
        case "safe":
            return Safe(proof=tuple(members["proof"]))
        case "unsafe":
            return Unsafe(
                witness=_document(members["witness"]),
                witness_text=members["witness_text"],
                old_pointer=members["old_pointer"],
                new_pointer=members["new_pointer"],
                message=members["message"],
            )
        case _:
            return Unknown(reason=UnknownReason(members["reason"]), message=members["message"])


def _change_members(change: Change) -> dict[str, str | bool]:
    members: dict[str, str | bool] = {
        "kind": change.kind.value,
        "old_pointer": change.old_pointer,
        "new_pointer": change.new_pointer,
        "effect": change.effect.value,
        "message": change.message,
    }
    if isinstance(change.example, Example):
        members["document"] = canonical_json(change.example.document)
        members["is_allowed"] = change.example.is_allowed
    return members


def _change(members: dict[str, str]) -> Change:
    example: Example | NoExample = NoExample()
    if "document" in members:
        example = Example(document=_document(members["document"]), is_allowed=bool(members["is_allowed"]))
    return Change(
        kind=ChangeKind(members["kind"]),
        old_pointer=members["old_pointer"],
        new_pointer=members["new_pointer"],
        effect=Effect(members["effect"]),
        message=members["message"],
        example=example,
    )


def _document(text: str) -> JsonValue:
    return parse_json(text, max_bytes=MAX_ANSWER_BYTES, max_nesting=MAX_ANSWER_NESTING)
