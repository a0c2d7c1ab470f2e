"""The structural tag that an answer, calls, a refusal and a thought come to; `docs/chat.md` tells the shapes."""

from collections.abc import Sequence
from typing import Final

from gateway.composition.markup import REFUSAL_BEGIN, REFUSAL_END, THOUGHT_BEGIN, THOUGHT_END
from inference_node.tool_dialects.dialect import ToolDialect
from registry.contract import CanonicalContract, ContractKind, JsonValue

Format = dict[str, JsonValue]

ANY_TEXT: Final[Format] = {"type": "any_text"}
_SYNTAX: Final = frozenset("\\^$.*+?()[]{}|/-")
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


def function_call(dialect: ToolDialect, name: str, arguments: Format) -> Format:
    """One call of a function whose arguments are one JSON object, after what stands before every call."""
    head, tail = dialect.head(name, is_custom=False), dialect.tail(is_custom=False)
    return {"type": "tag", "begin": head, "content": arguments, "end": tail}


def parameter_call(dialect: ToolDialect, name: str, parameters: Sequence[Format]) -> Format:
    """One call of a function whose arguments stand one by one."""
    head, tail = dialect.head(name, is_custom=False), dialect.tail(is_custom=False)
    return _sequence(_fixed(head), *parameters, _fixed(tail))


def parameter(dialect: ToolDialect, name: str, value: Format, *, is_text: bool, is_required: bool) -> Format:
    """One argument."""
    assert dialect.parameters is not None
    begin = dialect.parameters.begin(name, is_text=is_text)
    tag: Format = {"type": "tag", "begin": begin, "content": value, "end": dialect.parameters.end}
    return tag if is_required else {"type": "optional", "content": tag}


def custom_call(dialect: ToolDialect, name: str, content: Format) -> Format:
    """One call of a custom tool, after what stands before every call."""
    head, tail = dialect.head(name, is_custom=True), dialect.tail(is_custom=True)
    return {"type": "tag", "begin": head, "content": content, "end": tail}


def calls(dialect: ToolDialect, each: Sequence[Format], *, is_parallel: bool) -> Format:
    """At least one call; one and no more where they may not be parallel."""
    one: Format = {"type": "or", "elements": [*each]}
    opening = [_fixed(dialect.opening)] if dialect.opening else []
    ending = [_fixed(dialect.end)] if dialect.end else []
    if not is_parallel or dialect.again is None:
        return _sequence(_fixed(dialect.begin), *opening, one, *ending)
    if dialect.again == dialect.begin:
        separator: Format = {"type": "optional", "content": _fixed(dialect.separator)}
        return {"type": "plus", "content": _sequence(_fixed(dialect.begin), one, separator)}
    each_call: Format = {"type": "plus", "content": _sequence(_fixed(dialect.again), one)}
    return _sequence(_fixed(dialect.begin), each_call, *ending)


def words_or(dialect: ToolDialect, called: Format) -> Format:
    """Free text, after which calls may come, or in whose place."""
    if dialect.follows_words:
        return _sequence(ANY_TEXT, {"type": "optional", "content": called})
    words: Format = {"type": "regex", "pattern": _not_beginning_with(dialect.begin)}
    return either([called, words])


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


def _not_beginning_with(marker: str) -> str:
    """The expression of all texts that do not begin with the marker."""
    pattern = ""
    for character in reversed(marker):
        escaped = f"\\{character}" if character in _SYNTAX else character
        further = f"|{escaped}{pattern}" if pattern else ""
        pattern = f"(?:[^{escaped}][\\s\\S]*{further})?"
    return pattern
