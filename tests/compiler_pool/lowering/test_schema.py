"""Every keyword has a fate, and the grammar never generates what the contract forbids."""

import json

import pytest

from compiler_pool.lowering.idle import is_idle
from compiler_pool.lowering.outcome import MAX_REJECTIONS, Lowered
from policy.enforcement import EnforcementPolicy, KeywordStatus, Unknown
from policy.rejection import RejectionCode
from tests.compiler_pool.lowering.generation import CHECKED, Contract, lowered, refusal

ENFORCED, CHECKED_AFTER = KeywordStatus.ENFORCED, KeywordStatus.CHECKED_AFTER


@pytest.mark.parametrize(
    ("schema", "generated", "withheld"),
    [
        ('{"type":"integer"}', ["1", "-7"], ["1.5", '"1"', "01", "1 "]),
        ('{"type":"string","minLength":2,"maxLength":3}', ['"ab"', '"\U0001f600b"'], ['"a"', '"abcd"', "17"]),
        ('{"type":"array","items":{"type":"null"},"minItems":1,"maxItems":2}', ["[null]"], ["[]", "[null,null,null]"]),
        ('{"prefixItems":[{"type":"integer"}],"items":false}', ["[]", "[1]", "{}"], ['["a"]', "[1,2]"]),
        ('{"anyOf":[{"type":"string"},{"minimum":3}]}', ['"a"', "3", "null"], ["2"]),
        ('{"enum":["a","bb",1],"type":"string","pattern":"b"}', ['"bb"'], ['"a"', "1"]),
        ('{"const":{"b":1,"a":[true]}}', ['{"b":1,"a":[true]}'], ['{"b":1}', "{}"]),
        ('{"$ref":"#/$defs/d0","minimum":2,"$defs":{"d0":{"enum":[1,2]}}}', ["2"], ["1", "3"]),
        ('{"allOf":[{"pattern":"^a"},{"pattern":"b$"}],"maxLength":2}', ['"ab"', "1"], ['"a"', '"axb"']),
        ('{"type":"string","pattern":"a|^b"}', ['"xa"', '"b"'], ['"xb"']),
        ('{"type":"string","pattern":"^\\\\d$"}', ['"7"'], ['"\u0667"', '"77"']),
        ('{"type":"string","pattern":"^.$"}', ['"b"'], ['"\\n"', '"\u2028"', '""']),
        ('{"oneOf":[{"type":"string"},{"type":"null"}]}', ['"a"', "null"], ["1"]),
        ('{"not":true}', [], ["1", "null", "{}"]),
    ],
)  # fmt: skip
def test_the_grammar_generates_what_the_schema_allows(schema: str, generated: list[str], withheld: list[str]) -> None:
    if not generated:
        with pytest.raises(AssertionError, match="nsatisfiable"):
            Contract(schema)
        return
    contract = Contract(schema)
    assert [text for text in generated if not contract.generates(text)] == []
    assert [text for text in withheld if contract.generates(text)] == []
    assert set(contract.report.values()) == {ENFORCED}


@pytest.mark.parametrize(
    "schema",
    [
        '{"not":{"type":"string"}}',
        '{"if":{"type":"string"},"then":{"minLength":1}}',
        '{"dependentRequired":{"a":["b"]}}',
        '{"dependentSchemas":{"a":{"required":["b"]}}}',
        '{"contains":{"type":"string"}}',
        '{"propertyNames":{"maxLength":3}}',
        '{"uniqueItems":true}',
        '{"minProperties":2}',
        '{"properties":{"a":{}},"maxProperties":2}',
        '{"oneOf":[{"minimum":1},{"maximum":5}]}',
        '{"allOf":[{}],"unevaluatedItems":false}',
        '{"type":"string","format":"regex"}',
    ],
)
def test_what_the_grammar_cannot_hold_is_refused_by_name_or_left_to_the_validator(schema: str) -> None:
    refused = refusal(schema)
    assert all(rejection.code is RejectionCode.UNSUPPORTED_KEYWORD for rejection in refused.rejections)
    assert all(rejection.pointer == f"/{rejection.keyword}" for rejection in refused.rejections)
    left = Contract(schema, CHECKED)
    assert CHECKED_AFTER in left.report.values()
    assert KeywordStatus.REJECTED not in left.report.values()


@pytest.mark.parametrize(
    "schema",
    [
        '{"uniqueItems":false}', '{"uniqueItems":true,"maxItems":1}', '{"uniqueItems":true,"items":false}',
        '{"minProperties":0}', '{"minProperties":1,"required":["a"]}', '{"not":false}', '{"if":{"type":"string"}}',
        '{"then":{"type":"string"}}', '{"else":false}', '{"contains":{"const":1},"minContains":0}', '{"minContains":3}',
        '{"maxContains":3}', '{"dependentRequired":{}}', '{"dependentRequired":{"a":["b"]},"required":["b"]}',
        '{"dependentSchemas":{"a":true}}', '{"propertyNames":{}}', '{"unevaluatedProperties":true}',
        '{"unevaluatedItems":{}}', '{"additionalProperties":true,"unevaluatedProperties":false}',
        '{"items":true,"unevaluatedItems":false}',
        '{"maxProperties":1,"properties":{"a":{},"b":false},"additionalProperties":false}',
    ],
)  # fmt: skip
def test_a_keyword_that_restricts_nothing_is_enforced_for_free(schema: str) -> None:
    outcome = lowered(schema)
    assert isinstance(outcome, Lowered), outcome
    assert {entry.status for entry in outcome.report} <= {ENFORCED}
    keywords = {entry.pointer for entry in outcome.report}
    assert {f"/{keyword}" for keyword in json.loads(schema)} <= keywords


def test_a_keyword_that_restricts_something_is_not_idle() -> None:
    assert not is_idle("uniqueItems", {"uniqueItems": True, "maxItems": 2})
    assert not is_idle("minProperties", {"minProperties": 2, "required": ["a"]})
    assert not is_idle(
        "maxProperties", {"maxProperties": 1, "properties": {"a": {}, "b": {}}, "additionalProperties": False}
    )
    assert not is_idle(
        "maxProperties", {"maxProperties": 1, "additionalProperties": False, "patternProperties": {"a": {}}}
    )
    assert not is_idle("contains", {"contains": {}, "minContains": 0, "maxContains": 1})
    assert not is_idle("unevaluatedItems", {"unevaluatedItems": False, "prefixItems": [{}]})


def test_several_faults_are_refused_at_once_each_at_its_place() -> None:
    refused = refusal('{"properties":{"a":{"uniqueItems":true},"b":{"not":{"type":"null"}}},"minProperties":3}')
    assert [rejection.pointer for rejection in refused.rejections] == [
        "/properties/a/uniqueItems",
        "/properties/b/not",
        "/minProperties",
    ]


def test_the_list_of_faults_is_bounded_and_the_report_is_not() -> None:
    properties = ",".join(f'"p{at}":{{"uniqueItems":true}}' for at in range(40))
    refused = refusal(f'{{"properties":{{{properties}}}}}')
    assert len(refused.rejections) == MAX_REJECTIONS
    assert sum(entry.status is KeywordStatus.REJECTED for entry in refused.report) == 40


def test_every_keyword_below_a_dropped_one_is_reported() -> None:
    contract = Contract('{"not":{"properties":{"a/b":{"type":"string"}},"required":["a/b"]}}', CHECKED)
    assert contract.report == {
        "/not": CHECKED_AFTER,
        "/not/properties": CHECKED_AFTER,
        "/not/properties/a~1b/type": CHECKED_AFTER,
        "/not/required": CHECKED_AFTER,
    }


def test_nothing_inside_a_negation_is_dropped_on_its_own() -> None:
    # `uniqueItems` inside `not`, dropped, would forbid every array: the grammar must not look inside.
    contract = Contract('{"not":{"type":"array","uniqueItems":true}}', CHECKED)
    assert contract.generates("[1,1]")
    assert contract.generates("17")


def test_a_definition_that_only_a_dropped_keyword_refers_to_is_not_compiled() -> None:
    contract = Contract('{"not":{"$ref":"#/$defs/d0"},"$defs":{"d0":{"uniqueItems":true}}}', CHECKED)
    assert "$defs" not in contract.grammar
    assert contract.report["/not/$ref"] is CHECKED_AFTER


def test_overlapping_alternatives_of_one_of_are_all_generated_and_left_to_the_validator() -> None:
    contract = Contract('{"oneOf":[{"type":"integer","minimum":3},{"type":"integer","maximum":5}]}', CHECKED)
    assert contract.generates("4")
    assert contract.report["/oneOf"] is CHECKED_AFTER
    assert contract.report["/oneOf/0/minimum"] is ENFORCED


def test_one_of_looks_at_the_keywords_beside_it() -> None:
    schema = '{"type":"object","oneOf":[{"properties":{"k":{"const":1}}},{"properties":{"k":{"const":2}}}]}'
    assert refusal(schema).rejections[0].pointer == "/oneOf"
    assert isinstance(lowered(schema.replace('"type":"object"', '"type":"object","required":["k"]')), Lowered)


def test_an_unknown_format_follows_the_policy() -> None:
    assert refusal('{"format":"colour"}').rejections[0].code is RejectionCode.UNKNOWN_FORMAT
    contract = Contract('{"format":"colour"}', EnforcementPolicy(unknown_format=Unknown.ANNOTATION))
    assert contract.report == {"/format": KeywordStatus.ANNOTATION}


def test_a_pattern_that_neither_engine_can_judge_is_refused_even_when_checking_afterwards_is_allowed() -> None:
    rejection = refusal('{"type":"string","pattern":"(?=a)b"}', CHECKED).rejections[0]
    assert (rejection.code, rejection.pointer) == (RejectionCode.UNSUPPORTED_REGEX, "/pattern")
    rejection = refusal('{"patternProperties":{"(a)\\\\1":true}}', CHECKED).rejections[0]
    assert rejection.pointer == "/patternProperties/(a)\\1"


def test_a_keyword_nobody_knows_never_reaches_the_engine() -> None:
    for keyword in ("x-guidance", "minimun"):
        assert refusal(f'{{"{keyword}":{{"lenient":true}}}}', CHECKED).rejections[0].keyword == keyword


def test_the_schema_false_is_unsatisfiable() -> None:
    assert refusal("false").rejections[0].code is RejectionCode.UNSATISFIABLE


def test_the_schema_true_generates_any_json() -> None:
    contract = Contract("true")
    assert contract.generates('{"a":[1,{"b":null}]}')
    assert not contract.generates('{"a": 1}')


def test_recursion_is_kept() -> None:
    kids = '{"type":"array","items":{"$ref":"#/$defs/d0"}}'
    tree = f'{{"type":"object","properties":{{"kids":{kids}}},"additionalProperties":false}}'
    contract = Contract(f'{{"$ref":"#/$defs/d0","$defs":{{"d0":{tree}}}}}')
    assert contract.generates('{"kids":[{"kids":[]},{}]}')
    assert not contract.generates('{"kids":[{"kid":[]}]}')


_RESTRICTING = {
    "if": '{"type":"null"},"then":{"type":"string"}', "then": '{"type":"string"},"if":{"type":"null"}',
    "else": '{"type":"string"},"if":{"type":"null"}', "dependentRequired": '{"a":["b"]}',
    "dependentSchemas": '{"a":{"required":["b"]}}', "contains": '{"const":1}',
    "minContains": '1,"contains":{"const":1}', "maxContains": '1,"contains":{"const":1}',
    "propertyNames": '{"maxLength":1}', "uniqueItems": "true", "minProperties": "2",
    "maxProperties": '1,"properties":{"a":{}}',
    "not": '{"type":"null"}', "unevaluatedItems": 'false,"contains":{"const":1}',
    "unevaluatedProperties": 'false,"allOf":[{}]',
}  # fmt: skip


@pytest.mark.parametrize("keyword", _RESTRICTING)
def test_what_is_left_to_the_validator_never_stays_in_the_grammar(keyword: str) -> None:
    contract = Contract(f'{{"{keyword}":{_RESTRICTING[keyword]}}}', CHECKED)
    assert contract.report[f"/{keyword}"] is CHECKED_AFTER
    assert f'"{keyword}"' not in contract.grammar


_KEPT = {
    "type": '"array"', "required": '["a"]', "items": "false", "additionalProperties": "false", "minItems": "1",
    "maxItems": "1", "minLength": "1", "maxLength": "1", "prefixItems": "[false]", "anyOf": '[{"type":"null"}]',
}  # fmt: skip


@pytest.mark.parametrize("keyword", _KEPT)
def test_what_the_engine_enforces_is_kept_whatever_its_value(keyword: str) -> None:
    contract = Contract(f'{{"{keyword}":{_KEPT[keyword]}}}')
    assert contract.report[f"/{keyword}"] is ENFORCED
    assert f'"{keyword}":{_KEPT[keyword]}' in contract.grammar
