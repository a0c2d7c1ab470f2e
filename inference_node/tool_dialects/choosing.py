"""Which spelling of calls a chat template has."""

from collections.abc import Mapping
from typing import Final

from inference_node.tool_dialects.dialect import ToolDialect
from inference_node.tool_dialects.dsml import DSML, DSML_V4
from inference_node.tool_dialects.hermes import HERMES, NEUTRAL
from inference_node.tool_dialects.llama import LLAMA_JSON

TOOL_DIALECTS: Final[Mapping[str, ToolDialect]] = {
    dialect.name: dialect for dialect in (NEUTRAL, HERMES, LLAMA_JSON, DSML, DSML_V4)
}


def tool_dialect_of(template: str, *, knows_tools: bool) -> ToolDialect:
    """`knows_tools`: the template reads `tools`. One that does and spells calls in a way that is not known here counts
    as one that does not: prompt and grammar have to agree, so it is told in words."""
    if not knows_tools:
        return NEUTRAL
    for dialect in (DSML, DSML_V4):
        if dialect.begin in template:
            return dialect
    if "<tool_call>" in template:
        # Others put `<function=…>` or argument tags between the same markers.
        has_json = "arguments" in template and not any(mark in template for mark in ("<function=", "<arg_key>"))
        return HERMES if has_json else NEUTRAL
    is_llama = '"parameters": ' in template and '{"name": ' in template
    return LLAMA_JSON if is_llama else NEUTRAL
