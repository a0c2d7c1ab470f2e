"""What contracts, tools, refusals and thoughts come to, asked of the real engine, the judge and the splitter."""

import pytest

from gateway.composition.composition import Composition
from gateway.errors import ContractRefusedError, InvalidRequestError
from gateway.intent import ToolMode
from policy.rejection import Rejection, RejectionCode
from registry.contract import ContractKind, JsonValue
from tests.gateway.composition.world import ID, LOOKUP, VERDICT, World, composed, custom, function, taken, toolbox

IN_BRACKETS: JsonValue = {"type": "tag", "begin": "(", "content": {"type": "any_text"}, "end": ")"}


async def test_an_answer_or_calls_and_never_prose() -> None:
    """tools-with-response-format: the union is one grammar."""
    composition = await composed(await taken(VERDICT), toolbox(function("lookup", ID)))
    world = World(composition)
    assert world.allows('{"verdict":"ok"}')
    assert world.allows(LOOKUP)
    assert world.allows(f"{LOOKUP}\n{LOOKUP}")
    assert not world.allows("I will look it up")
    assert not world.allows(LOOKUP.replace('{"id":7}', "{}"))
    assert not world.allows(LOOKUP.replace("7", "0"))
    assert not world.allows(LOOKUP.replace('{"id":7}', "7"))
    assert not world.allows(LOOKUP.replace("lookup", "json_tool_call"))
    assert not world.allows(f'{LOOKUP}{{"verdict":"ok"}}')
    assert not world.allows(f'{{"verdict":"ok"}}{LOOKUP}')


async def test_free_text_may_be_followed_by_calls_and_calls_by_calls_only() -> None:
    world = World(await composed(None, toolbox(function("lookup", ID), custom("run"))))
    assert world.allows("")
    assert world.allows("Just words, a < b, <tool_call> {}.")
    assert world.allows(LOOKUP)
    assert world.allows(f'I\'ll check.\n{LOOKUP}\n<tool_call>\n{{"name": "run"}}\nls </tool>\n\n</tool_call>\n')
    assert not world.allows(f"{LOOKUP} and more words")
    assert not world.allows("words <tool_call>\n{}")


async def test_a_required_call_leaves_no_room_for_words() -> None:
    answer = await taken(VERDICT)
    composition = await composed(answer, toolbox(function("lookup", ID), mode=ToolMode.REQUIRED))
    assert composition.answer is answer  # whose rules hold for calls too
    world = World(composition)
    assert world.allows(LOOKUP)
    assert not world.allows("")
    assert not world.allows("Hello")
    assert not world.allows('{"verdict":"ok"}')


async def test_only_what_was_chosen_may_be_called_and_once_where_calls_are_not_parallel() -> None:
    tools = (function("lookup", ID), function("other", ID, index=1))
    named = World(await composed(None, toolbox(*tools, mode=ToolMode.REQUIRED, only="lookup")))
    assert named.allows(LOOKUP)
    assert not named.allows(LOOKUP.replace("lookup", "other"))
    single = World(await composed(None, toolbox(*tools, mode=ToolMode.REQUIRED, is_parallel=False)))
    assert single.allows(LOOKUP.replace("lookup", "other"))
    assert not single.allows(f"{LOOKUP}\n{LOOKUP}")


async def test_a_refusal_is_a_branch_of_its_own() -> None:
    world = World(await composed(await taken(VERDICT), None, refusal=True))
    assert world.allows("<refusal>I can't help with that.</refusal>")
    assert world.allows('{"verdict":"I can\'t help <refusal>"}')
    assert not world.allows("<refusal>I can't")
    assert world.allows(f"<refusal>{'a' * 250}</refusal>")
    assert not world.allows(f"<refusal>{'a' * 251}</refusal>")
    assert not world.allows("<refusal></refusal>")
    assert not world.allows("I can't help with that.")
    assert not world.allows('<refusal>no</refusal>{"verdict":"ok"}')


async def test_free_text_needs_no_branch_to_decline_in() -> None:
    assert (await composed(None, None, refusal=True)) == Composition()
    assert not (await composed(None, toolbox(function("f", ID)), refusal=True)).shape.may_refuse
    assert (await composed(None, toolbox(function("f", ID), mode=ToolMode.REQUIRED), refusal=True)).shape.may_refuse


async def test_a_thought_may_stand_before_an_answer() -> None:
    world = World(await composed(await taken(VERDICT), toolbox(function("lookup", ID)), thought=True, refusal=True))
    assert world.allows('{"verdict":"ok"}')
    assert world.allows('<think>plan</think>{"verdict":"ok"}')
    assert world.allows('<think></think>\n\n{"verdict":"</think> is data"}')
    assert world.allows(f"<think>{LOOKUP}</think>\n\n{LOOKUP}")
    assert world.allows("<think>no</think><refusal>No.</refusal>")
    assert not world.allows('<think>plan {"verdict":"ok"}')
    assert not world.allows('plan</think>{"verdict":"ok"}')


async def test_before_free_text_with_tools_the_thought_has_to_be_there() -> None:
    world = World(await composed(None, toolbox(function("lookup", ID)), thought=True))
    assert world.allows(f"<think>plan</think>\n\nI'll check. {LOOKUP}")
    assert world.allows("<think></think>Hello")
    assert not world.allows("Hello")


async def test_thought_before_free_text_alone_needs_no_grammar() -> None:
    composition = await composed(None, None, thought=True)
    assert composition.taken is None
    assert not composition.shape.is_plain


@pytest.mark.parametrize(
    ("kind", "definition", "good", "bad"),
    [
        (ContractKind.REGEX, "[a-c]+", "abc", "abd"),
        (ContractKind.CHOICE, ["yes", "no"], "no", "maybe"),
        (
            ContractKind.STRUCTURAL_TAG,
            {"type": "structural_tag", "format": IN_BRACKETS},
            "(x)",
            "x",
        ),
    ],
)
async def test_other_kinds_of_contracts_stand_beside_calls_too(
    kind: ContractKind, definition: JsonValue, good: str, bad: str
) -> None:
    answer = await taken(definition, kind)
    world = World(await composed(answer, toolbox(function("lookup", ID)), refusal=True, thought=True))
    assert world.allows(good)
    assert world.allows(f"<think>x</think>{good}")
    assert world.allows(LOOKUP)
    assert not world.allows(bad)


@pytest.mark.parametrize(
    ("kind", "definition"), [(ContractKind.LARK, 'start: "a"'), (ContractKind.GBNF, 'root ::= "a"')]
)
async def test_a_grammar_cannot_stand_beside_tools(kind: ContractKind, definition: str) -> None:
    answer = await taken(definition, kind)
    with pytest.raises(InvalidRequestError) as caught:
        await composed(answer, toolbox(function("f", ID)))
    assert caught.value.param == "tools"
    alone = await composed(answer, None, refusal=True, thought=True)
    assert (alone.taken, alone.shape.is_plain, list(alone.ignored)) == (answer, True, ["reasoning"])


async def test_a_contract_alone_is_enforced_as_it_stands() -> None:
    answer = await taken(VERDICT)
    assert await composed(answer, None) == Composition(
        shape=(await composed(answer, None)).shape, taken=answer, answer=answer
    )


async def test_custom_tools_take_text_or_a_regex() -> None:
    sql = custom("sql", ContractKind.REGEX, "select [a-z]+")
    world = World(await composed(None, toolbox(sql, custom("note"), mode=ToolMode.REQUIRED)))
    assert world.allows('<tool_call>\n{"name": "sql"}\nselect a\n</tool_call>')
    assert not world.allows('<tool_call>\n{"name": "sql"}\ndrop a\n</tool_call>')
    assert world.allows('<tool_call>\n{"name": "note"}\nany "text"\n\n</tool_call>')


@pytest.mark.parametrize(
    "parameters", [True, {}, {"properties": {"a": {"type": "integer"}}}, {"type": ["object", "null"]}]
)
async def test_arguments_are_an_object_whatever_the_schema_leaves_open(parameters: JsonValue) -> None:
    world = World(await composed(None, toolbox(function("f", parameters), mode=ToolMode.REQUIRED)))
    call = '<tool_call>\n{{"name": "f", "arguments": {}}}\n</tool_call>'
    assert world.allows(call.format('{"a":1}'))
    assert not world.allows(call.format("null"))
    assert not world.allows(call.format("[]"))


DRAFT_07 = "http://json-schema.org/draft-07/schema#"


@pytest.mark.parametrize("target", [{}, {"type": ["object", "string"]}, {"anyOf": [{"type": "object"}, {}]}])
async def test_arguments_are_an_object_where_an_older_draft_reads_nothing_beside_a_reference(target: JsonValue) -> None:
    parameters: JsonValue = {"$schema": DRAFT_07, "$ref": "#/definitions/x", "definitions": {"x": target}}
    world = World(await composed(None, toolbox(function("f", parameters), mode=ToolMode.REQUIRED)))
    call = '<tool_call>\n{{"name": "f", "arguments": {}}}\n</tool_call>'
    assert world.allows(call.format('{"a":1}'))
    assert not world.allows(call.format('"a"'))


@pytest.mark.parametrize(
    "parameters",
    [
        {"type": "string"},
        {"type": ["string", "null"]},
        {"type": "integer"},
        {"$schema": DRAFT_07, "$ref": "#/definitions/x", "definitions": {"x": {"type": "string"}}},
        {"$schema": DRAFT_07, "$ref": "#/definitions/x", "definitions": {"x": {"type": "string"}}, "allOf": 1},
    ],
)
async def test_a_function_whose_arguments_would_be_no_object_is_refused(parameters: JsonValue) -> None:
    with pytest.raises(ContractRefusedError) as caught:
        await composed(None, toolbox(function("f", parameters)))
    assert caught.value.param == "tools[0].function.parameters"
    assert caught.value.rejections[0].code in {RejectionCode.UNSUPPORTED_VALUE, RejectionCode.UNSATISFIABLE}


async def test_parameters_that_are_recursive_work() -> None:
    tree: JsonValue = {
        "type": "object",
        "properties": {"left": {"$ref": "#"}, "value": {"type": "integer"}},
        "required": ["value"],
        "additionalProperties": False,
    }
    world = World(await composed(await taken(VERDICT), toolbox(function("f", tree), function("g", tree, index=1))))
    call = '<tool_call>\n{"name": "g", "arguments": {"left":{"value":1},"value":2}}\n</tool_call>'
    assert world.allows(call)
    assert not world.allows(call.replace("2", '"2"'))


@pytest.mark.parametrize(
    ("parameters", "pointer"),
    [
        ({"type": "object", "properties": {"a": {"type": "strin"}}}, "/properties/a/type"),
        ({"type": "object", "properties": {"a": {"minLenght": 1}}}, "/properties/a/minLenght"),
        ({"type": "object", "properties": {"a": {"$ref": "https://example.org/x"}}}, "/properties/a/$ref"),
    ],
)
async def test_a_tool_is_refused_by_its_own_place(parameters: JsonValue, pointer: str) -> None:
    """A fault in one tool's schema is reported for that tool."""
    with pytest.raises(ContractRefusedError) as caught:
        await composed(await taken(VERDICT), toolbox(function("f", ID), function("g", parameters, index=1)))
    assert caught.value.param == "tools[1].function.parameters"
    assert caught.value.rejections[0].pointer == pointer


async def test_refusals_of_the_whole_point_into_what_was_sent() -> None:
    parameters: JsonValue = {"type": "object", "properties": {"b": {"type": "string"}, "a": {"type": "integer"}}}
    composition = await composed(
        await taken(VERDICT), toolbox(function("f", ID), function("g", parameters, index=1)), refusal=True
    )
    (part,) = (part for part in composition.parts if part.taken.param == "tools[1].function.parameters")
    rejection = Rejection(
        code=RejectionCode.UNSUPPORTED_VALUE, message="no", pointer=f"{part.pointer}/properties/a/type"
    )
    moved = composition.refused(ContractRefusedError((rejection,), param="tools"))
    assert (moved.param, moved.rejections[0].pointer) == ("tools[1].function.parameters", "/properties/a/type")


async def test_too_much_together_is_refused_by_the_limits_name() -> None:
    wide: JsonValue = {"type": "object", "properties": {f"p{n}": {"enum": [f"{n}" * 100]} for n in range(100)}}
    tools = [function(f"f{number}", wide, index=number) for number in range(8)]
    with pytest.raises(ContractRefusedError) as caught:
        await composed(None, toolbox(*tools))
    assert caught.value.rejections[0].limit_name == "max_contract_bytes"
    assert caught.value.param == "tools"
