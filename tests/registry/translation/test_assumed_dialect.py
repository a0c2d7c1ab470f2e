"""`dependencies` in texts that name no dialect: read as every draft read it that had it, and said so."""

from typing import Any

import pytest

from policy.limits import TENANT
from registry.dialects import Dialect
from registry.errors import ContractRejectedError
from registry.json_schema import read_json_schema
from tests.registry.reading import LENIENT, STRICT

DEPENDENCIES = {"dependencies": {"a": ["b"], "c": {"required": ["d"]}}}
MODERN = {"dependentRequired": {"a": ["b"]}, "dependentSchemas": {"c": {"required": ["d"]}}}


def read(schema: Any, **terms: Any) -> Any:
    return read_json_schema(schema, limits=TENANT.contract, policy=terms.pop("policy", STRICT), **terms)


@pytest.mark.parametrize("policy", [STRICT, LENIENT])
def test_where_nobody_named_a_dialect_dependencies_restrict(policy: Any) -> None:
    contract = read(DEPENDENCIES, policy=policy)
    assert contract.digest == read(MODERN).digest
    assert contract.transformations == ("2020-12: /dependencies: dependencies -> dependentRequired, dependentSchemas",)
    assert contract.source_pointer("/dependentRequired/a") == "/dependencies/a"


def test_they_are_found_anywhere_but_not_in_data_or_names() -> None:
    nested = read({"properties": {"x": {"dependencies": {"a": ["b"]}}}})
    assert nested.digest == read({"properties": {"x": {"dependentRequired": {"a": ["b"]}}}}).digest
    plain = {"properties": {"dependencies": {"type": "array"}}, "enum": [{"dependencies": {"a": ["b"]}}]}
    assert read(plain).transformations == ()


@pytest.mark.parametrize(
    ("schema", "terms"),
    [
        ({"$schema": "https://json-schema.org/draft/2020-12/schema", **DEPENDENCIES}, {}),
        ({"$schema": "https://json-schema.org/draft/2019-09/schema", **DEPENDENCIES}, {}),
        (DEPENDENCIES, {"dialect": Dialect.DRAFT_2020_12}),
        (
            {"$defs": {"x": {"$id": "https://e.x/y", "$schema": "https://json-schema.org/draft/2020-12/schema",
                             **DEPENDENCIES}}, "$ref": "#/$defs/x"},
            {},
        ),
    ],
)  # fmt: skip
def test_where_a_dialect_without_them_is_named_they_stay_refused(schema: Any, terms: Any) -> None:
    with pytest.raises(ContractRejectedError) as caught:
        read(schema, **terms)
    assert caught.value.rejections[0].pointer.endswith("/dependencies")


@pytest.mark.parametrize("modern", MODERN)
def test_beside_what_became_of_them_they_are_a_mixture_and_refused(modern: str) -> None:
    with pytest.raises(ContractRejectedError) as caught:
        read({**DEPENDENCIES, modern: {}})
    assert caught.value.rejections[0].pointer == "/dependencies"


def test_what_no_draft_would_take_is_refused_at_its_place() -> None:
    with pytest.raises(ContractRejectedError) as caught:
        read({"dependencies": {"a": "b"}})
    assert caught.value.rejections[0].pointer == "/dependencies"
