"""Structural tags through the engine: free text, what ends it, and what cannot be told apart."""

from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from compiler_pool.lowering.outcome import Refused
from registry.errors import ContractRejectedError
from tests.compiler_pool.kinds.generation import Generation, codes, lowered
from tests.compiler_pool.kinds.grammars import short_texts, structural_tags

ANY: dict[str, Any] = {"type": "any_text"}
OBJECT = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"], "additionalProperties": False}
TEXTS = [*short_texts("a<>b", 4), "12", "1", "[]", '"a"', "<a1>", "<b[]/", "<ab>a<ab>", '<a"a">']


def tagged(tree: Any) -> Any:
    return {"type": "structural_tag", "format": tree}


def tag(begin: str, content: Any, end: Any) -> Any:
    return {"type": "tag", "begin": begin, "content": content, "end": end}


def test_the_older_wire_format_generates_what_the_newer_does() -> None:
    older: Any = {
        "type": "structural_tag",
        "structures": [{"begin": "<f>", "schema": OBJECT, "end": "</f>"}],
        "triggers": ["<f"],
    }
    newer = tagged(
        {
            "type": "triggered_tags",
            "triggers": ["<f"],
            "tags": [tag("<f>", {"type": "json_schema", "json_schema": OBJECT}, "</f>")],
        }
    )
    assert Generation("structural_tag", older).grammar == Generation("structural_tag", newer).grammar


def test_a_tag_whose_begin_begins_anothers_is_told_apart_by_what_follows() -> None:
    tags = [
        tag("<a", {"type": "regex", "pattern": "b*[0-9]"}, ">"),
        tag("<ab", {"type": "regex", "pattern": "b*x"}, ">"),
    ]
    contract = Generation("structural_tag", tagged({"type": "triggered_tags", "triggers": ["<"], "tags": tags}))
    made = ["", "<a1>", "<ab1>", "<abbb2>", "<abx>", "<abbx>-<a1>"]
    assert [text for text in made if not contract.generates(text)] == []
    assert contract.disagreements([*made, "<", "<ax>", "<a>", "<ab>"]) == []


def _after_free_text(content: Any) -> Any:
    return {"type": "sequence", "elements": [ANY, tag("<", content, ">")]}


def test_what_follows_equal_free_texts_of_two_alternatives_is_told_apart() -> None:
    words = [{"type": "const_string", "value": "1!"}, {"type": "json_schema", "json_schema": {"type": "string"}}]
    marked = {"type": "plus", "content": tag("b", {"type": "or", "elements": words}, ";")}
    one = {"type": "sequence", "elements": [{"type": "regex", "pattern": "a*"}, marked]}
    other = {"type": "regex", "pattern": "a*b1x"}
    tree = {"type": "or", "elements": [_after_free_text(one), _after_free_text(other)]}
    contract = Generation("structural_tag", tagged(tree))
    made = ["-<aab1!;>", "<b1x>", "<ab1!;b1!;>", "<aab1x>"]
    assert [text for text in made if not contract.generates(text)] == []
    assert contract.disagreements([*made, "<aab;>", "<ab1>"]) == []


def test_json_that_equal_free_texts_lead_to_is_not_mixed_with_other_text() -> None:
    number = tag("b", {"type": "json_schema", "json_schema": {"type": "integer"}}, ";")
    tree = {"type": "or", "elements": [_after_free_text(number), _after_free_text({"type": "regex", "pattern": "b1x"})]}
    pointer = "/format/elements/0/elements/1/content/content/json_schema"
    assert codes("structural_tag", tagged(tree)) == [("unsupported_value", pointer)]


def test_the_name_of_a_special_token_is_text_like_any_other() -> None:
    contract = Generation("structural_tag", tagged(tag("<|im_start|>", ANY, "<|im_end|>")))
    assert contract.generates("<|im_start|>x<|im_end|>")
    assert not contract.generates("<|im_start|>x")


def test_a_schema_inside_is_reported_where_it_stands() -> None:
    tree = tag("(", {"type": "json_schema", "json_schema": OBJECT}, ")")
    report = Generation("structural_tag", tagged(tree)).report
    assert report["/format/content/json_schema/properties/x/type", "type"] == "enforced"
    assert report["/format/begin", "begin"] == report["/format/end", "end"] == "enforced"


def test_every_schema_that_cannot_be_lowered_is_named_in_one_answer() -> None:
    loose = {"type": "array", "items": {"type": "number"}, "uniqueItems": True}
    tree = {
        "type": "sequence",
        "elements": [tag("(", {"type": "json_schema", "json_schema": loose}, ")") for _ in range(2)],
    }
    assert codes("structural_tag", tagged(tree)) == [
        ("unsupported_keyword", f"/format/elements/{number}/content/json_schema/uniqueItems") for number in range(2)
    ]


@pytest.mark.parametrize(
    ("tree", "pointer"),
    [
        ({"type": "sequence", "elements": [ANY, {"type": "regex", "pattern": "[0-9]"}]}, "/format/elements/0"),
        ({"type": "or", "elements": [ANY, tag("<", ANY, ">")]}, "/format/elements/0"),
        ({"type": "star", "content": ANY}, "/format/content"),
        (
            {"type": "sequence", "elements": [{"type": "json_schema", "json_schema": {"type": "number"}}] * 2},
            "/format/elements/0/json_schema",
        ),
        (
            tag("<o>", {"type": "triggered_tags", "triggers": ["<"], "tags": [tag("<i>", ANY, ">")]}, "</o>"),
            "/format/content",
        ),
    ],
)
def test_what_no_text_tells_apart_is_refused_at_its_place(tree: Any, pointer: str) -> None:
    assert codes("structural_tag", tagged(tree)) == [("unsupported_value", pointer)]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(contract=structural_tags, seeds=st.lists(st.integers(0, 2**16), min_size=3, max_size=3))
def test_engine_and_judge_agree_on_every_short_text_and_on_what_masks_lead_to(contract: Any, seeds: list[int]) -> None:
    try:
        assume(not isinstance(lowered("structural_tag", contract)[1], Refused))
    except ContractRejectedError:
        assume(False)
    generation = Generation("structural_tag", contract)
    assert generation.disagreements(TEXTS) == []
    walks = [text for seed in seeds if (text := generation.walk(seed, 30)) is not None]
    assert generation.disagreements(walks) == []
