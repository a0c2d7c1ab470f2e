"""Each way a contract can be worded wrongly, with the code and the place it is refused with."""

from typing import Any

import pytest

from policy.enforcement import EnforcementPolicy, Unknown
from registry.errors import MAX_REJECTIONS
from registry.keywords import SHAPES, Shape
from registry.wording import closest
from tests.registry.reading import LENIENT, STRICT, read, refusal, refusals


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        (3, ""), ([], ""), (None, ""), ("string", ""),
        ({"type": "strng"}, "/type"), ({"type": []}, "/type"), ({"type": ["null", "null"]}, "/type"),
        ({"type": {}}, "/type"), ({"enum": {}}, "/enum"), ({"minLength": -1}, "/minLength"),
        ({"minLength": 1.5}, "/minLength"), ({"minLength": True}, "/minLength"), ({"minLength": "1"}, "/minLength"),
        ({"maximum": "1"}, "/maximum"), ({"maximum": True}, "/maximum"), ({"multipleOf": 0}, "/multipleOf"),
        ({"multipleOf": -1}, "/multipleOf"), ({"uniqueItems": 1}, "/uniqueItems"), ({"required": "a"}, "/required"),
        ({"required": ["a", "a"]}, "/required"), ({"required": [1]}, "/required"), ({"required": True}, "/required"),
        ({"properties": []}, "/properties"), ({"properties": {"a": 1}}, "/properties"), ({"items": [{}]}, "/items"),
        ({"items": None}, "/items"), ({"allOf": []}, "/allOf"), ({"allOf": {}}, "/allOf"), ({"anyOf": [1]}, "/anyOf"),
        ({"not": "x"}, "/not"), ({"dependentRequired": {"a": "b"}}, "/dependentRequired"),
        ({"dependentSchemas": {"a": []}}, "/dependentSchemas"), ({"$ref": 1}, "/$ref"), ({"$id": 1}, "/$id"),
        ({"$id": "a#b"}, "/$id"), ({"$anchor": "1a"}, "/$anchor"), ({"$schema": 1}, "/$schema"),
        ({"$defs": []}, "/$defs"), ({"$vocabulary": {"x": 1}}, "/$vocabulary"), ({"format": 1}, "/format"),
        ({"title": 1}, "/title"), ({"examples": {}}, "/examples"), ({"deprecated": "no"}, "/deprecated"),
        ({"pattern": 1}, "/pattern"), ({"contentSchema": 1}, "/contentSchema"), ({"$comment": {}}, "/$comment"),
        ({"properties": {"a/b": {"anyOf": [{}, {"minItems": "x"}]}}}, "/properties/a~1b/anyOf/1/minItems"),
        ({"$defs": {"unused": {"type": 1}}}, "/$defs/unused/type"),
        ({"contentSchema": {"type": 1}}, "/contentSchema/type"),
    ],
)  # fmt: skip
def test_a_value_of_the_wrong_shape_is_an_invalid_schema(schema: Any, pointer: str) -> None:
    assert refusal(schema, policy=LENIENT) == ("invalid_schema", pointer)


def test_every_keyword_has_its_shape_checked() -> None:
    unchecked = {keyword for keyword, shape in SHAPES.items() if shape is Shape.ANY}
    assert unchecked == {"const", "default"}
    wrong: dict[Shape, Any] = {Shape.BOOLEAN: "true", Shape.SCHEMA: 1}
    for keyword, shape in SHAPES.items():
        if keyword not in unchecked:
            found = refusals({keyword: wrong.get(shape, True)}, policy=LENIENT)
            assert found[0].pointer == f"/{keyword}"
            assert found[0].code in {"invalid_schema", "foreign_dialect_keyword"}


def test_a_schema_inside_data_is_not_a_schema() -> None:
    data = {"type": "strng", "x-guidance": {}, "$ref": "http://example.com", "$id": "a#b"}
    read({"enum": [data], "default": data, "examples": [data], "const": data})
    read({"properties": {"$ref": {"type": "string"}, "x-guidance": {"type": "null"}, "nullable": True}})


@pytest.mark.parametrize("policy", [STRICT, LENIENT])
def test_x_guidance_is_reserved_wherever_a_schema_is(policy: EnforcementPolicy) -> None:
    assert refusal({"x-guidance": {"lenient": True}}, policy=policy) == ("reserved_keyword", "/x-guidance")
    deep: Any = {"$defs": {"unused": {"items": {"x-guidance": {}}}}}
    assert refusal(deep, policy=policy) == ("reserved_keyword", "/$defs/unused/items/x-guidance")


@pytest.mark.parametrize(
    ("misspelt", "meant"),
    [
        ("additonalProperties", "additionalProperties"), ("reqired", "required"), ("minlength", "minLength"),
        ("oneof", "oneOf"), ("propertes", "properties"), ("patern", "pattern"), ("maximun", "maximum"),
        ("uniqueitems", "uniqueItems"), ("desciption", "description"), ("healthWorker", None), ("k" * 10_000, None),
    ],
)  # fmt: skip
def test_a_misspelt_keyword_is_refused_with_a_guess(misspelt: str, meant: str | None) -> None:
    (found,) = refusals({"items": {misspelt: 1}})
    assert (found.code, found.pointer, found.suggestion) == ("unknown_keyword", f"/items/{misspelt}", meant)
    assert len(found.message) < 300


def test_vendor_annotations_and_x_members_are_let_through() -> None:
    contract = read({"type": "null", "x-order": 1, "markdownDescription": "m", "tsType": "T", "propertyOrder": 2})
    assert contract.text == '{"type":"null"}'
    assert {entry.status.value for entry in contract.annotations} == {"annotation"}


def test_an_unknown_keyword_is_an_annotation_where_the_policy_says_so() -> None:
    policy = EnforcementPolicy(unknown_keyword=Unknown.ANNOTATION)
    assert [entry.keyword for entry in read({"healthWorker": 1}, policy=policy).annotations] == ["healthWorker"]


def test_an_unknown_format_is_refused_or_an_annotation() -> None:
    (found,) = refusals({"format": "datetime"})
    assert (found.code, found.pointer, found.suggestion) == ("unknown_format", "/format", "date-time")
    policy = EnforcementPolicy(unknown_format=Unknown.ANNOTATION)
    assert read({"type": "string", "format": "datetime"}, policy=policy).text == '{"type":"string"}'
    assert read({"format": "date-time"}, policy=policy).text == '{"format":"date-time"}'


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "nullable": True},
        {"exclusiveMinimum": True, "minimum": 1},
        {"exclusiveMaximum": False},
        {"$schema": "https://json-schema.org/draft/2020-12/schema", "dependencies": {"a": ["b"]}},
    ],
)
def test_constraints_of_other_dialects_are_refused_under_every_policy(schema: dict[str, Any]) -> None:
    for policy in (STRICT, LENIENT):
        code, pointer = refusal(schema, policy=policy)
        assert code == "foreign_dialect_keyword"
        assert pointer.removeprefix("/") in {"nullable", "exclusiveMinimum", "exclusiveMaximum", "dependencies"}


@pytest.mark.parametrize(
    "keyword",
    ["example", "xml", "externalDocs", "id", "additionalItems", "$recursiveRef"],
)
def test_keywords_of_other_dialects_are_refused_unless_unknown_ones_are_annotations(keyword: str) -> None:
    assert refusal({keyword: {}}) == ("foreign_dialect_keyword", f"/{keyword}")
    assert [entry.keyword for entry in read({keyword: {}}, policy=LENIENT).annotations] == [keyword]


def test_several_faults_are_told_at_once_and_not_without_end() -> None:
    found = refusals({"type": 1, "x-guidance": {}, "reqired": [], "properties": {"a": {"format": "x"}}})
    assert [rejection.code for rejection in found] == [
        "invalid_schema", "reserved_keyword", "unknown_keyword", "unknown_format",
    ]  # fmt: skip
    assert len(refusals({"properties": {f"p{n}": {"type": 1} for n in range(100)}})) == MAX_REJECTIONS


@pytest.mark.parametrize("pattern", ["a(?!tmp)", "(a)\\1", "\\bx", "[a", "(?i)x"])
def test_a_pattern_outside_the_shared_subset_is_refused_at_its_keyword(pattern: str) -> None:
    assert refusal({"items": {"pattern": pattern}}) == ("unsupported_regex", "/items/pattern")
    escaped = pattern.replace("~", "~0").replace("/", "~1")
    assert refusal({"patternProperties": {pattern: {}}}) == ("unsupported_regex", f"/patternProperties/{escaped}")


def test_guessing_is_by_the_nearest_name() -> None:
    assert closest("Enum", {"enum": "enum"}) == "enum"
    assert closest("x" * 41, {"x" * 41: "never"}) is None
