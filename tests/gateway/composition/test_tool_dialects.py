"""Calls in every spelling: what the engine may write, the judge takes and the splitter reads back."""

import itertools
import json
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.answer import Answer, AnswerInParts, Call
from gateway.composition.shape import Shape, Thought, Words
from gateway.composition.splitter import Splitter
from gateway.errors import ContractRefusedError, InvalidRequestError
from gateway.intent import ToolMode
from inference_node.tool_dialects.choosing import TOOL_DIALECTS
from inference_node.tool_dialects.dialect import ToolDialect
from inference_node.tool_dialects.dsml import DSML, DSML_V4
from inference_node.tool_dialects.hermes import HERMES, NEUTRAL
from inference_node.tool_dialects.llama import LLAMA_JSON
from registry.contract import ContractKind, JsonValue
from tests.gateway.composition.world import ID, VERDICT, World, composed, custom, function, taken, toolbox

ALL = [HERMES, LLAMA_JSON, DSML, DSML_V4]
NAMES = [dialect.name for dialect in ALL]
FORMS = [HERMES, LLAMA_JSON, DSML]
"""One of each form, for what asks the engine."""
beside_answers = pytest.mark.parametrize("dialect", [HERMES, DSML], ids=["hermes", "dsml"])
every_dialect = pytest.mark.parametrize("dialect", FORMS, ids=[form.name for form in FORMS])

MARKERS = [
    "<tool_call>\n", "\n</tool_call>", '{"name": "', '"}', "</\uff5cDSML\uff5cparameter>",
    "\n</\uff5cDSML\uff5cinvoke>", "<\uff5cDSML\uff5cfunction_calls>", "</think>", "<refusal>", "<", "\\", '"', "\n",
]  # fmt: skip


def spelled(dialect: ToolDialect, arguments: dict[str, JsonValue]) -> str:
    """Arguments as the dialect writes them, where no string may stand as it is."""
    if dialect.parameters is None:
        return json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))
    return "".join(
        dialect.parameters.begin(name, is_text=False)
        + json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        + dialect.parameters.end
        for name, value in arguments.items()
    )


def call(dialect: ToolDialect, arguments: dict[str, JsonValue], name: str = "lookup") -> str:
    return dialect.call_text(name, spelled(dialect, arguments), is_custom=False)


def several(dialect: ToolDialect, calls: Sequence[str]) -> str:
    assert dialect.again is not None
    inner = [one.removeprefix(dialect.begin).removeprefix(dialect.opening).removesuffix(dialect.end) for one in calls]
    first = dialect.begin + dialect.opening
    return first + (dialect.separator + dialect.again).join(inner) + dialect.end


def read(shape: Shape, deltas: Sequence[str], *, is_cut: bool = False) -> tuple[Answer, bool]:
    numbers = itertools.count(1)
    splitter = Splitter(shape, call_id=lambda: f"call_{next(numbers)}")
    answer = AnswerInParts(is_plain=shape.is_plain)
    for part in [part for delta in deltas for part in splitter.feed(delta)] + splitter.end(is_cut=is_cut):
        answer.add(part)
    return answer.answer(), splitter.is_closed


@beside_answers
async def test_an_answer_or_calls_and_never_prose(dialect: ToolDialect) -> None:
    world = World(await composed(await taken(VERDICT), toolbox(function("lookup", ID)), dialect=dialect))
    assert world.allows('{"verdict":"ok"}')
    assert world.allows(call(dialect, {"id": 7}))
    assert not world.allows(call(dialect, {"id": 0}))
    assert not world.allows(call(dialect, {}))
    assert not world.allows(call(dialect, {"id": 7}, name="other"))
    assert not world.allows("I will look it up")
    assert not world.allows(f'{call(dialect, {"id": 7})}{{"verdict":"ok"}}')


@every_dialect
async def test_a_required_call_leaves_no_room_for_words_and_a_name_none_for_others(dialect: ToolDialect) -> None:
    tools = (function("lookup", ID), function("other", ID, index=1))
    world = World(await composed(None, toolbox(*tools, mode=ToolMode.REQUIRED, only="lookup"), dialect=dialect))
    assert world.allows(call(dialect, {"id": 7}))
    assert not world.allows(call(dialect, {"id": 7}, name="other"))
    assert not world.allows("")
    assert not world.allows("Hello")


@every_dialect
async def test_free_words_or_calls(dialect: ToolDialect) -> None:
    world = World(await composed(None, toolbox(function("lookup", ID)), dialect=dialect))
    assert world.allows("")
    assert world.allows('Just words, a < b, {"id": 7} and {"name":"x"}.')
    assert world.allows(call(dialect, {"id": 7}))
    assert not world.allows(f"{call(dialect, {'id': 7})} and more words")
    assert not world.allows(f"{dialect.begin}nothing")
    assert world.allows(f"I'll check.\n\n{call(dialect, {'id': 7})}") is True
    answer, _ = read(world.shape, [f"I'll check.\n\n{call(dialect, {'id': 7})}"])
    assert len(answer.calls) == (1 if dialect.follows_words else 0)


@every_dialect
async def test_calls_are_several_only_where_they_may_be(dialect: ToolDialect) -> None:
    one = call(dialect, {"id": 7})
    single = World(await composed(None, toolbox(function("lookup", ID), is_parallel=False), dialect=dialect))
    assert single.allows(one)
    parallel = World(await composed(None, toolbox(function("lookup", ID)), dialect=dialect))
    if dialect.again is None:
        assert not parallel.allows(one + one)
        return
    assert parallel.allows(several(dialect, [one, one, one]))
    assert not single.allows(several(dialect, [one, one]))


@every_dialect
async def test_a_refusal_is_a_branch_of_its_own(dialect: ToolDialect) -> None:
    box = toolbox(function("lookup", ID), mode=ToolMode.REQUIRED)
    world = World(await composed(None, box, dialect=dialect, refusal=True))
    assert world.allows("<refusal>I can't help with that.</refusal>")
    assert world.allows(call(dialect, {"id": 7}))
    assert read(world.shape, ["<refusal>I can't.</refusal>"])[0] == Answer(content=None, refusal="I can't.")


@every_dialect
async def test_a_thought_in_the_grammar_may_stand_before_a_call(dialect: ToolDialect) -> None:
    box = toolbox(function("lookup", ID), mode=ToolMode.REQUIRED)
    world = World(await composed(None, box, dialect=dialect, thought=True))
    assert world.allows(f"<think>{call(dialect, {'id': 7})}</think>\n\n{call(dialect, {'id': 7})}")


names = st.sampled_from(["f", "get_weather", "a-b", "x" * 64])
texts = st.lists(st.one_of(st.sampled_from(MARKERS), st.text(max_size=4)), max_size=6).map("".join)
values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(10**20), 10**20), texts),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=6,
)
member_names = st.text(st.characters(exclude_characters='"<>\n', exclude_categories=["Cs"]), min_size=1, max_size=6)
all_arguments = st.dictionaries(member_names, values, max_size=4)
words = texts.filter(lambda text: not any(text.startswith(d.begin) or d.begin in text for d in ALL))


@settings(max_examples=120, deadline=None)
@given(data=st.data(), name=names, arguments=all_arguments, dialect=st.sampled_from(ALL))
def test_a_call_reads_back_as_it_was_meant_however_it_is_cut(
    data: st.DataObject, name: str, arguments: dict[str, JsonValue], dialect: ToolDialect
) -> None:
    text = call(dialect, arguments, name)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    deltas = [text[a:b] for a, b in itertools.pairwise([0, *cuts, len(text)])]
    shape = Shape(words=Words.FREE, customs={name: False, "ff": False}, dialect=dialect)
    answer, is_closed = read(shape, deltas)
    meant = json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))
    assert answer == Answer(content=None, calls=(Call(call_id="call_1", name=name, is_custom=False, text=meant),))
    assert is_closed


@settings(max_examples=120, deadline=None)
@given(
    several_arguments=st.lists(all_arguments, min_size=2, max_size=4),
    said=words,
    dialect=st.sampled_from([HERMES, DSML]),
)
def test_calls_after_words_read_back_one_by_one(
    several_arguments: list[dict[str, JsonValue]], said: str, dialect: ToolDialect
) -> None:
    text = several(dialect, [call(dialect, arguments, "f") for arguments in several_arguments])
    shape = Shape(words=Words.FREE, customs={"f": False}, dialect=dialect)
    answer, is_closed = read(shape, [*said, *text])
    assert [json.loads(one.text) for one in answer.calls] == several_arguments
    assert (answer.content or "") == said.rstrip(" \t\r\n")
    assert is_closed


@settings(max_examples=100, deadline=None)
@given(arguments=all_arguments, dialect=st.sampled_from(ALL), data=st.data())
def test_a_call_that_is_cut_is_offered_as_far_as_it_came_and_is_never_closed(
    arguments: dict[str, JsonValue], dialect: ToolDialect, data: st.DataObject
) -> None:
    text = call(dialect, arguments, "f")
    at = data.draw(st.integers(0, len(text) - 1))
    answer, is_closed = read(Shape(words=Words.NONE, customs={"f": False}, dialect=dialect), [text[:at]], is_cut=True)
    meant = json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))
    assert all(meant.startswith(one.text) for one in answer.calls)
    assert (answer.content, is_closed) == (None, False)


@settings(max_examples=100, deadline=None)
@given(value=values)
def test_an_answer_under_a_contract_is_never_taken_for_a_call(value: JsonValue) -> None:
    text = json.dumps({"name": value}, ensure_ascii=False, separators=(",", ":"))
    for dialect in ALL:
        answer, is_closed = read(Shape(words=Words.JSON, customs={"f": False}, dialect=dialect), [*text])
        assert (answer, is_closed) == (Answer(content=text), True)


MIXED: JsonValue = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "unit": {"enum": ["c", "f"]},
        "days": {"type": "integer", "minimum": 1},
        "tags": {"type": "array", "items": {"$ref": "#/$defs/tag"}},
    },
    "required": ["city", "days"],
    "$defs": {"tag": {"type": "string", "pattern": "^[a-z]+$"}},
}


def parameter(name: str, value: str, *, is_text: bool) -> str:
    assert DSML.parameters is not None
    return f"{DSML.parameters.begin(name, is_text=is_text)}{value}{DSML.parameters.end}"


async def test_dsml_writes_plain_strings_as_they_are_and_other_values_as_json() -> None:
    composition = await composed(None, toolbox(function("w", MIXED), mode=ToolMode.REQUIRED), dialect=DSML)
    world = World(composition)
    city, days = parameter("city", 'Bern "1"\n<b>', is_text=True), parameter("days", "3", is_text=False)
    unit, tags = parameter("unit", "c", is_text=True), parameter("tags", '["a","b"]', is_text=False)

    def calling(*parameters: str) -> str:
        return DSML.call_text("w", "".join(parameters), is_custom=False)

    assert world.allows(calling(city, days))
    assert world.allows(calling(city, unit, days, tags))
    assert not world.allows(calling(days, city))
    assert not world.allows(calling(city))
    assert not world.allows(calling(city, days, tags, unit))
    assert not world.allows(calling(city, parameter("unit", "k", is_text=True), days))
    assert not world.allows(calling(city, parameter("days", "0", is_text=False)))
    assert not world.allows(calling(city, days, parameter("tags", '["A"]', is_text=False)))
    assert not world.allows(calling(city, days, parameter("more", "1", is_text=False)))
    answer, _ = read(composition.shape, [calling(city, unit, days, tags)])
    assert answer.calls[0].text == '{"city":"Bern \\"1\\"\\n<b>","unit":"c","days":3,"tags":["a","b"]}'


@pytest.mark.parametrize(
    ("schema", "keyword"),
    [
        ({"type": "object", "minProperties": 1}, "minProperties"),
        (
            {"type": "object", "properties": {"a": True, "b": True}, "dependentRequired": {"a": ["b"]}},
            "dependentRequired",
        ),
        ({"type": "object", "properties": {'a"b': {"type": "string"}}}, "properties"),
        ({"type": "object", "patternProperties": {"^a": {"type": "string"}}}, "patternProperties"),
    ],
)
async def test_what_dsml_cannot_enforce_is_refused_by_name_and_place(schema: JsonValue, keyword: str) -> None:
    tools = toolbox(function("a", ID), function("b", schema, index=1))
    with pytest.raises(ContractRefusedError) as caught:
        await composed(None, tools, dialect=DSML)
    assert caught.value.param == "tools[1].function.parameters"
    assert (caught.value.rejections[0].keyword, DSML.name in str(caught.value.rejections[0].message)) == (keyword, True)
    assert (await composed(None, tools, dialect=HERMES)).taken is not None


async def test_a_custom_tool_of_dsml_takes_its_input_as_it_stands() -> None:
    sql = custom("sql", ContractKind.REGEX, "select [a-z]+")
    world = World(await composed(None, toolbox(sql, custom("note"), mode=ToolMode.REQUIRED), dialect=DSML))
    assert world.allows(DSML.call_text("sql", "select a", is_custom=True))
    assert not world.allows(DSML.call_text("sql", "drop", is_custom=True))
    assert read(world.shape, [DSML.call_text("note", "a\n<b>", is_custom=True)])[0].calls[0].text == "a\n<b>"


@pytest.mark.parametrize(
    ("dialect", "kind", "definition"),
    [
        (LLAMA_JSON, None, ""),
        (LLAMA_JSON, ContractKind.REGEX, "a"),
        (DSML, ContractKind.LARK, 'start: "a"'),
    ],
    ids=["llama-text", "llama-regex", "dsml-lark"],
)
async def test_a_custom_tool_that_cannot_be_called_is_refused(
    dialect: ToolDialect, kind: ContractKind | None, definition: str
) -> None:
    with pytest.raises(InvalidRequestError, match=dialect.name) as caught:
        await composed(None, toolbox(custom("c", kind, definition), function("f", ID)), dialect=dialect)
    assert caught.value.param == "tools[0].custom.format"


@pytest.mark.parametrize(
    ("kind", "definition"),
    [
        (ContractKind.JSON_SCHEMA, VERDICT),
        (ContractKind.REGEX, "[a-z{]+"),
        (ContractKind.CHOICE, ["yes", '{"name": "f"']),
    ],
    ids=["schema", "regex", "choice"],
)
async def test_an_answer_that_could_begin_as_a_call_is_refused_beside_calls(
    kind: ContractKind, definition: JsonValue
) -> None:
    answer = await taken(definition, kind)
    with pytest.raises(InvalidRequestError, match="llama_json") as caught:
        await composed(answer, toolbox(function("f", ID)), dialect=LLAMA_JSON)
    assert caught.value.param == "tools"
    required = await composed(answer, toolbox(function("f", ID), mode=ToolMode.REQUIRED), dialect=LLAMA_JSON)
    assert World(required).allows(call(LLAMA_JSON, {"id": 7}, "f"))


async def test_an_answer_that_begins_otherwise_stands_beside_calls() -> None:
    answer = await taken(["yes", "no"], ContractKind.CHOICE)
    world = World(await composed(answer, toolbox(function("f", ID)), dialect=LLAMA_JSON))
    assert world.allows("yes")
    assert world.allows(call(LLAMA_JSON, {"id": 7}, "f"))


def test_a_wire_name_is_a_dialect() -> None:
    assert set(TOOL_DIALECTS) == {NEUTRAL.name, *NAMES}
    assert Shape(words=Words.FREE).thought is Thought.NEVER
