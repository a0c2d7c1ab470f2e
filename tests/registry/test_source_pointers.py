from policy.enforcement import ReportEntry
from tests.registry.reading import LENIENT, read


def entries(report: tuple[ReportEntry, ...]) -> dict[str, str]:
    return {entry.pointer: entry.status.value for entry in report}


def test_a_keyword_of_a_definition_is_found_where_the_caller_defined_it() -> None:
    contract = read({"items": {"$ref": "#/$defs/x"}, "$defs": {"x": {"type": "string", "minLength": 1}}})
    assert contract.text == '{"items":{"minLength":1,"type":"string"}}'
    assert contract.source_pointer("/items/minLength") == "/$defs/x/minLength"
    assert contract.source_pointer("/items") == "/$defs/x"


def test_a_shared_definition_is_found_by_its_first_use_and_its_own_place() -> None:
    shared = {"type": "object", "properties": {"a_rather_long_member_name": {"type": "string"}}, "maxProperties": 9}
    contract = read({"properties": {"p": {"$ref": "#/$defs/x"}, "q": {"$ref": "#/$defs/x"}}, "$defs": {"x": shared}})
    assert contract.source_pointer("/$defs/d0/maxProperties") == "/$defs/x/maxProperties"
    assert contract.source_pointer("/properties/q") == "/properties/q"
    assert contract.source_pointer("/properties/q/$ref") == "/properties/q/$ref"


def test_a_reference_with_siblings_is_found_although_it_became_allof() -> None:
    contract = read(
        {"$ref": "#/$defs/x", "allOf": [{"maxLength": 3}], "minLength": 1, "$defs": {"x": {"type": "string"}}}
    )
    assert contract.text == '{"allOf":[{"type":"string"},{"maxLength":3}],"minLength":1}'
    assert contract.source_pointer("/allOf/0/type") == "/$defs/x/type"
    assert contract.source_pointer("/allOf/1/maxLength") == "/allOf/0/maxLength"
    alone = read({"$ref": "#/$defs/x", "minLength": 1, "$defs": {"x": {"type": "string"}}})
    assert alone.source_pointer("/allOf") == "/$ref"


def test_a_recursive_root_leads_back_to_the_root() -> None:
    inline = read({"type": "object", "properties": {"next": {"$ref": "#"}}})
    assert inline.text.startswith('{"$defs":{"d0":')
    assert inline.source_pointer("/$defs/d0/properties") == "/properties"
    assert inline.source_pointer("/$defs/d0/properties/next/$ref") == "/properties/next/$ref"
    assert inline.source_pointer("/$ref") == ""
    named = read(
        {"$ref": "#/$defs/n", "$defs": {"n": {"type": "object", "properties": {"next": {"$ref": "#/$defs/n"}}}}}
    )
    assert named.text == inline.text
    assert named.source_pointer("/$ref") == "/$ref"
    assert named.source_pointer("/$defs/d0/type") == "/$defs/n/type"


def test_what_the_canonical_form_leaves_out_is_reported_where_it_stands() -> None:
    contract = read(
        {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "T",
            "properties": {"a/b": {"$ref": "#/$defs/x", "description": "d"}},
            "patternProperties": {},
            "then": True,
            "minContains": 1,
            "x-y": 1,
            "unheard": {},
            "format": "odd",
            "$defs": {"x": {"type": "null", "deprecated": True}, "unused": {"title": "never reached"}},
        },
        policy=LENIENT,
    )
    assert entries(contract.annotations) == {
        "/$schema": "annotation",
        "/title": "annotation",
        "/properties/a~1b/$ref": "enforced",
        "/properties/a~1b/description": "annotation",
        "/patternProperties": "enforced",
        "/then": "annotation",
        "/minContains": "annotation",
        "/x-y": "annotation",
        "/unheard": "annotation",
        "/format": "annotation",
        "/$defs": "annotation",
        "/$defs/x/deprecated": "annotation",
    }


def test_parts_of_an_approved_document_are_found_at_the_reference_that_led_there() -> None:
    contract = read(
        {"properties": {"p": {"$ref": "http://example.com/x"}}},
        documents={"http://example.com/x": {"type": "object", "properties": {"q": {"minLength": 1, "title": "t"}}}},
    )
    assert contract.source_pointer("/properties/p/properties/q/minLength") == "/properties/p/$ref"
    assert entries(contract.annotations) == {"/properties/p/$ref": "enforced"}
