"""Tools whose input is a Lark grammar, beside whatever else is allowed, asked of the real engine."""

import pytest

from gateway.answer import AnswerInParts
from gateway.composition.splitter import Splitter
from gateway.errors import ContractRefusedError
from gateway.intent import ToolMode
from registry.contract import ContractKind
from tests.gateway.composition.world import ID, LOOKUP, VERDICT, World, composed, custom, function, taken, toolbox


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
