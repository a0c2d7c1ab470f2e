"""All values of a goal, or that they cannot be listed."""

import pytest

from compiler_pool.form.finite import finite_values
from compiler_pool.form.maker import Maker
from compiler_pool.form.spending import ExpansionSpending
from policy.limits import TENANT
from registry.algebra.budgeting import SolverBudget
from registry.algebra.formulas import Wants
from registry.algebra.terms import Terms
from registry.parsing import parse_json
from registry.text import value_text


def listed(*schemas: str, at_most: int = 8) -> set[str] | None:
    """The texts of the values that all schemas allow."""
    terms = Terms()
    roots = terms.read(*(parse_json(schema, max_bytes=10_000, max_nesting=64) for schema in schemas))
    maker = Maker(terms, spending=ExpansionSpending(TENANT.expansion), solving=SolverBudget())
    goal = frozenset(Wants(term=root, positive=True) for root in roots)
    values = finite_values(goal, maker, at_most)
    if values is None:
        return None
    texts = {value_text(value) for value in values}
    assert len(texts) == len(values)
    return texts


@pytest.mark.parametrize(
    ("schema", "values"),
    [
        ('{"enum": [1, "a", [1], {"b": null}]}', {"1", '"a"', "[1]", '{"b":null}'}),
        ('{"type": ["boolean", "null"]}', {"true", "false", "null"}),
        ('{"type": "integer", "minimum": -1, "exclusiveMaximum": 2}', {"-1", "0", "1"}),
        ('{"type": "number", "multipleOf": 0.5, "minimum": 0, "maximum": 1}', {"0", "0.5", "1"}),
        ('{"type": "number", "multipleOf": 0.1, "minimum": 0.25, "maximum": 0.4}', {"0.3", "0.4"}),
        ('{"type": "number", "minimum": 2.5, "maximum": 2.5}', {"2.5"}),
        ('{"type": "number", "minimum": 3, "maximum": 2}', set()),
        (
            '{"type": "number", "enum": [1, 12345678901234567890123456789.125], "multipleOf": 0.125}',
            {"1", "12345678901234567890123456789.125"},
        ),
        ('{"type": "array", "maxItems": 0}', {"[]"}),
        ('{"type": "array", "maxItems": 1, "items": {"type": "null"}}', {"[]", "[null]"}),
        (
            '{"type": "array", "prefixItems": [{"type": "boolean"}, {"enum": [1, 2]}], "items": false, "minItems": 2}',
            {"[true,1]", "[true,2]", "[false,1]", "[false,2]"},
        ),
        (
            '{"type": "array", "maxItems": 2, "items": {"enum": [1, 2]}, "uniqueItems": true, "minItems": 2}',
            {"[1,2]", "[2,1]"},
        ),
        ('{"type": "object", "maxProperties": 0}', {"{}"}),
        ('{"type": "string", "maxLength": 0}', {'""'}),
        ('{"anyOf": [{"const": 1}, {"const": 2}, {"type": "boolean"}]}', {"1", "2", "true", "false"}),
        ('{"enum": [1, 2, 3], "not": {"const": 2}}', {"1", "3"}),
        ('{"type": "string", "pattern": "^(GET|PUT|POST)$", "maxLength": 3}', {'"GET"', '"PUT"'}),
        ("false", set()),
        ('{"type": "string", "minLength": 2, "maxLength": 1}', set()),
    ],
)
def test_few_values_are_listed_each_once(schema: str, values: set[str]) -> None:
    assert listed(schema) == values


@pytest.mark.parametrize(
    "schema",
    [
        "true",
        '{"type": "string"}',
        '{"type": "string", "format": "date"}',
        '{"type": "string", "enum": ["2024-01-01"], "format": "date"}',
        '{"type": "number", "minimum": 0, "maximum": 1}',
        '{"type": "integer", "minimum": 0}',
        '{"type": "array", "items": {"const": 1}}',
        '{"type": "array", "items": {"type": "boolean"}, "maxItems": 3}',
        '{"$ref": "#/$defs/tree", "$defs": {"tree": {"type": "array", "items": {"$ref": "#/$defs/tree"}}}}',
        '{"$ref": "#/$defs/t", "$defs": {"t": {"type": "array", "items": {"$ref": "#/$defs/t"}, "maxItems": 1}}}',
        '{"enum": [1, 2, 3, 4, 5, 6, 7, 8, 9]}',
        '{"type": "integer", "minimum": 1, "maximum": 9}',
        '{"type": "integer", "minimum": 1, "maximum": 1000000000000000000000}',
    ],
)
def test_what_is_endless_or_more_than_asked_for_is_not_listed(schema: str) -> None:
    assert listed(schema) is None


def test_two_schemas_together_may_have_few_values() -> None:
    assert listed('{"type": ["integer", "boolean"]}', '{"type": ["string", "boolean"]}') == {"true", "false"}
    assert listed('{"type": "integer", "minimum": 3}', '{"type": "integer", "maximum": 4}') == {"3", "4"}
