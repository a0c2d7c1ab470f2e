"""Tags, and the triggers that lead from free text into them."""

from typing import Protocol

from policy.rejection import RejectionCode
from registry.contract import JsonValue
from registry.kinds.faults import refuse, shown
from registry.kinds.members import Members
from registry.kinds.parts import Parts
from registry.pointers import join


class Formats(Protocol):
    """What reads the formats that stand inside tags."""

    parts: Parts

    def read(self, value: JsonValue, *, source: str, canonical: str) -> JsonValue:
        """One format."""

    def literal(self, members: Members, name: str) -> str:
        """One fixed text."""

    def schema(self, value: JsonValue, *, source: str, canonical: str) -> JsonValue:
        """One JSON Schema."""


def read_tag(members: Members, formats: Formats, *, canonical: str) -> JsonValue:
    """A region between fixed texts; `end` may be a list, any of which ends it."""
    begin = _begin(members, formats)
    content = formats.read(members.value("content"), source=members.at("content"), canonical=join(canonical, "content"))
    return {"begin": begin, "content": content, "end": _end(members, formats), "type": "tag"}


def read_tags(members: Members, formats: Formats, *, canonical: str, legacy: bool) -> JsonValue:
    """Free text until a trigger, then one of the tags that begin with it; again and again, unless told otherwise."""
    triggers = _triggers(members, formats)
    name = "structures" if legacy else "tags"
    tags = members.items(name)
    formats.parts.check("max_grammar_alternatives", len(tags), "The number of tags", pointer=members.at(name))
    found: list[JsonValue] = []
    used: set[str] = set()
    for index, value in enumerate(tags):
        source, place = join(members.at(name), index), join(canonical, "tags", index)
        tag = Members(value, what="A tag", pointer=source)
        formats.parts.place(canonical=place, source=source)
        if legacy:
            found.append(_legacy_tag(tag, formats, canonical=place))
        else:
            _check_type(tag)
            found.append(read_tag(tag, formats, canonical=place))
        tag.close()
        used.add(_trigger_of(tag, triggers))
    for trigger in triggers:
        if trigger not in used:
            message = f"No tag begins with the trigger {shown(trigger)}: after it nothing could follow."
            refuse(RejectionCode.UNSATISFIABLE, message, pointer=members.at("triggers"), keyword="triggers")
    canonical_form: dict[str, JsonValue] = {"tags": found, "triggers": [*triggers], "type": "triggered_tags"}
    flags = ["at_least_one"] if legacy else ["at_least_one", "stop_after_first"]
    canonical_form.update({flag: True for flag in flags if members.flag(flag)})
    excludes = [] if legacy else members.texts("excludes")
    if excludes:
        canonical_form["excludes"] = [*excludes]
    return {name: canonical_form[name] for name in sorted(canonical_form)}


def _legacy_tag(tag: Members, formats: Formats, *, canonical: str) -> JsonValue:
    place = join(canonical, "content", "json_schema")
    formats.parts.place(canonical=join(canonical, "content"), source=tag.pointer)
    schema = formats.schema(tag.value("schema"), source=tag.at("schema"), canonical=place)
    content: JsonValue = {"json_schema": schema, "type": "json_schema"}
    return {"begin": _begin(tag, formats), "content": content, "end": _end(tag, formats), "type": "tag"}


def _check_type(tag: Members) -> None:
    # A tag that stands where only tags can stand may leave its type out.
    if tag.has("type") and tag.text("type") != "tag":
        message = f"Only tags can stand here, not {shown(tag.text('type'))}."
        refuse(RejectionCode.INVALID_SCHEMA, message, pointer=tag.at("type"), keyword="type")


def _begin(members: Members, formats: Formats) -> str:
    _refuse_token(members, "begin")
    return formats.literal(members, "begin")


def _end(members: Members, formats: Formats) -> JsonValue:
    _refuse_token(members, "end")
    if not isinstance(members.value("end"), list):
        return formats.literal(members, "end")
    ends = members.texts("end")
    if not ends:
        message = "`end` names no text that could end the tag."
        refuse(RejectionCode.UNSATISFIABLE, message, pointer=members.at("end"), keyword="end")
    for end in ends:
        length = len(end.encode())
        formats.parts.check(
            "max_literal_bytes", length, "The length of `end`", pointer=members.at("end"), keyword="end"
        )
    return ends[0] if len(ends) == 1 else [*ends]


def _refuse_token(members: Members, name: str) -> None:
    if isinstance(members.value(name), dict):
        message = "The format 'token' is not supported: it names one tokenizer's token."
        refuse(RejectionCode.UNSUPPORTED_KEYWORD, message, pointer=members.at(name), keyword="token")


def _triggers(members: Members, formats: Formats) -> list[str]:
    members.items("triggers")
    triggers = members.texts("triggers")
    pointer = members.at("triggers")
    parts = formats.parts
    parts.check("max_grammar_alternatives", len(triggers), "The number of triggers", pointer=pointer)
    for trigger in triggers:
        parts.check("max_literal_bytes", len(trigger.encode()), "The length of a trigger", pointer=pointer)
        inside = next((other for other in triggers if other != trigger and trigger in other), None)
        if inside is not None:
            message = f"The trigger {shown(trigger)} stands within {shown(inside)}: one text would trigger both."
            refuse(RejectionCode.INVALID_SCHEMA, message, pointer=pointer, keyword="triggers")
    return triggers


def _trigger_of(tag: Members, triggers: list[str]) -> str:
    """The trigger that `begin` starts with; there is at most one, because none stands within another."""
    begin = tag.text("begin")
    found = next((trigger for trigger in triggers if begin.startswith(trigger)), None)
    if found is None:
        message = f"{shown(begin)} begins with no trigger: the tag could never start."
        refuse(RejectionCode.UNSATISFIABLE, message, pointer=tag.at("begin"), keyword="begin")
    return found
