"""Answers read back from their text, however it was cut into deltas."""

import itertools
import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.answer import Answer, AnswerInParts, AnswerPart, Call, CallPart, RefusalPart, TextPart
from gateway.composition.shape import Shape, Thought, Words
from gateway.composition.splitter import Splitter
from inference_node.protocol import TokenLogprob
from inference_node.tool_dialects.hermes import HERMES

TOOLS = {"lookup": False, "look": False, "sql": True}
FREE = Shape(words=Words.FREE, customs=TOOLS)
EITHER = Shape(words=Words.JSON, customs=TOOLS, may_refuse=True, thought=Thought.MAYBE)
CALLS = Shape(words=Words.NONE, customs=TOOLS)
THINKING = Shape(words=Words.FREE, customs=TOOLS, thought=Thought.ALWAYS)
PLAIN_JSON = Shape(words=Words.JSON)


def read(shape: Shape, deltas: Sequence[str], *, is_cut: bool = False) -> tuple[Answer, list[AnswerPart], bool]:
    numbers = itertools.count(1)
    splitter = Splitter(shape, call_id=lambda: f"call_{next(numbers)}")
    parts = [part for delta in deltas for part in splitter.feed(delta)]
    parts += splitter.end(is_cut=is_cut)
    answer = AnswerInParts(is_plain=shape.is_plain)
    for part in parts:
        answer.add(part)
    return answer.answer(), parts, splitter.is_closed


def whole(shape: Shape, text: str, *, is_cut: bool = False) -> Answer:
    answer, _, _ = read(shape, [text], is_cut=is_cut)
    return answer


LOOKUP = HERMES.call_text("lookup", '{"id":7}', is_custom=False)
SQL = HERMES.call_text("sql", "select '</tool' \\ud83d", is_custom=True)
DONE = (
    (FREE, "Hello.", Answer(content="Hello.")),
    (FREE, "", Answer(content="")),
    (FREE, "a < b <tool", Answer(content="a < b <tool")),
    (FREE, "  two \n words  ", Answer(content="  two \n words  ")),
    (
        FREE,
        f"I'll check.\n\n{LOOKUP}\n{SQL}\n",
        Answer(
            content="I'll check.",
            calls=(
                Call(call_id="call_1", name="lookup", is_custom=False, text='{"id":7}'),
                Call(call_id="call_2", name="sql", is_custom=True, text="select '</tool' \\ud83d"),
            ),
        ),
    ),
    (
        EITHER,
        LOOKUP,
        Answer(content=None, calls=(Call(call_id="call_1", name="lookup", is_custom=False, text='{"id":7}'),)),
    ),
    (EITHER, '{"verdict":"ok"}', Answer(content='{"verdict":"ok"}')),
    (EITHER, '{"a":"</think><refusal><tool_call>\\n"}', Answer(content='{"a":"</think><refusal><tool_call>\\n"}')),
    (EITHER, '<think>plan</think>{"a":"x"}', Answer(content='{"a":"x"}', reasoning="plan")),
    (EITHER, '<think></think>\n\n{"a":"</think> is data"}', Answer(content='{"a":"</think> is data"}')),
    (EITHER, "<refusal>I can't help with that.</refusal>", Answer(content=None, refusal="I can't help with that.")),
    (
        EITHER,
        "<think>no</think>\n\n<refusal>I can't.</refusal>",
        Answer(content=None, refusal="I can't.", reasoning="no"),
    ),
    (EITHER, '{"steps":["I can\'t help"]}', Answer(content='{"steps":["I can\'t help"]}')),
    (
        CALLS,
        HERMES.call_text("look", '{"a":{"}":"\\"}{"},"b":[[]]}', is_custom=False),
        Answer(
            content=None,
            calls=(Call(call_id="call_1", name="look", is_custom=False, text='{"a":{"}":"\\"}{"},"b":[[]]}'),),
        ),
    ),
    (THINKING, "<think>hm</think>\n\nWell.", Answer(content="Well.", reasoning="hm")),
    (Shape(words=Words.FREE, thought=Thought.MAYBE), "<think>hm</think>Well.", Answer(content="Well.", reasoning="hm")),
    (Shape(words=Words.FREE, thought=Thought.MAYBE), "<thinking is good>", Answer(content="<thinking is good>")),
    (Shape(words=Words.FREE, thought=Thought.MAYBE), "<think", Answer(content="<think")),
    (Shape(words=Words.TEXT, thought=Thought.MAYBE), "<think>x</think>\n", Answer(content="\n", reasoning="x")),
    (
        Shape(words=Words.TEXT, customs={"sql": True}, whole_call="sql"),
        "select 1",
        Answer(content=None, calls=(Call(call_id="call_1", name="sql", is_custom=True, text="select 1"),)),
    ),
    (
        Shape(words=Words.TEXT, customs={"sql": True}, whole_call="sql"),
        "",
        Answer(content=None, calls=(Call(call_id="call_1", name="sql", is_custom=True, text=""),)),
    ),
    (
        Shape(words=Words.FREE, customs={"sql": True, "look": False}, open_ended=frozenset({"sql"})),
        "So:\n" + HERMES.call_text("look", "{}", is_custom=False) + '<tool_call>\n{"name": "sql"}\na</tool_call>\n',
        Answer(
            content="So:",
            calls=(
                Call(call_id="call_1", name="look", is_custom=False, text="{}"),
                Call(call_id="call_2", name="sql", is_custom=True, text="a</tool_call>\n"),
            ),
        ),
    ),
    (PLAIN_JSON, '"\\ud83d\\ude00"', Answer(content='"\\ud83d\\ude00"')),
)


@pytest.mark.parametrize(("shape", "text", "answer"), DONE)
def test_a_finished_text_is_read_as_what_it_says(shape: Shape, text: str, answer: Answer) -> None:
    found, _, is_closed = read(shape, [text])
    assert found == answer
    assert is_closed


@pytest.mark.parametrize(("shape", "text", "answer"), DONE)
def test_where_a_text_is_cut_into_deltas_makes_no_difference(shape: Shape, text: str, answer: Answer) -> None:
    for at in range(len(text) + 1):
        assert read(shape, [text[:at], text[at:]])[0] == answer
    assert read(shape, [*text])[0] == answer


CUT = (
    (FREE, "Hello <tool_ca", Answer(content="Hello")),
    (FREE, "Hello ", Answer(content="Hello ")),
    (FREE, '<tool_call>\n{"name": "loo', Answer(content=None)),
    (
        CALLS,
        '<tool_call>\n{"name": "lookup", "arguments": {"id":',
        Answer(content=None, calls=(Call(call_id="call_1", name="lookup", is_custom=False, text='{"id":'),)),
    ),
    (
        CALLS,
        '<tool_call>\n{"name": "lookup", "arguments": {"id":7}}\n</tool_',
        Answer(content=None, calls=(Call(call_id="call_1", name="lookup", is_custom=False, text='{"id":7}'),)),
    ),
    (
        CALLS,
        '<tool_call>\n{"name": "sql"}\nselect 1\n</tool_ca',
        Answer(content=None, calls=(Call(call_id="call_1", name="sql", is_custom=True, text="select 1"),)),
    ),
    (EITHER, '<think>plan {"a":"x"}', Answer(content=None, reasoning='plan {"a":"x"}')),
    (EITHER, "<think>plan</thi", Answer(content=None, reasoning="plan")),
    (EITHER, "<refusal>I can", Answer(content=None, refusal="I can")),
    (EITHER, "<ref", Answer(content=None)),
    (EITHER, '{"a":"\\ud83d', Answer(content='{"a":"\\ud83d')),
)


@pytest.mark.parametrize(("shape", "text", "answer"), CUT)
def test_a_text_that_is_cut_gives_out_what_was_said_and_no_markup(shape: Shape, text: str, answer: Answer) -> None:
    for at in range(len(text) + 1):
        found, _, is_closed = read(shape, [text[:at], text[at:]], is_cut=True)
        assert found == answer
        assert not is_closed


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        (CALLS, "Hello"),
        (CALLS, ""),
        (CALLS, f"{LOOKUP} and more"),
        (CALLS, LOOKUP[:-1]),
        (CALLS, HERMES.call_text("unknown", "{}", is_custom=False)),
        (EITHER, "<refusal>I can't.</refusal> but"),
        (EITHER, "<refusal>I can't."),
        (EITHER, "<think>never ends"),
        (THINKING, "no thought"),
    ],
)
def test_a_text_outside_of_the_structure_is_never_closed(shape: Shape, text: str) -> None:
    assert not read(shape, [text])[2]
    assert not read(shape, [*text])[2]


def test_an_escape_is_never_split_between_two_deltas() -> None:
    text = '{"a":"\\ud83d\\ude00\\\\ud83d\\n\\u0041","\\ud83d":1,"b\\ud83dx":2}'
    for shape, before, after in (
        (PLAIN_JSON, "", ""),
        (CALLS, '<tool_call>\n{"name": "look", "arguments": ', "}\n</tool_call>"),
    ):
        _, parts, _ = read(shape, [*f"{before}{text}{after}"])
        deltas = [part.text for part in parts if isinstance(part, TextPart | CallPart)]
        assert "".join(deltas) == text
        ends = set(itertools.accumulate(map(len, deltas)))
        whole_ones = {0}
        at = 0
        while at < len(text):
            length = 1
            if text[at] == "\\":
                length = 6 if text[at + 1] == "u" else 2
                if text.startswith("\\ud83d\\ude00", at):
                    length = 12
            at += length
            whole_ones.add(at)
        assert ends <= whole_ones


def test_what_may_be_said_at_once_is_said_at_once() -> None:
    splitter = Splitter(FREE)
    assert splitter.feed("Hello") == [TextPart(text="Hello")]
    assert splitter.feed(" <") == []
    assert splitter.feed("b>") == [TextPart(text=" <b>")]
    refusing = Splitter(EITHER)
    assert refusing.feed("<refusal>No") == [RefusalPart(text="No")]


def test_log_probabilities_stay_with_the_text_of_their_tokens() -> None:
    def token(text: str) -> TokenLogprob:
        return TokenLogprob(text=text, token_bytes=[*text.encode()], logprob=-1.0)

    splitter = Splitter(EITHER)
    parts: list[AnswerPart] = []
    for text in ("<thi", "nk>h", "m</think>", "\n\n", "<refu", "sal>I", " can", "'t.</", "refusal>"):
        parts += splitter.feed(text, [token(text)])
    parts += splitter.end(is_cut=False)
    refusals = [part for part in parts if isinstance(part, RefusalPart)]
    assert "".join(part.text for part in refusals) == "I can't."
    told = [token.text for part in refusals for token in part.logprobs or ()]
    assert told == [" can", "'t.</"]  # a token belongs to where it begins


def test_a_character_in_two_tokens_has_both() -> None:
    first, second = "é".encode()
    splitter = Splitter(PLAIN_JSON)
    assert splitter.feed("", [TokenLogprob(text="\ufffd", token_bytes=[first], logprob=-1.0)]) == []
    (part,) = splitter.feed("é", [TokenLogprob(text="\ufffd", token_bytes=[second], logprob=-2.0)])
    assert isinstance(part, TextPart)
    assert [token.logprob for token in part.logprobs or ()] == [-1.0, -2.0]


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
ARGUMENTS = st.dictionaries(st.text(max_size=8), JSON_VALUES, max_size=4).flatmap(
    lambda value: st.sampled_from([json.dumps(value), json.dumps(value, ensure_ascii=False)])
)
WORDS = st.text(st.sampled_from("ab<tol_cr>\n \\u"), max_size=30).filter(lambda text: "<tool_call>\n" not in text)
INPUTS = st.text(st.sampled_from("ab</tol_c>\n {}"), max_size=30).filter(
    lambda text: "\n</tool_call>" not in text + "\n</tool_cal"
)

CALLED = st.tuples(st.sampled_from(["lookup", "look"]), ARGUMENTS) | st.tuples(st.just("sql"), INPUTS)


@given(
    words=WORDS,
    calls=st.lists(
        st.tuples(st.sampled_from(["lookup", "look"]), ARGUMENTS) | st.tuples(st.just("sql"), INPUTS), max_size=3
    ),
    cuts=st.lists(st.integers(0, 400), max_size=12),
)
def test_words_and_calls_come_back_as_they_were_written(
    words: str, calls: list[tuple[str, str]], cuts: list[int]
) -> None:
    text = words + "\n".join(HERMES.call_text(name, said, is_custom=TOOLS[name]) for name, said in calls)
    places = sorted({0, *(cut for cut in cuts if cut < len(text)), len(text)})
    answer, _, is_closed = read(FREE, [text[start:end] for start, end in itertools.pairwise(places)] or [text])
    assert is_closed
    assert [(call.name, call.text) for call in answer.calls] == calls
    kept = words.rstrip(" \n") if calls else words
    assert (answer.content or "") == kept
    assert answer == whole(FREE, text)
