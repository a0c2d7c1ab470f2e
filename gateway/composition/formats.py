"""The structural tag that an answer, calls, a refusal and a thought come to; `docs/chat.md` tells the shapes."""

from collections.abc import Sequence
from typing import Final

from gateway.composition.markup import CALL_SEPARATOR, REFUSAL_BEGIN, REFUSAL_END, THOUGHT_BEGIN, THOUGHT_END
from inference_node.tool_markup import (
    CALL_BEGIN,
    CUSTOM_CALL_END,
    FUNCTION_CALL_END,
    custom_call_begin,
    function_call_begin,
)
from registry.contract import CanonicalContract, ContractKind, JsonValue

Format = dict[str, JsonValue]

ANY_TEXT: Final[Format] = {"type": "any_text"}
MAX_REFUSAL_CHARACTERS: Final = 250
"""A refusal is a sentence or two; without a bound, a model that cannot end would use up the request's tokens. As an
expression the bound costs engine and judge next to nothing; as bounded free text it costs the engine's whole fuel."""


def contract_format(contract: CanonicalContract) -> Format | None:
    """The contract as a format, or None where its kind cannot stand within another text."""
    match contract.kind:
        case ContractKind.JSON_SCHEMA:
            return {"type": "json_schema", "json_schema": contract.schema}
        case ContractKind.REGEX:
            return {"type": "regex", "pattern": contract.text}
        case ContractKind.CHOICE:
            members = contract.schema
            assert isinstance(members, list)
            return {"type": "or", "elements": [{"type": "const_string", "value": member} for member in members]}
        case ContractKind.STRUCTURAL_TAG:
            assert isinstance(contract.schema, dict)
            tree = contract.schema["format"]
            assert isinstance(tree, dict)
            return {**tree}
        case ContractKind.LARK | ContractKind.GBNF | ContractKind.TOOL_SET:
            return None


def function_call(name: str, arguments: Format) -> Format:
    """One call of a function, after the marker of calls."""
    begin = function_call_begin(name).removeprefix(CALL_BEGIN)
    return {"type": "tag", "begin": begin, "content": arguments, "end": FUNCTION_CALL_END}


def custom_call(name: str, content: Format) -> Format:
    """One call of a custom tool, after the marker of calls."""
    begin = custom_call_begin(name).removeprefix(CALL_BEGIN)
    return {"type": "tag", "begin": begin, "content": content, "end": CUSTOM_CALL_END}


def calls(each: Sequence[Format], *, is_parallel: bool) -> Format:
    """At least one call; one and no more where they may not be parallel."""
    one: list[JsonValue] = [_fixed(CALL_BEGIN), {"type": "or", "elements": [*each]}]
    if not is_parallel:
        return _sequence(*one)
    separator: Format = {"type": "optional", "content": _fixed(CALL_SEPARATOR)}
    return {"type": "plus", "content": _sequence(*one, separator)}


def words_then(called: Format) -> Format:
    """Free text, after which calls may come."""
    return _sequence(ANY_TEXT, {"type": "optional", "content": called})


def either(alternatives: Sequence[Format]) -> Format:
    """One of them."""
    return alternatives[0] if len(alternatives) == 1 else {"type": "or", "elements": [*alternatives]}


def refusal() -> Format:
    """Words in which the model declines. There are some, and no `<` among them."""
    words: Format = {"type": "regex", "pattern": f"[^<]{{1,{MAX_REFUSAL_CHARACTERS}}}"}
    return {"type": "tag", "begin": REFUSAL_BEGIN, "content": words, "end": REFUSAL_END}


def after_thought(answer: Format, *, is_optional: bool, may_have_line_feeds: bool) -> Format:
    """A span of thought, and then the answer."""
    thought: Format = {"type": "tag", "begin": THOUGHT_BEGIN, "content": ANY_TEXT, "end": THOUGHT_END}
    if may_have_line_feeds:  # how models that think were trained to go on
        thought = _sequence(thought, {"type": "optional", "content": _fixed("\n\n")})
    return _sequence({"type": "optional", "content": thought} if is_optional else thought, answer)


def _fixed(text: str) -> Format:
    return {"type": "const_string", "value": text}


def _sequence(*elements: JsonValue) -> Format:
    return {"type": "sequence", "elements": [*elements]}
