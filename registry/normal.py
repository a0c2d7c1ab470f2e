"""Keyword values in the one spelling that equal values share."""

from registry.contract import JsonValue
from registry.text import member_order, sorted_members, value_text


def normal_assertion(keyword: str, value: JsonValue) -> JsonValue:
    """The canonical value of an assertion whose shape was checked: sets are sorted and hold each member once."""
    match keyword, value:
        case "type", list():
            names = sorted({str(name) for name in value})
            return names[0] if len(names) == 1 else list(names)
        case "required", list():
            return _names(value)
        case "dependentRequired", dict():
            return {str(name): _names(value[name]) for name in sorted(value, key=member_order)}
        case "enum", list():
            return list(distinct(value).values())
        case "const", _:
            return sorted_members(value)
        case _:
            return value


def distinct(values: list[JsonValue]) -> dict[str, JsonValue]:
    """Different values by their text, in the order of their texts; equal ones (1 and 1.0) are one."""
    by_text = {value_text(value): sorted_members(value) for value in values}
    return {text: by_text[text] for text in sorted(by_text, key=member_order)}


def _names(value: JsonValue) -> JsonValue:
    assert isinstance(value, list)
    return [*sorted({str(name) for name in value}, key=member_order)]
