"""What every API's `tool_choice` means alike."""

from registry.contract import JsonValue


def names_one_tool(choice: JsonValue) -> bool:
    """Whether a choice is of one tool by name: it is then called once, because clients take the one call there is."""
    return isinstance(choice, dict) and choice.get("type") in {"function", "custom"}
