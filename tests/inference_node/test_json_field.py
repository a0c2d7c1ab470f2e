"""The tracker names the member that is being written, however the text is cut."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference_node.json_field import MAX_DEPTH, MAX_NAME_BYTES, MAX_POINTER_CHARACTERS, JsonField

_SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
_VALUES = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
)


def _after(text: str | bytes) -> str | None:
    field = JsonField()
    field.feed(text.encode() if isinstance(text, str) else text)
    return field.pointer


@pytest.mark.parametrize(
    ("text", "pointer"),
    [
        ("", ""),
        ('"free', ""),
        ("{", ""),
        ('{"us', ""),
        ('{"user"', ""),
        ('{"user":', "/user"),
        ('{"user" : ', "/user"),
        ('{"user":{', "/user"),
        ('{"user":{"age":1', "/user/age"),
        ('{"user":{"age":12,', "/user"),
        ('{"user":{"age":12}', ""),
        ('{"user":{"age":12},"tags":[', "/tags/*"),
        ('{"tags":["a","b"', "/tags"),
        ('{"tags":["a","b",', "/tags/*"),
        ('{"tags":[["a"],[{"b":', "/tags/*/*/b"),
        ('{"tags":[]', ""),
        ('{"a":true', ""),
        ('{"a":tr', "/a"),
        ('{"a":"x\\"y', "/a"),
        ('{"a":"x\\\\"', ""),
        ('{"a/b":{"c~d":', "/a~1b/c~0d"),
        ('{"\\u00e9\\n\\"":', '/é\n"'),
        ('{"\\ud83d\\ude00":', "/😀"),
        ('{"\\ud83d":', "/\ufffd"),
        ('{"":', "/"),
        ("12", ""),
        ('{"a":1}  ', ""),
    ],
)  # fmt: skip
def test_the_member_that_is_due_is_named(text: str, pointer: str) -> None:
    assert _after(text) == pointer


@pytest.mark.parametrize(
    "text",
    [
        "Hello",
        "trud",
        "<tool_call>",
        '{"a":1}{',
        '{"a":1]',
        '{"a" 1',
        "{a:",
        '{"a":,',
        "[1,]x",
        "]",
        '"a"b',
        '"a\nb"',
        '{"a":1,}x',
        "\ufeff{",
    ],
)
def test_of_what_is_no_json_nothing_is_known_for_good(text: str) -> None:
    field = JsonField()
    field.feed(text.encode())
    assert field.pointer is None
    field.feed(b'{"a":')
    assert field.pointer is None


@given(value=_VALUES, data=st.data())
def test_how_a_text_is_cut_makes_no_difference(value: Any, data: st.DataObject) -> None:
    text = json.dumps(value, ensure_ascii=data.draw(st.booleans())).encode("utf-8", "surrogatepass")
    whole, bytewise = JsonField(), JsonField()
    for end in range(len(text)):
        bytewise.feed(text[end : end + 1])
        whole = JsonField()
        whole.feed(text[: end + 1])
        assert whole.pointer == bytewise.pointer
        assert whole.pointer is not None
    assert bytewise.pointer == ""


@given(data=st.binary(max_size=64) | st.text(alphabet='{}[]",:\\u0tf1 ', max_size=64).map(str.encode))
def test_no_bytes_make_it_raise(data: bytes) -> None:
    pointer = _after(data)
    assert pointer is None or len(pointer) <= MAX_POINTER_CHARACTERS


def test_depth_names_and_pointers_are_bounded() -> None:
    assert _after("[" * MAX_DEPTH) == "/*" * (MAX_POINTER_CHARACTERS // 2)
    assert _after("[" * (MAX_DEPTH + 1)) is None

    longest = "x" * MAX_NAME_BYTES
    assert _after(f'{{"a":{{"{longest}":') == f"/a/{longest}"
    assert _after(f'{{"a":{{"{longest}x":') == "/a"
    assert _after(f'{{"{longest}":{{"{longest}":') == f"/{longest}"
