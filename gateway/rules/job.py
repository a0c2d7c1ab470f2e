"""What the gateway and the rules' processes say to each other: our own JSON, and finished texts byte for byte."""

import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, assert_never

from gateway.rules.finished import Finished, FinishedCall, FinishedObject
from gateway.rules.rule_set import Target
from gateway.rules.verdict import Failed, NotApplicable, Passed, RuleFault, Undecided
from registry.contract import JsonValue

_LENGTH = struct.Struct(">I")

CelVerdict = Passed | Failed | Undecided | NotApplicable
"""What a process says of one rule; a `Failed` has no message, which is the rule's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationJob:
    """Expressions, each with what it looks at, over the parts of one answer."""

    expressions: tuple[tuple[Target, str], ...]
    finished: tuple[Finished, ...]
    circumstances: dict[str, JsonValue]
    """Variables that all expressions have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckJob:
    """Expressions that are to be compiled, and not evaluated."""

    expressions: tuple[tuple[Target, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """An expression that does not compile, and where; lines and columns count from 1, 0 is the whole of it."""

    message: str
    line: int
    column: int


def pack_job(job: EvaluationJob | CheckJob) -> bytes:
    """A length, a head of JSON, then the finished texts."""
    texts: list[bytes] = []
    head: dict[str, Any] = {"expressions": [[target.value, text] for target, text in job.expressions]}
    if isinstance(job, EvaluationJob):
        texts = [part.text.encode() for part in job.finished]
        head["circumstances"] = job.circumstances
        head["finished"] = [
            [part.name if isinstance(part, FinishedCall) else None, part.is_json, len(text)]
            for part, text in zip(job.finished, texts, strict=True)
        ]
    packed = json.dumps(head).encode()
    return _LENGTH.pack(len(packed)) + packed + b"".join(texts)


def unpack_job(payload: bytes) -> EvaluationJob | CheckJob:
    """The other half of `pack_job`."""
    (length,) = _LENGTH.unpack_from(payload)
    at = _LENGTH.size + length
    head = json.loads(payload[_LENGTH.size : at])  # noqa: TID251 - our own process wrote it
    expressions = tuple((Target(target), text) for target, text in head["expressions"])
    if "finished" not in head:
        return CheckJob(expressions=expressions)
    finished: list[Finished] = []
    for name, is_json, size in head["finished"]:
        text = payload[at : at + size].decode()
        at += size
        whole = name is None
        finished.append(
            FinishedObject(text=text, is_json=is_json) if whole else FinishedCall(name=name, text=text, is_json=is_json)
        )
    assert at == len(payload)
    return EvaluationJob(expressions=expressions, finished=tuple(finished), circumstances=head["circumstances"])


def pack_refusals(refusals: Sequence[Refusal | None]) -> bytes:
    """One for each expression; None where it compiles."""
    members = [None if one is None else [one.message, one.line, one.column] for one in refusals]
    return json.dumps(members).encode()


def unpack_refusals(payload: bytes) -> tuple[Refusal | None, ...]:
    """The other half of `pack_refusals`."""
    members = json.loads(payload)  # noqa: TID251 - our own process wrote it
    return tuple(None if one is None else Refusal(message=one[0], line=one[1], column=one[2]) for one in members)


def pack_verdicts(verdicts: Sequence[CelVerdict]) -> bytes:
    """One for each expression."""
    return json.dumps([_spelled(verdict) for verdict in verdicts]).encode()


def unpack_verdicts(payload: bytes) -> tuple[CelVerdict, ...]:
    """The other half of `pack_verdicts`."""
    return tuple(map(_read, json.loads(payload)))  # noqa: TID251 - our own process wrote it


def _spelled(verdict: CelVerdict) -> str:
    match verdict:
        case Passed():
            return "passed"
        case Failed():
            return "failed"
        case NotApplicable():
            return "not_applicable"
        case Undecided(fault=fault):
            return fault.value
        case _:
            assert_never(verdict)


def _read(spelled: str) -> CelVerdict:
    match spelled:
        case "passed":
            return Passed()
        case "failed":
            return Failed(message="")
        case "not_applicable":
            return NotApplicable()
        case _:
            return Undecided(fault=RuleFault(spelled))
