"""Changes of contracts that are not JSON Schema: choices, expressions, tools."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, Protocol

from registry.canonical import read_canonical
from registry.compatibility.changes import Change, ChangeKind, Changes, Effect, Example
from registry.contract import ContractKind, JsonValue
from registry.pointers import join
from registry.text import value_text

MAX_LISTED: Final = 200


class Text(Protocol):
    """A kind and a canonical text."""

    @property
    def kind(self) -> str: ...
    @property
    def text(self) -> str: ...


def text_changes(old: Text, new: Text, effect: Effect) -> Changes:
    """What was changed between two contracts whose kinds are compared by their documents.

    `effect` is that of everything together, which is that of an only change.
    """
    changes = _changes(old, new)
    return (replace(changes[0], effect=effect),) if len(changes) == 1 else changes


def _changes(old: Text, new: Text) -> Changes:
    if old.kind != new.kind:
        return (_change(ChangeKind.KIND_CHANGED, f"the kind was {old.kind} and is {new.kind}"),)
    match old.kind:
        case ContractKind.CHOICE:
            return _choices(read_canonical(old.text), read_canonical(new.text))
        case ContractKind.TOOL_SET:
            return _tools(read_canonical(old.text), read_canonical(new.text))
        case _:
            return (_change(ChangeKind.EXPRESSION_CHANGED, "the expression was changed"),)


def _change(kind: ChangeKind, message: str, old_pointer: str = "", new_pointer: str = "") -> Change:
    return Change(kind=kind, old_pointer=old_pointer, new_pointer=new_pointer, effect=Effect.UNKNOWN, message=message)


def _choices(old: JsonValue, new: JsonValue) -> Changes:
    before, after = (_places(value) for value in (old, new))
    lost = [
        Change(
            kind=ChangeKind.CHOICE_REMOVED, old_pointer=before[text], new_pointer="", effect=Effect.NARROWS,
            message=f"the choice {value_text(text)} was removed", example=Example(document=text, is_allowed=False),
        )
        for text in before if text not in after
    ]  # fmt: skip
    won = [
        Change(
            kind=ChangeKind.CHOICE_ADDED, old_pointer="", new_pointer=after[text], effect=Effect.WIDENS,
            message=f"the choice {value_text(text)} was added", example=Example(document=text, is_allowed=True),
        )
        for text in after if text not in before
    ]  # fmt: skip
    return (*lost, *won)[:MAX_LISTED]


def _places(choices: JsonValue) -> dict[str, str]:
    listed = choices if isinstance(choices, list) else []
    return {str(choice): join("", index) for index, choice in enumerate(listed)}


def _tools(old: JsonValue, new: JsonValue) -> Changes:
    before, after = _by_name(old), _by_name(new)
    changes: list[Change] = []
    for name in sorted({*before, *after}):
        old_place, new_place = before.get(name), after.get(name)
        if old_place is None and new_place is not None:
            changes.append(_change(ChangeKind.TOOL_ADDED, f"the tool {name} was added", "", new_place[0]))
        elif new_place is None and old_place is not None:
            changes.append(_change(ChangeKind.TOOL_REMOVED, f"the tool {name} was removed", old_place[0]))
        elif old_place is not None and new_place is not None and value_text(old_place[1]) != value_text(new_place[1]):
            message = f"what the tool {name} takes was changed"
            changes.append(_change(ChangeKind.TOOL_CHANGED, message, old_place[0], new_place[0]))
    return tuple(changes)[:MAX_LISTED]


def _by_name(tools: JsonValue) -> Mapping[str, tuple[str, JsonValue]]:
    listed = tools if isinstance(tools, list) else []
    return {str(tool["name"]): (join("", index), tool) for index, tool in enumerate(listed) if isinstance(tool, dict)}
