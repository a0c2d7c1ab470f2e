"""What a parent and its worker say to each other, and how a job can end.

A message is one byte of kind, four bytes of length (big endian), then that many bytes. The first message to a worker
is its configuration, every later one a job; a worker answers `READY` once, then one message a job.
"""

import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import NewType, TypeAlias

from policy.limits import ProcessBudget

JsonLike: TypeAlias = "bool | int | float | str | list[JsonLike] | dict[str, JsonLike] | None"
"""A worker's configuration: our own values, written and read by the plain JSON library."""

KEEPS_THREAD = "keeps_thread"
"""A member of a worker's configuration for the worker itself: true lets quick jobs follow each other in one thread."""

Partition = NewType("Partition", str)
"""Whose job it is, for fairness between waiters only."""

MAX_MESSAGE_BYTES = 64 * 1024 * 1024
"""Either direction. Above it a job is refused, or its worker is replaced."""

HEADER = struct.Struct(">BI")
_JOB = struct.Struct(">ddQQ")
_ANSWER = struct.Struct(">d")


class Kind(IntEnum):
    """Kinds of message; the first three go to the parent."""

    READY = 1
    ANSWER = 2
    FAULT = 3
    CONFIG = 4
    JOB = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFinished:
    """The worker answered and is free again. CPU time is the process's own, all threads."""

    payload: bytes
    cpu_seconds: float
    wall_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class JobTimedOut:
    """The worker was killed on a time limit: `cpu_seconds` or `wall_seconds`."""

    limit_name: str
    limit_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class JobCrashed:
    """The worker died or was put down: `memory`, `signal SIGSEGV`, `exit 1`, or the name of an exception's type."""

    reason: str


JobOutcome = JobFinished | JobTimedOut | JobCrashed


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueFull:
    """No worker came free in time, too many were already waiting, or the deadline cut the job: no verdict on it.

    `spent_seconds` is the wall time for which a worker had the job, 0 where nothing was started.
    """

    num_queued: int
    retry_after_seconds: float
    spent_seconds: float = 0.0


class MessageTooLargeError(Exception):
    """More than `MAX_MESSAGE_BYTES` in one message."""


def pack_message(kind: Kind, payload: bytes) -> bytes:
    """One message. Raises MessageTooLargeError."""
    if len(payload) > MAX_MESSAGE_BYTES:
        raise MessageTooLargeError
    return HEADER.pack(kind, len(payload)) + payload


def pack_job(payload: bytes, budget: ProcessBudget) -> bytes:
    """A job with what it may cost, in the order that `unpack_job` reads."""
    head = _JOB.pack(budget.cpu_seconds, budget.wall_seconds, budget.address_space_bytes, budget.stack_bytes)
    return pack_message(Kind.JOB, head + payload)


def unpack_job(message: bytes) -> tuple[bytes, ProcessBudget]:
    """The other half of `pack_job`."""
    cpu_seconds, wall_seconds, address_space_bytes, stack_bytes = _JOB.unpack_from(message)
    budget = ProcessBudget(
        cpu_seconds=cpu_seconds,
        wall_seconds=wall_seconds,
        address_space_bytes=address_space_bytes,
        stack_bytes=stack_bytes,
    )
    return message[_JOB.size :], budget


def pack_answer(payload: bytes, *, cpu_seconds: float) -> bytes:
    """A finished job's answer. Raises MessageTooLargeError."""
    return pack_message(Kind.ANSWER, _ANSWER.pack(cpu_seconds) + payload)


def unpack_answer(message: bytes) -> tuple[bytes, float]:
    """Payload and CPU seconds."""
    (cpu_seconds,) = _ANSWER.unpack_from(message)
    return message[_ANSWER.size :], cpu_seconds
