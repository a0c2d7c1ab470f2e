"""Llama 3's JSON: a call stands in place of an answer in words, and is the only one.

The template's own marker before it, `<|python_tag|>`, is a special token that stands for no text; calls are as valid
without it.
"""

from typing import Final

from inference_node.tool_dialects.dialect import ToolDialect

LLAMA_JSON: Final = ToolDialect(
    name="llama_json",
    begin='{"name": "',
    again=None,
    function_begin='NAME", "parameters": ',
    function_end="}",
    custom_begin=None,
    follows_words=False,
)
