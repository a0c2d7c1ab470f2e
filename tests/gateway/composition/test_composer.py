"""What contracts, tools, refusals and thoughts come to, asked of the real engine, the judge and the splitter."""

from typing import Any, cast

import pytest

from gateway.answer import AnswerInParts
from gateway.auth.authenticator import Caller
from gateway.composition.composer import Allowed, Composer
from gateway.composition.composition import Composition
from gateway.composition.splitter import Splitter
from gateway.errors import ContractRefusedError, InvalidRequestError
from gateway.identifiers import KeyId, TenantPartition
from gateway.intake import ContractIntake
from gateway.intent import CustomTool, FunctionTool, InlineContract, Tool, Toolbox, ToolMode
from gateway.outcome import TakenContract
from gateway.stages import StageClock
from policy.entitlement import Entitlements
from policy.rejection import Rejection, RejectionCode
from policy.roles import Role
from registry.contract import ContractKind, JsonValue
from registry.identifiers import PrincipalId, TenantId
from registry.resolution import Resolver
from registry.revision import Actor
from tests.compiler_pool.kinds.generation import Generation

CALLER = Caller(
    tenant=TenantId("t"),
    key_id=KeyId("k"),
    partition=TenantPartition("p"),
    actor=Actor(tenant=TenantId("t"), principal=PrincipalId("k"), roles=frozenset({Role.CALLER})),
)
VERDICT: JsonValue = {
    "type": "object",
    "properties": {"verdict": {"type": "string"}},
    "required": ["verdict"],
    "additionalProperties": False,
}
ID: JsonValue = {
    "type": "object",
    "properties": {"id": {"type": "integer", "minimum": 1}},
    "required": ["id"],
    "additionalProperties": False,
}


IN_BRACKETS: JsonValue = {"type": "tag", "begin": "(", "content": {"type": "any_text"}, "end": ")"}


def intake() -> ContractIntake:
    entitlements = Entitlements(governed_tenants=frozenset())
    # Nothing is named here, so nothing is resolved.
    return ContractIntake(resolver=cast("Resolver", None), entitlements=entitlements, memo_bytes=1_000_000)


def function(name: str, parameters: JsonValue, *, index: int = 0, strict: bool = False) -> FunctionTool:
    return FunctionTool(
        name=name,
        description=None,
        parameters=parameters,
        strict=strict,
        param=f"tools[{index}].function.parameters",
    )


def custom(name: str, kind: ContractKind | None = None, definition: str = "") -> CustomTool:
    return CustomTool(name=name, description=None, kind=kind, definition=definition, param="tools[0].custom.format")


def toolbox(*tools: Tool, mode: ToolMode = ToolMode.AUTO, only: str | None = None, is_parallel: bool = True) -> Toolbox:
    names = frozenset({only} if only else {tool.name for tool in tools})
    return Toolbox(tools=tools, callable_names=names, mode=mode, is_parallel=is_parallel)


async def taken(schema: JsonValue, kind: ContractKind = ContractKind.JSON_SCHEMA, **fields: Any) -> TakenContract:
    sent = InlineContract(kind=kind, schema=schema, strict=fields.pop("strict", True), param="response_format")
    return await intake().take(sent, CALLER, StageClock())


async def composed(answer: TakenContract | None, box: Toolbox | None, **allowed: bool) -> Composition:
    return await Composer(intake(), CALLER, StageClock()).compose(answer, box, Allowed(**allowed))


class World:
    """A composition with the engine and the judge of what it enforces."""

    def __init__(self, composition: Composition) -> None:
        self._shape = composition.shape
        assert composition.taken is not None
        self._generation = Generation(composition.taken.contract.kind.value, composition.taken.contract.schema)

    def allows(self, text: str) -> bool:
        """Whether engine, judge and splitter take the text as a whole; they have to agree."""
        generated, judged = self._generation.generates(text), self._generation.judges(text)
        splitter = Splitter(self._shape)
        splitter.feed(text)
        splitter.end(is_cut=False)
        assert generated == judged, text
        if generated:
            assert splitter.is_closed, text
        return generated


LOOKUP = '<tool_call>\n{"name": "lookup", "arguments": {"id":7}}\n</tool_call>'


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


async def test_a_lark_tool_has_the_whole_text_where_it_has_to_be_called() -> None:
    lark = custom("calc", ContractKind.LARK, 'start: /[0-9]+/ ("+" /[0-9]+/)*')
    composition = await composed(None, toolbox(lark, mode=ToolMode.REQUIRED))
    world = World(composition)
    assert world.allows("1+2")
    assert not world.allows("1+")
    splitter, answer = Splitter(composition.shape), AnswerInParts(is_plain=False)
    for part in (*splitter.feed("1+2"), *splitter.end(is_cut=False)):
        answer.add(part)
    (call,) = answer.answer().calls
    assert (call.name, call.is_custom, call.text) == ("calc", True, "1+2")


SUMS = 'start: N (("+" | "-") N)*\nN: /[0-9]+/'
CALC = '<tool_call>\n{"name": "calc"}\n'


@pytest.mark.parametrize("thought", [False, True])
async def test_a_lark_tools_call_is_the_last_one_and_runs_to_the_end(*, thought: bool) -> None:
    box = toolbox(custom("calc", ContractKind.LARK, SUMS), function("lookup", ID, index=1), custom("note"))
    world = World(await composed(None, box, thought=thought))
    before = "<think>so</think>" if thought else ""
    assert world.allows(f"{before}Just words, a < b, <tool_call> and {{}}.")
    assert world.allows(before)
    assert world.allows(f"{before}{CALC}1+2-30")
    assert world.allows(f"{before}I'll add.\n{LOOKUP}\n{LOOKUP}\n{CALC}1+2")
    assert world.allows(f'{before}<tool_call>\n{{"name": "note"}}\na\n\n</tool_call>{LOOKUP}')
    assert not world.allows(f"{before}{CALC}1+")
    assert not world.allows(f"{before}{CALC}1+2\n</tool_call>")
    assert not world.allows(f"{before}{CALC}1+2\n{LOOKUP}")
    assert not world.allows(f"{before}{LOOKUP.replace('7', 'x')}")
    assert not world.allows(f"{before}{LOOKUP} and words")
    assert not thought or not world.allows("words")


async def test_a_lark_tool_can_stand_beside_an_answer_a_refusal_and_a_thought() -> None:
    box = toolbox(custom("calc", ContractKind.LARK, SUMS), custom("sql", ContractKind.REGEX, "select [a-z/]+"))
    world = World(await composed(await taken(VERDICT), box, refusal=True, thought=True))
    assert world.allows('{"verdict":"ok"}')
    assert world.allows('<think>x</think>\n\n{"verdict":"</think>"}')
    assert world.allows("<think></think><refusal>No.</refusal>")
    assert world.allows(f"{CALC}1")
    assert world.allows('<tool_call>\n{"name": "sql"}\nselect a/b\n</tool_call>')
    assert not world.allows('<tool_call>\n{"name": "sql"}\ndrop a\n</tool_call>')
    assert not world.allows("words")
    assert not world.allows("<refusal></refusal>")


async def test_lark_tools_are_called_once_where_calls_are_not_parallel_and_have_to_be_where_one_must() -> None:
    tools = (custom("calc", ContractKind.LARK, SUMS), custom("more", ContractKind.LARK, 'start: r\nr: "a" r | "b"'))
    box = toolbox(*tools, function("lookup", ID), mode=ToolMode.REQUIRED, is_parallel=False)
    world = World(await composed(None, box))
    assert world.allows(LOOKUP)
    assert world.allows(f"{CALC}1")
    assert world.allows('<tool_call>\n{"name": "more"}\naab')
    assert not world.allows(f"{LOOKUP}\n{CALC}1")
    assert not world.allows("words")
    other = await composed(None, toolbox(*tools, function("f", ID), mode=ToolMode.REQUIRED, only="f"))
    assert World(other).allows(LOOKUP.replace("lookup", "f"))


async def test_a_lark_grammar_that_ignores_text_stands_alone_or_is_refused_by_its_place() -> None:
    ignoring = custom("calc", ContractKind.LARK, f'{SUMS}\n%ignore " "')
    assert World(await composed(None, toolbox(ignoring, mode=ToolMode.REQUIRED))).allows("1 + 2")
    with pytest.raises(ContractRefusedError) as caught:
        await composed(None, toolbox(ignoring))
    assert caught.value.param == "tools[0].custom.format"
    assert caught.value.rejections[0].keyword == "%ignore"


async def test_one_strict_schema_beside_a_lark_tool_makes_all_strict() -> None:
    lark = custom("calc", ContractKind.LARK, SUMS)
    loose = await composed(None, toolbox(lark, function("f", ID)))
    firm = await composed(None, toolbox(lark, function("f", ID), function("g", ID, strict=True)))
    assert loose.taken is not None
    assert firm.taken is not None
    assert (loose.taken.policy.allow_checked_after, firm.taken.policy.allow_checked_after) == (True, False)


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
