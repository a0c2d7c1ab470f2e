"""Hermes' markup, which Qwen, SmolLM2 and many others were trained on: JSON between `<tool_call>` tags."""

from dataclasses import replace
from typing import Final

from inference_node.tool_dialects.dialect import ToolDialect

HERMES: Final = ToolDialect(
    name="hermes",
    begin="<tool_call>\n",
    again="<tool_call>\n",
    separator="\n",  # as the chat templates of Qwen and SmolLM2 write it between two
    function_begin='{"name": "NAME", "arguments": ',
    function_end="}\n</tool_call>",
    custom_begin='{"name": "NAME"}\n',
    custom_end="\n</tool_call>",
    has_open_calls=True,
    result_begin="<tool_response>\n",
    result_end="\n</tool_response>",
)

NEUTRAL: Final = replace(HERMES, name="neutral")
"""The same, for templates that know of no tools or whose spelling is not known here: these are told of it in words."""
