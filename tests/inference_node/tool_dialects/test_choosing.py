import pytest

from inference_node.tool_dialects.choosing import TOOL_DIALECTS, tool_dialect_of
from inference_node.tool_dialects.dsml import DSML
from inference_node.tool_dialects.hermes import HERMES, NEUTRAL
from inference_node.tool_dialects.llama import LLAMA_JSON

QWEN = '<tool_call>\\n{"name": "{{ tool_call.name }}", "arguments": {{ tool_call.arguments | tojson }}}\\n</tool_call>'
LLAMA = "<|python_tag|>{{ '{\"name\": \"' + call.name + '\", ' }}{{ '\"parameters\": ' }}{{ call.arguments | tojson }}}"


@pytest.mark.parametrize(
    ("template", "name"),
    [
        (QWEN, "hermes"),
        (LLAMA, "llama_json"),
        ("<\uff5cDSML\uff5cfunction_calls>", "dsml"),
        ("<\uff5cDSML\uff5ctool_calls>", "dsml_v4"),
        ("<tool_call>\n<function={{ name }}> {{ arguments }}", "neutral"),
        ("<tool_call>{{ name }}\n<arg_key>{{ arguments }}", "neutral"),
        ("[TOOL_CALLS]{{ name }}[ARGS]{{ arguments }}", "neutral"),
    ],
)
def test_a_template_that_spells_calls_in_a_known_way_is_spoken_with_so(template: str, name: str) -> None:
    assert tool_dialect_of(template, knows_tools=True) is TOOL_DIALECTS[name]
    assert tool_dialect_of(template, knows_tools=False) is NEUTRAL


def test_a_call_is_written_as_models_were_trained_to() -> None:
    assert HERMES.call_text("f", '{"a": 1}', is_custom=False) == (
        '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>'
    )
    assert LLAMA_JSON.call_text("f", '{"a": 1}', is_custom=False) == '{"name": "f", "parameters": {"a": 1}}'
    parameter = '\n<\uff5cDSML\uff5cparameter name="a" string="false">1</\uff5cDSML\uff5cparameter>'
    assert DSML.call_text("f", parameter, is_custom=False) == (
        "<\uff5cDSML\uff5cfunction_calls>\n"
        '<\uff5cDSML\uff5cinvoke name="f">\n'
        '<\uff5cDSML\uff5cparameter name="a" string="false">1</\uff5cDSML\uff5cparameter>\n'
        "</\uff5cDSML\uff5cinvoke>\n"
        "</\uff5cDSML\uff5cfunction_calls>"
    )


def test_a_dialect_without_text_tools_has_no_head_for_them() -> None:
    assert not LLAMA_JSON.takes_text
    with pytest.raises(AssertionError, match="composer"):
        LLAMA_JSON.head("f", is_custom=True)
