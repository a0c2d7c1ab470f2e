"""Which spellings are one contract, and which are two. Each pair carries its reason."""

from typing import Any

import pytest

from registry.contract import ContractKind
from registry.digests import contract_digest
from tests.registry.reading import LENIENT, read

_LONG = {"type": "object", "properties": {"a_rather_long_member_name": {"type": "string", "minLength": 1}}}
_NODE = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}

SAME: list[tuple[str, Any, Any]] = [
    ("member order", {"type": "string", "minLength": 1}, {"minLength": 1, "type": "string"}),
    ("the empty schema is true", {}, True),
    ("deep down too", {"items": {}}, {"items": True}),
    ("only the title differs", {"type": "string", "title": "A"}, {"type": "string", "title": "B"}),
    (
        "annotations assert nothing",
        {"type": "integer"},
        {
            "type": "integer", "description": "d", "default": 1, "examples": [1], "$comment": "c", "deprecated": True,
            "readOnly": True, "writeOnly": False, "contentMediaType": "text/plain", "contentEncoding": "base64",
            "contentSchema": {"type": "string"}, "x-order": 3,
        },
    ),
    ("required is a set", {"required": ["b", "a"]}, {"required": ["a", "b"]}),
    ("type is a set", {"type": ["string", "null"]}, {"type": ["null", "string"]}),
    ("one type is a type", {"type": ["string"]}, {"type": "string"}),
    ("enum is a set", {"enum": [1, "a", None]}, {"enum": [None, "a", 1, 1]}),
    ("enum compares by value", b'{"enum": [1.0, 2.50]}', b'{"enum": [2.5, 1]}'),
    ("objects in enum compare by value", {"enum": [{"a": 1, "b": 2}]}, {"enum": [{"b": 2, "a": 1}]}),
    ("numbers have one spelling", b'{"minimum": 1.0}', b'{"minimum": 1}'),
    ("exponents are a spelling", b'{"maximum": 1.5e3}', b'{"maximum": 1500}'),
    ("minus zero is zero", b'{"minimum": -0.0}', b'{"minimum": 0}'),
    ("escapes are a spelling", rb'{"const": "\u0061\/"}', b'{"const": "a/"}'),
    ("white space", b'{ "type" :\n"null" }', b'{"type":"null"}'),
    ("dependentRequired is sets", {"dependentRequired": {"b": ["d", "c"], "a": []}},
     {"dependentRequired": {"a": [], "b": ["c", "d"]}}),
    ("unused definitions", {"type": "null"}, {"type": "null", "$defs": {"x": {"type": "string"}}}),
    ("a definition used once", {"items": _LONG}, {"items": {"$ref": "#/$defs/x"}, "$defs": {"x": _LONG}}),
    ("copies of one definition", {"items": _LONG, "contains": _LONG},
     {"items": {"$ref": "#/$defs/x"}, "contains": {"$ref": "#/$defs/x"}, "$defs": {"x": _LONG}}),
    ("definitions under other names",
     {"items": {"$ref": "#/$defs/x"}, "contains": {"$ref": "#/$defs/x"}, "$defs": {"x": _LONG}},
     {"items": {"$ref": "#/definitions/y"}, "contains": {"$ref": "#/definitions/y"}, "definitions": {"y": _LONG}}),
    ("a reference into the schema", {"items": _LONG, "contains": _LONG},
     {"items": _LONG, "contains": {"$ref": "#/items"}}),
    ("references to references", {"items": _LONG},
     {"items": {"$ref": "#/$defs/x"}, "$defs": {"x": {"$ref": "#/$defs/y"}, "y": {"$ref": "#/$defs/z"}, "z": _LONG}}),
    ("a reference by anchor", {"items": _LONG},
     {"items": {"$ref": "#here"}, "$defs": {"x": {"$anchor": "here", **_LONG}}}),
    ("a reference by identifier", {"items": _LONG},
     {"$id": "http://example.com/a", "items": {"$ref": "b"}, "$defs": {"x": {"$id": "/b", **_LONG}}}),
    ("a name of its own", {"type": "null"}, {"type": "null", "$id": "urn:example:x", "$anchor": "y"}),
    ("the dialect, said or not", {"type": "null"},
     {"type": "null", "$schema": "https://json-schema.org/draft/2020-12/schema"}),
    ("an older dialect in which nothing differs", {"type": "null"},
     {"type": "null", "$schema": "http://json-schema.org/draft-07/schema#"}),
    ("a reference with siblings is one more of allOf",
     {"$ref": "#/$defs/x", "maxProperties": 3, "$defs": {"x": _LONG}}, {"allOf": [_LONG], "maxProperties": 3}),
    ("a recursion, entered by reference or not",
     {"$ref": "#/$defs/node", "$defs": {"node": _NODE}},
     {"type": "object", "properties": {"next": {"$ref": "#"}}}),
    ("a recursion, unrolled once",
     {"$ref": "#/$defs/node", "$defs": {"node": _NODE}}, {**_NODE, "$defs": {"node": _NODE}}),
    ("a recursion in two states that are one",
     {"$ref": "#/$defs/node", "$defs": {"node": _NODE}},
     {"$ref": "#/$defs/a", "$defs": {
         "a": {"type": "object", "properties": {"next": {"$ref": "#/$defs/b"}}},
         "b": {"properties": {"next": {"$ref": "#/$defs/a"}}, "type": "object", "title": "the other"},
     }}),
    ("a keyword without its companion", {"type": "null"},
     {"type": "null", "then": {"type": "string"}, "else": False, "minContains": 2, "maxContains": 1}),
    ("one as an exponent", b'{"minimum": 1e0, "maxLength": 30E-1}', b'{"minimum": 1, "maxLength": 3}'),
    ("large integers, exactly", b'{"const": 12345678901234567890}', b'{"const": 1.2345678901234567890e19}'),
    ("small decimals, exactly", b'{"multipleOf": 0.000001}', b'{"multipleOf": 1.00e-6}'),
    ("numbers within values", b'{"const": {"a": [1.0, 2.50]}}', b'{"const": {"a": [1, 2.5]}}'),
    ("escapes of control characters", rb'{"const": "\n\t\u0001"}', rb'{"const": "\u000a\u0009\u0001"}'),
    ("a pair of surrogates is a character", rb'{"const": "\ud83d\ude00"}', '{"const": "\U0001f600"}'.encode()),
    ("escapes in names", rb'{"required": ["\u00e9"]}', '{"required": ["\u00e9"]}'.encode()),
    ("an applicator without subschemas", {"type": "object"},
     {"type": "object", "properties": {}, "patternProperties": {}, "dependentSchemas": {}}),
    ("order of what is no order of generation",
     {"patternProperties": {"^a": {"type": "null"}, "^b": {}}, "dependentSchemas": {"x": {"type": "null"}, "y": {}}},
     {"dependentSchemas": {"y": {}, "x": {"type": "null"}}, "patternProperties": {"^b": {}, "^a": {"type": "null"}}}),
    ("unused definitions may be anything", {"type": "null"},
     {"type": "null", "$defs": {"x": {"$ref": "http://example.com/gone"}, "y": {"allOf": [{"$ref": "#/$defs/y"}]}}}),
    ("a definition within a definition", {"items": _LONG},
     {"items": {"$ref": "#/$defs/x/$defs/y"}, "$defs": {"x": {"type": "null", "$defs": {"y": _LONG}}}}),
    ("a pointer in percent escapes", {"items": _LONG},
     {"items": {"$ref": "#/%24defs/a%20b~1c"}, "$defs": {"a b/c": _LONG}}),
    ("a dynamic reference with one meaning", {"items": _LONG},
     {"items": {"$dynamicRef": "#x"}, "$defs": {"x": {"$dynamicAnchor": "x", **_LONG}}}),
    ("a dynamic reference that the root decides",
     {"allOf": [{"items": _LONG}], "maxItems": 3},
     {"$id": "http://example.com/", "$ref": "list", "maxItems": 3, "$defs": {
         "own": {"$dynamicAnchor": "item", **_LONG},
         "list": {"$id": "list", "items": {"$dynamicRef": "#item"}, "$defs": {"any": {"$dynamicAnchor": "item"}}},
     }}),
    ("a reference beside allOf is its first member",
     {"$ref": "#/$defs/x", "allOf": [{"minProperties": 1}], "$defs": {"x": _LONG}},
     {"allOf": [_LONG, {"minProperties": 1}]}),
    ("a reference whose only siblings are annotations", {"items": _LONG},
     {"items": {"$ref": "#/$defs/x", "title": "here", "default": {}}, "$defs": {"x": _LONG}}),
    ("a recursion entered in its middle",
     {"type": "array", "items": {"type": "object", "properties": {"next": {"$ref": "#"}}}},
     {"$ref": "#/$defs/a", "$defs": {
         "b": {"type": "object", "properties": {"next": {"$ref": "#/$defs/a"}}},
         "a": {"type": "array", "items": {"$ref": "#/$defs/b"}},
     }}),
    ("array items of draft 07 are prefixItems", {"prefixItems": [{"type": "null"}, {}], "items": {"type": "string"}},
     {"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "null"}, {}],
      "additionalItems": {"type": "string"}}),
    ("a boolean exclusiveMinimum of draft 04 is the bound itself", {"exclusiveMinimum": 3},
     {"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 3, "exclusiveMinimum": True}),
    ("dependencies of draft 06 by their two names",
     {"dependentRequired": {"a": ["b"]}, "dependentSchemas": {"c": {"minProperties": 2}}},
     {"$schema": "http://json-schema.org/draft-06/schema#",
      "dependencies": {"a": ["b"], "c": {"minProperties": 2}}}),
    ("an unknown keyword, where those are annotations", {"type": "null"}, {"type": "null", "unheardOf": {"$ref": 1}}),
    ("an unknown format, where those are annotations", {"type": "string"}, {"type": "string", "format": "shoe-size"}),
]  # fmt: skip

DIFFERENT: list[tuple[str, Any, Any]] = [
    ("generation follows the order of properties",
     b'{"properties": {"a": true, "b": true}}', b'{"properties": {"b": true, "a": true}}'),
    ("order counts in prefixItems", {"prefixItems": [{"type": "null"}, {}]}, {"prefixItems": [{}, {"type": "null"}]}),
    ("integers above 2^53", b'{"const": 9007199254740993}', b'{"const": 9007199254740992}'),
    ("the last digit of a decimal", b'{"maximum": 0.3}', b'{"maximum": 0.30000000000001}'),
    ("true is not 1", {"const": True}, {"const": 1}),
    ("1 is not its text", {"enum": [1]}, {"enum": ["1"]}),
    ("arrays have an order", {"const": [1, 2]}, {"const": [2, 1]}),
    ("null is not absent", {"const": None}, {}),
    ("false is not true", {"items": False}, {"items": True}),
    ("inclusive or exclusive", {"minimum": 1}, {"exclusiveMinimum": 1}),
    ("one more required", {"required": ["a"]}, {"required": ["a", "b"]}),
    ("the last digit of a large integer", b'{"maximum": 12345678901234567890}', b'{"maximum": 12345678901234567891}'),
    ("a small decimal is not zero", b'{"exclusiveMinimum": 0.0000000001}', b'{"exclusiveMinimum": 0}'),
    ("const is not an enum of one: no logic is done", {"const": 1}, {"enum": [1]}),
    ("a keyword that asserts nothing is still there", {"minLength": 0}, {}),
    ("nothing required is still said", {"required": []}, {}),
    ("additionalProperties: true evaluates what is there", {"unevaluatedProperties": False},
     {"unevaluatedProperties": False, "additionalProperties": True}),
    ("additional is not unevaluated", {"additionalProperties": False, "allOf": [{"properties": {"a": {}}}]},
     {"unevaluatedProperties": False, "allOf": [{"properties": {"a": {}}}]}),
    ("what stands beside a reference counts", {"$ref": "#/$defs/x", "$defs": {"x": _LONG}},
     {"$ref": "#/$defs/x", "maxProperties": 1, "$defs": {"x": _LONG}}),
    ("the order of branches is kept", {"anyOf": [{"type": "null"}, {"type": "string"}]},
     {"anyOf": [{"type": "string"}, {"type": "null"}]}),
    ("names have upper and lower case", {"required": ["a"]}, {"required": ["A"]}),
    ("generation follows the order of properties deep down, too",
     b'{"items": {"properties": {"a": {}, "b": {}}}}', b'{"items": {"properties": {"b": {}, "a": {}}}}'),
    ("order counts within a definition",
     b'{"$ref": "#/$defs/x", "$defs": {"x": {"properties": {"a": {}, "b": {}}}}}',
     b'{"$ref": "#/$defs/x", "$defs": {"x": {"properties": {"b": {}, "a": {}}}}}'),
    ("a condition is not its branch", {"if": {"type": "null"}}, {"allOf": [{"type": "null"}]}),
    ("an optional condition is not nothing: it evaluates", {"if": {"properties": {"a": {}}}}, {}),
    ("integers by type and by divisor", {"type": "integer"}, {"type": "number", "multipleOf": 1}),
    ("patterns are compared as they are written", {"pattern": "[0-9]"}, {"pattern": "\\d"}),
    ("where a dynamic reference leads",
     {"$id": "http://example.com/", "$ref": "list", "$defs": {
         "own": {"$dynamicAnchor": "item", "type": "string"},
         "list": {"$id": "list", "items": {"$dynamicRef": "#item"}, "$defs": {"any": {"$dynamicAnchor": "item"}}},
     }},
     {"$id": "http://example.com/", "$ref": "list", "$defs": {
         "own": {"$anchor": "item", "type": "string"},
         "list": {"$id": "list", "items": {"$dynamicRef": "#item"}, "$defs": {"any": {"$dynamicAnchor": "item"}}},
     }}),
    ("array items of draft 07 are no schema for all", {"items": {"type": "null"}},
     {"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "null"}]}),
    ("a format that is known", {"type": "string"}, {"type": "string", "format": "date"}),
    ("Unicode is not normalised", {"const": "\u00e9"}, {"const": "e\u0301"}),
    ("oneOf is not anyOf", {"oneOf": [{"type": "null"}]}, {"anyOf": [{"type": "null"}]}),
    ("a recursion of two kinds of node",
     {"$ref": "#/$defs/node", "$defs": {"node": _NODE}},
     {"$ref": "#/$defs/a", "$defs": {
         "a": {"type": "object", "properties": {"next": {"$ref": "#/$defs/b"}}},
         "b": {"type": "object", "properties": {"next": {"$ref": "#/$defs/a"}}, "maxProperties": 1},
     }}),
    ("a name that looks like a keyword",
     {"properties": {"type": {"const": "null"}}}, {"properties": {"title": {"const": "null"}}}),
    ("a name with a slash", {"properties": {"a/b": {"type": "null"}}}, {"properties": {"a~1b": {"type": "null"}}}),
]  # fmt: skip


@pytest.mark.parametrize(("reason", "one", "other"), SAME, ids=[pair[0] for pair in SAME])
def test_one_contract_in_two_spellings_has_one_digest(reason: str, one: Any, other: Any) -> None:
    first, second = read(one, policy=LENIENT), read(other, policy=LENIENT)
    assert first.text == second.text
    assert first.digest == second.digest


@pytest.mark.parametrize(("reason", "one", "other"), DIFFERENT, ids=[pair[0] for pair in DIFFERENT])
def test_two_contracts_have_two_digests(reason: str, one: Any, other: Any) -> None:
    assert read(one, policy=LENIENT).digest != read(other, policy=LENIENT).digest


def test_the_annotation_digest_sees_what_the_contract_digest_does_not() -> None:
    one, other = read({"type": "string", "title": "A"}), read({"type": "string", "title": "B"})
    assert one.digest == other.digest
    assert one.annotation_digest != other.annotation_digest
    assert one.annotation_digest == read({"title": "A", "type": ["string"]}).annotation_digest


def test_annotations_of_a_definition_are_in_the_annotation_digest() -> None:
    def contract(title: str) -> Any:
        return {"items": {"$ref": "#/$defs/x", "description": "here"}, "$defs": {"x": {"type": "null", "title": title}}}

    assert read(contract("A")).annotation_digest != read(contract("B")).annotation_digest


def test_the_digest_names_its_algorithm_and_its_kind() -> None:
    contract = read({"type": "null"})
    assert contract.digest == contract_digest(ContractKind.JSON_SCHEMA, '{"type":"null"}')
    # printf 'schemagate contract 1\njson_schema\n{"type":"null"}' | sha256sum
    assert contract.digest == "sha256:50faf1eae842c47e907a6947a72f5780c982e7f43df9ed89de25b0a1e586bca6"
    assert contract_digest(ContractKind.REGEX, contract.text) != contract.digest


def test_the_table_is_a_table() -> None:
    assert len({pair[0] for pair in SAME} | {pair[0] for pair in DIFFERENT}) == len(SAME) + len(DIFFERENT) >= 80


@pytest.mark.parametrize("uri", ["schemagate:address@3", "schemagate:acme/address@1", "http://example.com/address"])
def test_another_document_is_layout(uri: str) -> None:
    inline = read({"properties": {"from": _LONG, "to": _LONG}})
    apart = read({"properties": {"from": {"$ref": uri}, "to": {"$ref": uri}}}, documents={uri: _LONG})
    assert apart.digest == inline.digest
    assert apart.digest != read({"properties": {"from": _LONG, "to": {}}}).digest


def test_the_digest_of_a_text_does_not_depend_on_what_a_document_is_called() -> None:
    documents: dict[str, Any] = {
        "schemagate:a@1": _LONG,
        "schemagate:a@2": {"title": "again", **_LONG},
        "schemagate:a@3": {"type": "object"},
    }
    one, two, three = (read({"items": {"$ref": uri}}, documents=documents) for uri in documents)
    assert one.digest == two.digest
    assert three.digest not in {one.digest, two.digest}
