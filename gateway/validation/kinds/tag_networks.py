"""The network of a structural tag, format by format.

What ends free text is known where a tag encloses it, or a trigger does; elsewhere any end will do that the rest of the
text agrees with.
"""

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

ROOT = "root"


def tag_networks(tree: JsonValue) -> Networks:
    """The networks of a canonical `format` tree. Raises `UnjudgeableContractError`."""
    networks = Networks()
    start, end = networks.rule(ROOT)
    _Building(networks).format(tree, start, end, ())
    return networks


class _Building:
    def __init__(self, networks: Networks) -> None:
        self._networks = networks

    def format(self, value: JsonValue, source: int, target: int, ends: tuple[str, ...]) -> None:
        """Add a format; `ends` are the texts of which one comes right after it, if that is known."""
        members = _members(value)
        match members.get("type"):
            case "const_string":
                self._scan(Fixed(text=str(members["value"])), source, target)
            case "regex":
                self._scan(Pattern(full_match_tree(f"^(?:{members['pattern']})$")), source, target)
            case "json_schema":
                self._scan(_json(members["json_schema"]), source, target)
            case "any_text":
                self._any_text(members, source, target, ends)
            case "sequence":
                self._sequence(_list(members["elements"]), source, target, ends)
            case "or":
                for element in _list(members["elements"]):
                    self.format(element, source, target, ends)
            case "repeat":
                self._repeat(members, source, target)
            case "tag":
                inside = self._networks.state()
                self._scan(Fixed(text=str(members["begin"])), source, inside)
                self._inside(members, inside, target)
            case "triggered_tags":
                self._triggered(members, source, target, ends)
            case kind:
                raise UnjudgeableContractError(f"the format {kind!r} is not judged")

    def _scan(self, terminal: Terminal, source: int, target: int) -> None:
        self._networks.step(source, Scan(terminal=terminal, target=target))

    def _inside(self, tag: dict[str, JsonValue], source: int, target: int) -> None:
        """Content and end."""
        end = tag["end"]
        ends = tuple(map(str, end)) if isinstance(end, list) else (str(end),)
        closing = self._networks.state()
        self.format(tag["content"], source, closing, () if "" in ends else ends)
        self._scan(InAny(parts=tuple(Fixed(text=text) for text in ends)), closing, target)

    def _sequence(self, elements: list[JsonValue], source: int, target: int, ends: tuple[str, ...]) -> None:
        at = source
        for number, element in enumerate(elements):
            after = self._networks.state()
            self.format(element, at, after, ends if number == len(elements) - 1 else ())
            at = after
        self._networks.free(at, target)

    def _repeat(self, repeat: dict[str, JsonValue], source: int, target: int) -> None:
        least, most = repeat["min"], repeat["max"]
        assert isinstance(least, int)
        assert isinstance(most, int)

        def once(at: int, after: int) -> None:
            self.format(repeat["content"], at, after, ())

        self._networks.times(source, target, least, None if most < 0 else most, once)

    def _any_text(self, members: dict[str, JsonValue], source: int, target: int, ends: tuple[str, ...]) -> None:
        most = members.get("max_chars")
        assert most is None or isinstance(most, int)
        excluded = _texts(members.get("excludes"))
        for before in ends or (None,):
            text = FreeText(marks=ends, before=before, excluded=excluded, max_characters=most)
            self._scan(text, source, target)

    def _triggered(self, members: dict[str, JsonValue], source: int, target: int, ends: tuple[str, ...]) -> None:
        triggers = _texts(members["triggers"])
        excluded = _texts(members.get("excludes"))
        is_last = members.get("stop_after_first") is True
        loop, after = self._networks.state(), self._networks.state()
        for tag in map(_members, _list(members["tags"])):
            begin = str(tag["begin"])
            trigger = next(trigger for trigger in triggers if begin.startswith(trigger))
            inside, at_begin = self._networks.state(), self._networks.state()
            text = FreeText(marks=(*triggers, *ends), before=trigger, excluded=excluded)
            self._scan(text, loop, at_begin)
            self._scan(Fixed(text=begin), at_begin, inside)
            if members.get("at_least_one") is True:
                self._scan(Fixed(text=begin), source, inside)
            self._inside(tag, inside, after)
        for before in ends or (None,):
            self._scan(FreeText(marks=(*triggers, *ends), before=before, excluded=excluded), loop, target)
        self._networks.free(after, target if is_last else loop)
        if members.get("at_least_one") is not True:
            self._networks.free(source, loop)


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
