"""How calls of tools stand in a model's text: Hermes' markup, which Qwen and SmolLM2 were trained on.

One spelling for everybody: the grammar that makes calls, whoever reads them back, and the prompt that shows earlier
ones.
"""

from typing import Final

CALL_BEGIN: Final = "<tool_call>\n"
CALL_END: Final = "\n</tool_call>"
RESULT_BEGIN: Final = "<tool_response>\n"
RESULT_END: Final = "\n</tool_response>"


def function_call_begin(name: str) -> str:
    """Up to where the arguments' JSON begins. A name has only letters, digits, `_` and `-`: nothing to escape."""
    return f'{CALL_BEGIN}{{"name": "{name}", "arguments": '


FUNCTION_CALL_END: Final = f"}}{CALL_END}"


def custom_call_begin(name: str) -> str:
    """Up to where the tool's input begins, which is text as it stands."""
    return f'{CALL_BEGIN}{{"name": "{name}"}}\n'


CUSTOM_CALL_END: Final = CALL_END


def call_text(name: str, text: str, *, is_custom: bool) -> str:
    """A whole call; `text` is the arguments as JSON, or a custom tool's input."""
    if is_custom:
        return f"{custom_call_begin(name)}{text}{CUSTOM_CALL_END}"
    return f"{function_call_begin(name)}{text}{FUNCTION_CALL_END}"


def result_text(text: str) -> str:
    """What a tool answered."""
    return f"{RESULT_BEGIN}{text}{RESULT_END}"
