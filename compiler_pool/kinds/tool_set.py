"""A tool set lowered: the output is one call as a JSON object, or a JSON array of at least one call.

`{"name":"f","arguments":{…}}` calls a function; `{"name":"c","input":"…"}` calls a custom tool, whose input is a JSON
string whatever its format is, so that every output is JSON.
"""

from typing import Final

from compiler_pool.kinds.embedding import Embedding
from compiler_pool.kinds.texts import Repeated, TextGrammar, TextNode, Use, fixed, in_order, one_of
from policy.rejection import Rejection, RejectionCode
from registry.contract import JsonValue
from registry.pointers import join, tokens_of

_ROOT: Final = "root"
_CALL: Final = "call"


def call_texts(tools: JsonValue, embedding: Embedding) -> TextGrammar:
    """The texts of the calls of canonical tools. What cannot be lowered is among the embedding's rejections."""
    assert isinstance(tools, list)
    calls = one_of(*(_call(tool, join("", index), embedding) for index, tool in enumerate(tools)))
    call = Use(rule=_CALL)
    more = Repeated(part=in_order(fixed(","), call), minimum=0, maximum=None)
    whole = one_of(call, in_order(fixed("["), call, more, fixed("]")))
    return TextGrammar(rules={_CALL: calls, _ROOT: whole}, root=_ROOT)


def _call(tool: JsonValue, pointer: str, embedding: Embedding) -> TextNode:
    assert isinstance(tool, dict)
    # Names are letters, digits, `_` and `-`: nothing to escape.
    if tool["type"] == "function":
        schema = embedding.schema(_of_objects(tool["parameters"]), join(pointer, "parameters"))
        return in_order(fixed(f'{{"name":"{tool["name"]}","arguments":'), schema, fixed("}"))
    schema = embedding.schema(_input(tool.get("format"), pointer, embedding), join(pointer, "format", "definition"))
    return in_order(fixed(f'{{"name":"{tool["name"]}","input":'), schema, fixed("}"))


def _of_objects(schema: JsonValue) -> JsonValue:
    """The schema, for objects only: arguments are nothing else. A canonical reference has nothing beside it."""
    if not isinstance(schema, dict):
        return {"type": "object"}
    if "$ref" not in schema:
        return {**schema, "type": "object"}
    definitions = schema["$defs"]
    assert isinstance(definitions, dict)
    referred = definitions[tokens_of(str(schema["$ref"]).removeprefix("#"))[-1]]
    if isinstance(referred, dict) and referred.get("type") == "object":
        return schema
    return {"$defs": definitions, "allOf": [{"$ref": schema["$ref"]}], "type": "object"}


def _input(form: JsonValue, pointer: str, embedding: Embedding) -> JsonValue:
    if not isinstance(form, dict):
        return {"type": "string"}
    if form["syntax"] == "regex":
        return {"type": "string", "pattern": f"^(?:{form['definition']})$"}
    embedding.rejections.append(
        Rejection(
            code=RejectionCode.UNSUPPORTED_VALUE,
            message="the input of a custom tool is a JSON string, and a Lark grammar of such a string is not made; "
            "use a regex",
            pointer=join(pointer, "format", "syntax"),
            keyword="syntax",
        )
    )
    return {"type": "string"}
