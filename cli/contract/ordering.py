"""The order in which revisions can be registered again: numbers of a contract ascend, and what is referred to is there.

Beyond that the older comes first. Times alone would not do: replicas have clocks of their own.
"""

from collections import deque
from collections.abc import Iterable
from datetime import UTC, datetime
from heapq import heappop, heappush

from cli.remote.exits import CommandError, Exit
from cli.remote.members import Members


def registrable_order(revisions: Iterable[Members]) -> list[Members]:
    """Answers with `contract` and `revision`, reordered. Raises `CommandError` where they refer in a circle."""
    waiting_in_line = _by_contract(revisions)
    left = {each.member("revision").text("id") for line in waiting_in_line.values() for each in line}
    held_up: dict[str, list[str]] = {}
    heads: list[tuple[datetime, str]] = []
    for name, line in waiting_in_line.items():
        heappush(heads, (_created_at(line[0]), name))
    ordered: list[Members] = []
    while heads:
        _, name = heappop(heads)
        line = waiting_in_line[name]
        revision = line[0].member("revision")
        missing = next((pin for pin in _pins(revision) if pin in left), None)
        if missing is not None:
            held_up.setdefault(missing, []).append(name)
            continue
        ordered.append(line.popleft())
        left.discard(revision.text("id"))
        for freed in (*held_up.pop(revision.text("id"), ()), *((name,) if line else ())):
            heappush(heads, (_created_at(waiting_in_line[freed][0]), freed))
    if left:
        message = "the gateway's answer cannot be read: revisions refer to each other in a circle"
        raise CommandError(message, exit_code=Exit.TRY_AGAIN, code="unexpected_answer")
    return ordered


def _by_contract(revisions: Iterable[Members]) -> dict[str, deque[Members]]:
    lines: dict[str, list[Members]] = {}
    for each in revisions:
        lines.setdefault(each.member("contract").text("name"), []).append(each)
    return {
        name: deque(sorted(line, key=lambda each: each.member("revision").number("number")))
        for name, line in lines.items()
    }


def _pins(revision: Members) -> list[str]:
    return [pin.text("revision_id") for pin in revision.each("dependencies")]


def _created_at(answer: Members) -> datetime:
    text = answer.member("revision").text("created_at")
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        message = f"the gateway's answer cannot be read: {text[:64]!r} is no moment"
        raise CommandError(message, exit_code=Exit.TRY_AGAIN, code="unexpected_answer") from error
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
