"""Verdicts in plain words, for tables and reviews."""

from collections.abc import Mapping
from typing import Final

from cli.remote.members import Members
from registry.compatibility.modes import mode_named, plain_words

_VERDICTS: Final[Mapping[str, str]] = {"safe": "yes", "unsafe": "no", "unknown": "undecided"}
STYLES: Final[Mapping[str, str]] = {"safe": "green", "unsafe": "red", "unknown": "yellow"}
QUESTIONS: Final = ("consumer_safe", "producer_safe")

_MEANING: Final[Mapping[tuple[str, str], str]] = {
    ("consumer_safe", "safe"): "Whoever reads by the old contract can read all that is made under the new one.",
    ("consumer_safe", "unsafe"): "Whoever reads by the old contract will meet documents that it forbids, such as",
    ("consumer_safe", "unknown"): "Whether readers by the old contract keep working is neither proved nor disproved.",
    ("producer_safe", "safe"): "Whatever was made under the old contract is valid under the new one.",
    ("producer_safe", "unsafe"): "What was made under the old contract may be invalid under the new one, such as",
    ("producer_safe", "unknown"): "Whether what was made before stays valid is neither proved nor disproved.",
}


def question(name: str) -> str:
    """`consumer-safe`, `producer-safe`."""
    return name.replace("_", "-")


def verdict_word(verdict: Members) -> str:
    """yes, no, or undecided."""
    found = verdict.text("verdict")
    return _VERDICTS.get(found, found)


def verdict_lines(name: str, verdict: Members) -> list[str]:
    """The verdict, what it means for whom, and what it stands on."""
    found = verdict.text("verdict")
    lines = [f"{question(name)}: {verdict_word(verdict)}", f"  {_MEANING.get((name, found), '')}"]
    if found == "unsafe":
        lines.append(f"    {verdict.text('witness')}")
        lines.append(f"  {verdict.text('message')}")
    elif found == "unknown":
        lines.append(f"  {verdict.text('message')}. It counts as no until it is decided.")
    else:
        lines.extend(f"  proved: {reason}" for reason in verdict.texts("proof")[:3])
    return lines


def level_words(level: str | None) -> str:
    """A level in plain words, and Confluent's name of it."""
    mode = None if level is None else mode_named(level)
    return level or "not set" if mode is None else f"{plain_words(mode)} ({mode.value})"


def comparison_words(compatibility: Members | None) -> tuple[str, str, str]:
    """Against which revision, and both verdicts, of the newest comparison; dashes where there is none."""
    comparisons = () if compatibility is None else compatibility.each("comparisons")
    if not comparisons:
        return "-", "-", "-"
    newest = comparisons[0]
    consumer, producer = (verdict_word(newest.member(name)) for name in QUESTIONS)
    return str(newest.number("against")), consumer, producer
