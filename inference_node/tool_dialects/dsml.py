"""DeepSeek's DSML, since V3.2: a block of calls, and in each its parameters one by one, by name.

Source: the encoding that is published beside the weights of DeepSeek-V3.2; V4 has another word for the block.
"""

from typing import Final

from inference_node.tool_dialects.dialect import ParameterSpelling, ToolDialect

_MARK: Final = "\uff5cDSML\uff5c"
"""With full-width bars."""


def _dsml(name: str, block: str) -> ToolDialect:
    next_call = f'\n<{_MARK}invoke name="'
    parameter = f'\n<{_MARK}parameter name="NAME" string='
    end = f"</{_MARK}parameter>"
    return ToolDialect(
        name=name,
        begin=f"<{_MARK}{block}>",
        opening=next_call,
        again=next_call,
        end=f"\n</{_MARK}{block}>",
        function_begin='NAME">',
        function_end=f"\n</{_MARK}invoke>",
        custom_begin=f'NAME">{parameter.replace("NAME", "input")}"true">',
        custom_end=f"{end}\n</{_MARK}invoke>",
        parameters=ParameterSpelling(json_begin=f'{parameter}"false">', text_begin=f'{parameter}"true">', end=end),
        result_begin="<function_results>\n<result>",
        result_end="</result>\n</function_results>",
    )


DSML: Final = _dsml("dsml", "function_calls")
DSML_V4: Final = _dsml("dsml_v4", "tool_calls")
