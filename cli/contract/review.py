"""A comparison as a review: one paragraph a change, an example document each, then both verdicts and for whom."""

from collections.abc import Mapping
from typing import Final

from cli.contract.wording import QUESTIONS, STYLES, verdict_lines
from cli.remote.members import Members
from cli.remote.printing import say

_EFFECTS: Final[Mapping[str, tuple[str, str]]] = {
    "widens": ("allows more", "green"),
    "narrows": ("forbids some of what was allowed", "red"),
    "both": ("allows new documents and forbids old ones", "yellow"),
    "neither": ("changes no document", "dim"),
    "unknown": ("effect not decided", "yellow"),
}


def print_review(comparison: Members, *, old: str, new: str) -> None:
    """The whole review on stdout."""
    changes, left_out = comparison.each("changes"), comparison.number("changes_left_out")
    count = len(changes) + left_out
    say(f"{old} → {new}: {count} change{'' if count == 1 else 's'}", style="bold")
    for place, change in enumerate(changes, start=1):
        say()
        _print_change(place, change)
    if left_out:
        say()
        say(f"… and {left_out} more")
    for name in QUESTIONS:
        verdict = comparison.member(name)
        say()
        head, *rest = verdict_lines(name, verdict)
        say(head, style=f"bold {STYLES.get(verdict.text('verdict'), '')}".strip())
        say("\n".join(rest))


def _print_change(place: int, change: Members) -> None:
    words, style = _EFFECTS.get(change.text("effect"), (change.text("effect"), ""))
    say(f"{place}. {_where(change)}: {words}", style=style)
    say(f"   {change.text('message')}")
    example = change.optional_member("example")
    if example is not None:
        mark, verb = ("+", "now allowed") if example.flag("is_allowed") else ("-", "now forbidden")
        say(f"   {mark} {verb}: {example.text('document')}", style="green" if mark == "+" else "red")


def _where(change: Members) -> str:
    old, new = change.text("old_pointer"), change.text("new_pointer")
    if old == new:
        return old or "the root"
    return f"{old or 'the root'} → {new or 'the root'}"
