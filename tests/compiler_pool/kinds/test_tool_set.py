"""Tool sets through the engine: one call, or an array of calls, each with a tool's own arguments."""

import json
from typing import Any

from tests.compiler_pool.kinds.generation import Generation, codes


def function(name: str, parameters: Any = None) -> Any:
    return {"type": "function", "name": name, **({} if parameters is None else {"parameters": parameters})}


CITY = {"type": "object", "properties": {"city": {"enum": ["Rom", "Ulm"]}}, "required": ["city"]}


def call(name: str, arguments: Any) -> str:
    return json.dumps({"name": name, "arguments": arguments}, separators=(",", ":"))


def test_calls_take_the_arguments_of_their_own_tool() -> None:
    contract = Generation("tool_set", [function("weather", CITY), function("now"), function("nower")])
    good = [call("weather", {"city": "Rom"}), call("now", {}), call("nower", {})]
    bad = [call("weather", {}), call("now", {"city": "Rom"}), call("no", {}), call("now", [])]
    assert [text for text in good if not contract.generates(text)] == []
    assert [text for text in bad if contract.generates(text)] == []
    assert contract.disagreements([*good, *bad]) == []


def test_several_calls_are_an_array_of_at_least_one() -> None:
    contract = Generation("tool_set", [function("now")])
    one = call("now", {})
    texts = {one: True, f"[{one}]": True, f"[{one},{one}]": True, "[]": False, f"[{one},]": False, f"{one}{one}": False}
    assert {text: contract.generates(text) for text in texts} == texts
    assert contract.disagreements([*texts]) == []


def test_the_input_of_a_custom_tool_is_a_json_string() -> None:
    pattern: Any = {"type": "grammar", "syntax": "regex", "definition": 'say "[a-z\\n]+"'}
    contract = Generation(
        "tool_set", [{"type": "custom", "name": "c", "format": pattern}, {"type": "custom", "name": "d"}]
    )
    texts = [json.dumps({"name": name, "input": text}, separators=(",", ":")) for name, text in
             [("c", 'say "a\nb"'), ("c", "say a"), ("d", ""), ("d", "\x00\u00e9")]]  # fmt: skip
    # Letters beyond ASCII stand for themselves: one spelling for each character.
    assert [contract.generates(text) for text in texts] == [True, False, True, False]
    assert contract.generates('{"name":"d","input":"\\u0000\u00e9"}')


def test_definitions_of_two_tools_do_not_meet() -> None:
    def tree(leaf: str) -> Any:
        item = {"anyOf": [{"type": leaf}, {"type": "array", "items": {"$ref": "#/$defs/n"}}]}
        return {"type": "object", "properties": {"v": {"$ref": "#/$defs/n"}}, "required": ["v"], "$defs": {"n": item}}

    contract = Generation("tool_set", [function("a", tree("null")), function("b", tree("boolean"))])
    good = [call("a", {"v": [None, [None]]}), call("b", {"v": [[True]]})]
    bad = [call("a", {"v": [True]}), call("b", {"v": None})]
    assert [contract.generates(text) for text in (*good, *bad)] == [True, True, False, False]
    assert contract.disagreements([*good, *bad]) == []


def test_walks_through_masks_end_in_calls_that_the_judge_allows() -> None:
    contract = Generation("tool_set", [function("weather", CITY), function("now")])
    walks = [text for seed in range(40) if (text := contract.walk(seed, 200)) is not None]
    assert len(walks) > 10
    assert contract.disagreements(walks) == []


def test_a_lark_grammar_for_a_custom_tool_is_refused_at_its_syntax() -> None:
    form: Any = {"type": "grammar", "syntax": "lark", "definition": 'start: "a"'}
    assert codes("tool_set", [{"type": "custom", "name": "c", "format": form}]) == [
        ("unsupported_value", "/0/format/syntax")
    ]


def test_arguments_may_hold_others_like_themselves() -> None:
    members: Any = {"properties": {"next": {"$ref": "#"}}, "additionalProperties": False}
    calls = [f'{{"name":"f","arguments":{each}}}' for each in ("{}", '{"next":{}}', '{"next":{"next":{}}}')]
    null_calls = [f'{{"name":"f","arguments":{each}}}' for each in ("null", '{"next":null}')]
    objects = Generation("tool_set", [{"type": "function", "name": "f", "parameters": {"type": "object", **members}}])
    assert [objects.generates(call) for call in calls + null_calls] == [True, True, True, False, False]
    kinds: Any = {"type": ["object", "null"], **members}
    perhaps = Generation("tool_set", [{"type": "function", "name": "f", "parameters": kinds}])
    assert [perhaps.generates(call) for call in calls + null_calls] == [True, True, True, False, True]
    assert objects.disagreements(calls + null_calls) == perhaps.disagreements(calls + null_calls) == []
