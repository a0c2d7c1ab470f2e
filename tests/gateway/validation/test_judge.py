"""What the judge says, and where it points."""

import json
import socket
import sys

import pytest

from gateway.validation.judge import DocumentLimits, Judge
from gateway.validation.verdict import Invalid, Unjudged, UnjudgedReason, Valid, Verdict


def judged(schema: object, document: str | bytes) -> Verdict:
    text = schema if isinstance(schema, str) else json.dumps(schema)
    judge = Judge.prepare(text)
    data = document.encode() if isinstance(document, str) else document
    return judge if isinstance(judge, Unjudged) else judge.judge(data)


def test_a_fault_is_named_by_keyword_and_pointer() -> None:
    schema = {"properties": {"a/b": {"items": {"properties": {"~": {"type": "integer"}}}}}}
    verdict = judged(schema, '{"a/b": [{"~": 1}, {"~": "x"}]}')
    assert verdict == Invalid(pointer="/a~1b/1/~0", keyword="type", message="expected integer")


@pytest.mark.parametrize(
    ("schema", "document", "pointer", "keyword"),
    [
        ({"properties": {"a": True}, "additionalProperties": False}, '{"a": 1, "x/y": 2}', "/x~1y", "false"),
        ({"properties": {"o": {"additionalProperties": False}}}, '{"o": {"z": 1}}', "/o/z", "false"),
        ({"properties": {"a": False}}, '{"b": 1, "a": 1}', "/a", "false"),
        ({"patternProperties": {"^a": False}}, '{"b": 1, "ab": 1}', "/ab", "false"),
        ({"unevaluatedProperties": False}, '{"a": 1}', "/a", "unevaluatedProperties"),
        ({"propertyNames": {"maxLength": 1}}, '{"a": 1, "ab": 1}', "/ab", "propertyNames"),
        ({"propertyNames": False}, '{"a": 1}', "/a", "propertyNames"),
        ({"items": {"propertyNames": {"enum": ["a"]}}}, '[{"a": 1}, {"b": 1}]', "/1/b", "propertyNames"),
        ({"prefixItems": [True], "items": False}, "[1, 2]", "/1", "false"),
        ({"prefixItems": [True, False]}, "[1, 2]", "/1", "false"),
        ({"unevaluatedItems": False}, "[1]", "/0", "unevaluatedItems"),
        ({"additionalProperties": {"allOf": [False]}}, '{"a": 1}', "/a", "false"),
        ({"dependentSchemas": {"a": False}}, '{"a": 1}', "", "false"),
        ({"if": True, "then": False}, "1", "", "false"),
        (False, "1", "", "false"),
    ],
)
def test_what_may_not_be_there_is_pointed_at(schema: object, document: str, pointer: str, keyword: str) -> None:
    verdict = judged(schema, document)
    assert isinstance(verdict, Invalid)
    assert (verdict.pointer, verdict.keyword) == (pointer, keyword)


@pytest.mark.parametrize(
    ("document", "keyword"),
    [
        (b'{"a": 1, "a": 1}', "duplicate_name"),
        (b'"\\ud800"', "lone_surrogate"),
        (b"NaN", "non_finite_number"),
        (b"[-Infinity]", "non_finite_number"),
        (b"{}{}", "invalid_json"),
        (b"{} x", "invalid_json"),
        (b"", "invalid_json"),
        (b'{"a": 1', "invalid_json"),
        (b"\xff", "invalid_encoding"),
        (b"\xef\xbb\xbf{}", "invalid_encoding"),
    ],
)
def test_what_is_not_one_strict_json_text_is_invalid_under_every_contract(document: bytes, keyword: str) -> None:
    verdict = judged(True, document)
    assert isinstance(verdict, Invalid)
    assert verdict.keyword == keyword


def test_whitespace_around_the_value_belongs_to_the_text() -> None:
    assert judged({"type": "object"}, " \n\t{ } \r\n") == Valid()


@pytest.mark.parametrize(
    ("schema", "document", "is_valid"),
    [
        ('{"type": "integer"}', "1.0", True),
        ('{"type": "integer"}', "1e2", True),
        ('{"type": "integer"}', "1.5", False),
        ('{"type": "number"}', "true", False),
        ('{"const": 9007199254740993}', "9007199254740993", True),
        ('{"const": 9007199254740993}', "9007199254740992", False),
        ('{"enum": [0.1]}', "0.10", True),
        ('{"const": 1}', "true", False),
        ('{"const": {"a": [false]}}', '{"a": [0]}', False),
        ('{"multipleOf": 0.1}', "0.3", True),
        ('{"multipleOf": 0.1}', "0.30000000000000004", False),
        ('{"multipleOf": 1e-7}', "12345678901234567890.0000001", True),
        ('{"multipleOf": 3}', "9007199254740993", True),
        ('{"exclusiveMinimum": 0, "exclusiveMaximum": 1e-10}', "0", False),
        ('{"exclusiveMinimum": 0, "exclusiveMaximum": 1e-10}', "1e-11", True),
        ('{"minimum": 0.1, "maximum": 0.30000000000000004}', "0.3", True),
        ('{"maximum": 18446744073709551616}', "18446744073709551617", False),
        ('{"maxItems": 2.0}', "[1, 2, 3]", False),
        ('{"uniqueItems": true}', '[1, true, 0, false, "1"]', True),
        ('{"uniqueItems": true}', '[{"a": 1, "b": 2}, {"b": 2, "a": 1.0}]', False),
        ('{"maxLength": 1}', '"😀"', True),
        ('{"contains": {"const": 1}, "minContains": 0, "maxContains": 1}', "[2]", True),
        ('{"contains": {"const": 1}, "minContains": 0, "maxContains": 1}', "[1, 1]", False),
    ],
)
def test_numbers_and_comparisons_are_exact(schema: str, document: str, is_valid: bool) -> None:  # noqa: FBT001
    assert isinstance(judged(schema, document), Valid) is is_valid


def test_a_pattern_searches_and_its_dollar_ends_the_text() -> None:
    assert judged({"pattern": "b+"}, '"abbc"') == Valid()
    assert isinstance(judged({"pattern": "^ab$"}, '"ab\\n"'), Invalid)


def test_a_catastrophic_pattern_takes_linear_time() -> None:
    verdict = judged({"pattern": "^(a+)+$"}, json.dumps("a" * 50_000 + "b"))
    assert isinstance(verdict, Invalid)


@pytest.mark.parametrize(
    "schema",
    [
        {"pattern": "(?=a)b"},
        {"pattern": "(a)\\1"},
        {"patternProperties": {"(?!x)": True}},
        {"propertyNames": {"pattern": "(?<=a)"}},
        {"anyOf": [{"pattern": "(?=a)"}, True]},
        {"not": {"pattern": "(?=a)"}},
    ],
)
def test_a_pattern_that_cannot_run_leaves_the_document_unjudged(schema: object) -> None:
    document = '"ab"' if "pattern" in str(schema) and "ropert" not in str(schema) else '{"a": 1}'
    verdict = judged(schema, document)
    assert isinstance(verdict, Unjudged)
    assert verdict.reason is UnjudgedReason.PATTERN


def test_a_pattern_that_needs_too_much_memory_leaves_the_document_unjudged() -> None:
    verdict = judged({"pattern": "((a{1,60}){1,60}){1,60}"}, '"a"')
    assert isinstance(verdict, Unjudged)
    assert verdict.reason is UnjudgedReason.PATTERN


def test_an_unknown_format_is_an_annotation() -> None:
    assert judged({"format": "colour"}, '"x"') == Valid()


def test_a_format_says_nothing_about_other_types() -> None:
    assert judged({"format": "date"}, "20230231") == Valid()


@pytest.fixture
def no_sockets(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    attempts: list[str] = []

    def refuse(*arguments: object, **_options: object) -> None:
        attempts.append(str(arguments))
        raise AssertionError("the judge opened a socket")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr("urllib.request.urlopen", refuse)
    return attempts


@pytest.mark.parametrize("uri", ["http://127.0.0.1:9/x.json", "https://example.org/x", "file:///etc/passwd", "urn:x:y"])
def test_a_reference_that_leads_outside_is_never_followed(uri: str, no_sockets: list[str]) -> None:
    verdict = judged({"$ref": uri}, "1")
    assert isinstance(verdict, Unjudged)
    assert verdict.reason is UnjudgedReason.REFERENCE
    assert no_sockets == []


@pytest.mark.parametrize("keyword", ["$ref", "$dynamicRef"])
def test_a_reference_inside_that_leads_nowhere_is_not_judged(keyword: str) -> None:
    verdict = judged({keyword: "#/$defs/missing"}, "1")
    assert isinstance(verdict, Unjudged)
    assert verdict.reason is UnjudgedReason.REFERENCE


def test_an_embedded_dialect_does_not_bring_back_another_evaluator() -> None:
    draft = "https://json-schema.org/draft/2020-12/schema"
    schema = {"properties": {"a": {"$schema": draft, "format": "date", "multipleOf": 0.1}}}
    assert isinstance(judged(schema, '{"a": "2023-02-31"}'), Invalid)
    older = {"properties": {"a": {"$schema": "http://json-schema.org/draft-07/schema#", "type": "string"}}}
    verdict = judged(older, '{"a": "x"}')
    assert isinstance(verdict, Unjudged)
    assert verdict.reason is UnjudgedReason.CONTRACT


def test_a_document_past_the_limits_is_not_judged() -> None:
    judge = Judge.prepare("true", limits=DocumentLimits(max_document_bytes=20, max_nesting=3))
    assert isinstance(judge, Judge)
    assert judge.judge(b"[[[1]]]") == Valid()
    for document in (b"[[[[1]]]]", b'"' + b"x" * 30 + b'"'):
        verdict = judge.judge(document)
        assert isinstance(verdict, Unjudged)
        assert verdict.reason is UnjudgedReason.DOCUMENT_LIMIT


def test_recursion_without_an_end_is_not_judged() -> None:
    verdict = judged({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}, "1")
    assert isinstance(verdict, Unjudged)
    assert verdict.reason is UnjudgedReason.DEPTH


@pytest.mark.parametrize("num_frames", range(8))
def test_wherever_the_last_frame_is_taken_it_is_recursion(num_frames: int) -> None:
    """Also within what references are looked up in, which is no Python."""

    def deeper(left: int) -> None:
        if left:
            return deeper(left - 1)
        verdict = judged({"$ref": "#/$defs/a", "$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}]}}}, "1")
        assert isinstance(verdict, Unjudged)
        assert verdict.reason is UnjudgedReason.DEPTH
        return None

    deeper(num_frames)


def test_a_document_deeper_than_the_interpreter_follows_is_not_judged() -> None:
    judge = Judge.prepare('{"items": {"$ref": "#"}}', limits=DocumentLimits(max_nesting=400))
    assert isinstance(judge, Judge)
    depth = 400
    assert depth * 5 > sys.getrecursionlimit()
    verdict = judge.judge(b"[" * depth + b"]" * depth)
    assert isinstance(verdict, Unjudged)
    assert verdict.reason is UnjudgedReason.DEPTH


@pytest.mark.parametrize("text", ["", "[]", "1", '{"a":1,"a":1}', "{", '{"$schema": "http://x/y"}'])
def test_a_text_that_is_no_schema_of_this_dialect_judges_nothing(text: str) -> None:
    judge = Judge.prepare(text)
    assert isinstance(judge, Unjudged)
    assert judge.reason is UnjudgedReason.CONTRACT


def test_a_message_never_carries_the_document() -> None:
    secret = "s3cr3t" * 10
    for schema in ({"type": "integer"}, {"const": 1}, {"not": True}, {"anyOf": [False]}, False, {"pattern": "^x"}):
        verdict = judged(schema, json.dumps(secret))
        assert isinstance(verdict, Invalid)
        assert "s3cr3t" not in verdict.message
        assert len(verdict.message) < 200


def test_unevaluated_members_are_those_that_no_accepting_branch_has_seen() -> None:
    schema = {
        "anyOf": [{"properties": {"a": {"type": "string"}}, "required": ["a"]}, {"patternProperties": {"^b": True}}],
        "unevaluatedProperties": False,
    }
    assert judged(schema, '{"a": "x", "b1": 1}') == Valid()
    verdict = judged(schema, '{"a": 1}')
    assert isinstance(verdict, Invalid)
    assert (verdict.pointer, verdict.keyword) == ("/a", "unevaluatedProperties")


def test_a_large_array_of_unique_items_is_judged_in_one_pass() -> None:
    items = [{"id": number, "tag": [number % 7]} for number in range(20_000)]
    assert judged({"uniqueItems": True}, json.dumps(items)) == Valid()
    assert isinstance(judged({"uniqueItems": True}, json.dumps([*items, items[5]])), Invalid)


@pytest.mark.parametrize("number", [b"1e99999", b"1e401", b"9" * 130, b"-0." + b"1" * 200])
def test_an_endless_number_is_the_documents_fault_and_invalid(number: bytes) -> None:
    judge = Judge.prepare('{"type":"array"}')
    assert isinstance(judge, Judge)
    verdict = judge.judge(b"[1," + number + b"]")
    assert isinstance(verdict, Invalid)
    assert (verdict.pointer, verdict.keyword) == ("/1", "max_number_literal")
