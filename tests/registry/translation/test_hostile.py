"""Texts that would make a careless translation slow or large: each ends in bounded work."""

from typing import Any

import pytest

from policy.limits import UNLIMITED
from registry.contract import CanonicalContract
from registry.dialects import Dialect
from registry.errors import ContractRejectedError
from registry.json_schema import read_json_schema
from registry.translation.translated import Translated, Untranslatable
from registry.translation.translator import translate
from tests.registry.reading import LENIENT, parsed

D4, D7, D19 = Dialect.DRAFT_04, Dialect.DRAFT_07, Dialect.DRAFT_2019_09
_NO_SCHEMAS: tuple[Any, ...] = (1, "a", [], None)


class CountedReads(dict[str, Any]):
    """A schema object that counts how often all of its members are gone through."""

    passes = 0

    def items(self) -> Any:
        CountedReads.passes += 1
        return super().items()


def test_an_object_is_gone_through_a_number_of_times_that_its_size_does_not_change() -> None:
    passes = []
    for size in (100, 20_000):
        CountedReads.passes = 0
        schema = CountedReads({f"x-{number}": 1 for number in range(size)})
        schema |= {"$ref": "#", "items": [{}], "minLength": 1, "dependencies": {}}
        assert isinstance(translate(schema, D7, LENIENT), Translated)
        passes.append(CountedReads.passes)
    assert passes[0] == passes[1]


@pytest.mark.parametrize("dialect", [D4, D7, D19, Dialect.OPENAPI_3_0])
def test_nesting_is_not_recursed_over(dialect: Dialect) -> None:
    schema: Any = {}
    for _ in range(3_000):
        schema = {"not": schema, "exclusiveMinimum": False} if dialect is D4 else {"not": schema}
    translated = translate(schema, dialect, LENIENT)
    assert isinstance(translated, Translated)
    while isinstance(schema := translated.schema, dict) and "not" in schema:  # taken apart, as no destructor recurses
        translated = Translated(schema=schema.pop("not"), dialect=dialect, dialects={"": dialect})


def test_as_many_faults_are_told_as_an_answer_lists() -> None:
    schema: Any = {"properties": {f"p{number}": {"const": 1, "id": 3} for number in range(5_000)}}
    found = translate(schema, Dialect.OPENAPI_3_0, LENIENT)
    assert isinstance(found, Untranslatable)
    assert len(found.rejections) == 16


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": 1, "items": []},
        {"$ref": None, "properties": {"a": 3}},
        {"items": [1, "a", None]},
        {"items": [[{}]], "additionalItems": []},
        {"dependencies": {"a": None}},
        {"dependencies": [{}]},
        {"dependencies": {"a": [{}]}},
        {"definitions": [], "$defs": 3},
        {"properties": [], "allOf": {}, "anyOf": [1]},
        {"id": {}, "$id": [], "$anchor": 1},
        {"$schema": 3, "items": {"$schema": []}},
        {"$recursiveRef": 1, "$recursiveAnchor": {}},
        {"exclusiveMinimum": [], "minimum": {}},
        {"minimum": None, "exclusiveMinimum": True},
        {"components": {"schemas": []}},
        {"components": 1, "$ref": "#"},
        {"components": {"schemas": {"a": {}}}, "$defs": []},
        {"type": [[]], "nullable": True},
        {"type": {}, "nullable": True},
        {"contains": 1, "unevaluatedItems": 2, "allOf": 3},
        {"format": []},
        {"$id": "\ud800#"},
        {"": {}, "~": [], "/": {"a": {}}},
    ],
)
@pytest.mark.parametrize("dialect", list(Dialect))
def test_what_is_misshapen_is_refused_or_read_and_never_a_crash(dialect: Dialect, schema: Any) -> None:
    try:
        outcome: object = read_json_schema(schema, limits=UNLIMITED.contract, policy=LENIENT, dialect=dialect)
    except ContractRejectedError as error:
        outcome = error
    except UnicodeEncodeError:
        assert "\ud800" in str(schema.get("$id"))  # the parser lets no such text through
        return
    assert isinstance(outcome, CanonicalContract | ContractRejectedError)


def test_an_absent_root_object_is_refused() -> None:
    for value in _NO_SCHEMAS:
        with pytest.raises(ContractRejectedError):
            read_json_schema(parsed(value), limits=UNLIMITED.contract, policy=LENIENT, dialect=D7)
