"""The network of a structural tag, format by format.

Free text ends at the first of the fixed texts that can follow it. Where something follows that begins in no fixed way,
any end will do that the rest of the text agrees with; the compiler refuses such contracts.
"""

from dataclasses import dataclass
from typing import Final

from gateway.validation.errors import UnjudgeableContractError
from gateway.validation.judge import Judge
from gateway.validation.kinds.free_texts import FreeText
from gateway.validation.kinds.json_texts import Json
from gateway.validation.kinds.networks import Networks, Scan
from gateway.validation.kinds.reading import Terminal
from gateway.validation.kinds.terminals import Fixed, InAny, Pattern
from gateway.validation.verdict import Unjudged
from registry.contract import JsonValue
from registry.full_match import full_match_tree
from registry.text import canonical_json

ROOT: Final = "root"


@dataclass(frozen=True, slots=True, kw_only=True)
class After:
    """What can follow: one of some fixed texts, or, if `is_open`, also something else or nothing."""

    marks: tuple[str, ...]
    is_open: bool

    def or_else(self, other: "After") -> "After":
        """Either of the two."""
        return After(marks=tuple(dict.fromkeys((*self.marks, *other.marks))), is_open=self.is_open or other.is_open)


_ANYTHING: Final = After(marks=(), is_open=True)
_UNKNOWN: Final = None
"""Something follows whose beginning is not fixed."""


def tag_networks(tree: JsonValue) -> Networks:
    """The networks of a canonical `format` tree. Raises `UnjudgeableContractError`."""
    networks = Networks()
    start, end = networks.rule(ROOT)
    _Building(networks).format(tree, start, end, _ANYTHING)
    return networks


class _Building:
    def __init__(self, networks: Networks) -> None:
        self._networks = networks

    def format(self, value: JsonValue, source: int, target: int, after: After | None) -> None:
        """Add a format, and say what comes after it."""
        members = _members(value)
        match members.get("type"):
            case "const_string":
                self._scan(Fixed(text=str(members["value"])), source, target)
            case "regex":
                self._scan(Pattern(full_match_tree(f"^(?:{members['pattern']})$")), source, target)
            case "json_schema":
                self._scan(_json(members["json_schema"]), source, target)
            case "any_text":
                self._any_text(members, source, target, after)
            case "sequence":
                self._sequence(_list(members["elements"]), source, target, after)
            case "or":
                for element in _list(members["elements"]):
                    self.format(element, source, target, after)
            case "repeat":
                self._repeat(members, source, target)
            case "tag":
                inside = self._networks.state()
                self._scan(Fixed(text=str(members["begin"])), source, inside)
                self._inside(members, inside, target, after)
            case "triggered_tags":
                self._triggered(members, source, target, after)
            case kind:
                raise UnjudgeableContractError(f"the format {kind!r} is not judged")

    def _scan(self, terminal: Terminal, source: int, target: int) -> None:
        self._networks.step(source, Scan(terminal=terminal, target=target))

    def _inside(self, tag: dict[str, JsonValue], source: int, target: int, after: After | None) -> None:
        """Content and end."""
        ends = _ends(tag)
        closing = self._networks.state()
        self.format(tag["content"], source, closing, _any_beginning([_fixed(end, after) for end in ends]))
        self._scan(InAny(parts=tuple(Fixed(text=text) for text in ends)), closing, target)

    def _sequence(self, elements: list[JsonValue], source: int, target: int, after: After | None) -> None:
        states = [source, *(self._networks.state() for _ in elements)]
        for number in reversed(range(len(elements))):
            self.format(elements[number], states[number], states[number + 1], after)
            after = _beginning(elements[number], after)
        self._networks.free(states[-1], target)

    def _repeat(self, repeat: dict[str, JsonValue], source: int, target: int) -> None:
        least, most = repeat["min"], repeat["max"]
        assert isinstance(least, int)
        assert isinstance(most, int)

        def once(at: int, after: int) -> None:
            self.format(repeat["content"], at, after, _UNKNOWN)

        self._networks.times(source, target, least, None if most < 0 else most, once)

    def _any_text(self, members: dict[str, JsonValue], source: int, target: int, after: After | None) -> None:
        most = members.get("max_chars")
        assert most is None or isinstance(most, int)
        excluded = _texts(members.get("excludes"))
        for text in _free_texts((), after, excluded, most):
            self._scan(text, source, target)

    def _triggered(self, members: dict[str, JsonValue], source: int, target: int, after: After | None) -> None:
        triggers = _texts(members["triggers"])
        excluded = _texts(members.get("excludes"))
        is_last = members.get("stop_after_first") is True
        loop, closed = self._networks.state(), self._networks.state()
        marks = triggers if after is None else tuple(dict.fromkeys((*triggers, *after.marks)))
        after_tags = after if is_last else _UNKNOWN
        for tag in map(_members, _list(members["tags"])):
            begin = str(tag["begin"])
            trigger = next(trigger for trigger in triggers if begin.startswith(trigger))
            inside, at_begin = self._networks.state(), self._networks.state()
            text = FreeText(marks=marks, before=trigger, excluded=excluded)
            self._scan(text, loop, at_begin)
            self._scan(Fixed(text=begin), at_begin, inside)
            if members.get("at_least_one") is True:
                self._scan(Fixed(text=begin), source, inside)
            self._inside(tag, inside, closed, after_tags)
        for text in _free_texts(triggers, after, excluded, None):
            self._scan(text, loop, target)
        self._networks.free(closed, target if is_last else loop)
        if members.get("at_least_one") is not True:
            self._networks.free(source, loop)


def _free_texts(
    triggers: tuple[str, ...], after: After | None, excluded: tuple[str, ...], most: int | None
) -> list[FreeText]:
    """Free text as it ends before each thing that can follow, other than a trigger."""
    if after is None:
        return [FreeText(marks=triggers, excluded=excluded, max_characters=most)]
    marks = tuple(dict.fromkeys((*triggers, *after.marks)))
    befores: list[str | None] = [*after.marks, *([None] if after.is_open else [])]
    return [FreeText(marks=marks, before=each, excluded=excluded, max_characters=most) for each in befores]


def _beginning(value: JsonValue, after: After | None) -> After | None:
    """How a format begins, and what comes after it where it may be empty."""
    members = _members(value)
    match members.get("type"):
        case "const_string":
            return _fixed(str(members["value"]), after)
        case "tag" if members["begin"]:
            return _fixed(str(members["begin"]), None)
        case "tag":
            inside = _any_beginning([_fixed(end, after) for end in _ends(members)])
            return _beginning(members["content"], inside)
        case "or":
            return _any_beginning([_beginning(element, after) for element in _list(members["elements"])])
        case "sequence":
            for element in reversed(_list(members["elements"])):
                after = _beginning(element, after)
            return after
        case "repeat":
            once = _beginning(members["content"], None)
            return once if members["min"] != 0 else _any_beginning([once, after])
        case "triggered_tags" if members.get("at_least_one") is True:
            begins = [str(tag["begin"]) for tag in map(_members, _list(members["tags"]))]
            return _any_beginning([_fixed(begin, None) for begin in begins])
        case _:
            return _UNKNOWN


def _ends(tag: dict[str, JsonValue]) -> tuple[str, ...]:
    end = tag["end"]
    return tuple(map(str, end)) if isinstance(end, list) else (str(end),)


def _fixed(text: str, after: After | None) -> After | None:
    return After(marks=(text,), is_open=False) if text else after


def _any_beginning(beginnings: list[After | None]) -> After | None:
    found = After(marks=(), is_open=False)
    for each in beginnings:
        if each is None:
            return _UNKNOWN
        found = found.or_else(each)
    return found


def _json(schema: JsonValue) -> Terminal:
    judge = Judge.prepare(canonical_json(schema))
    if isinstance(judge, Unjudged):
        raise UnjudgeableContractError(judge.message)
    return Json(judge)


def _members(value: JsonValue) -> dict[str, JsonValue]:
    if not isinstance(value, dict):
        raise UnjudgeableContractError("a format is an object")
    return value


def _list(value: JsonValue) -> list[JsonValue]:
    if not isinstance(value, list):
        raise UnjudgeableContractError("a list is missing")
    return value


def _texts(value: JsonValue) -> tuple[str, ...]:
    return tuple(map(str, _list(value))) if value is not None else ()
