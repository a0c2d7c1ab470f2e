import json
from random import Random
from typing import Any

from hypothesis import given, reject
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from gateway.validation.judge import Judge
from gateway.validation.verdict import Invalid, Valid
from policy.limits import UNLIMITED
from policy.rejection import RejectionCode
from registry.canonical import read_canonical
from registry.contract import CanonicalContract, JsonValue
from registry.errors import ContractRejectedError
from tests.registry.mutating import mutated
from tests.registry.reading import parsed, read
from tests.registry.rewriting import Rewriter
from tests.registry.strategies import SCHEMAS, VALUES
from tests.registry.thorough import thorough


def readable(schema: Any) -> CanonicalContract | None:
    """The contract, or none where it allows nothing."""
    try:
        return read(schema, limits=UNLIMITED)
    except ContractRejectedError as error:
        if {rejection.code for rejection in error.rejections} == {RejectionCode.UNSATISFIABLE}:
            return None
        raise


SEEDS = st.integers(0, 2**32)
_SCALARS: tuple[Any, ...] = (
    None, True, False, 0, 1, 2, 3, -1, -2, 4, 1.5, 0.5, "", "a", "b", "ab", "aa", "ba", "abc", "é", "c/d", "abcd",
)  # fmt: skip
_NAMES = ("a", "b", "c/d", "e~f", "", "aa")
INSTANCES: tuple[Any, ...] = (
    *_SCALARS, [], {}, *([scalar] for scalar in _SCALARS), *({"a": scalar} for scalar in _SCALARS),
    *({name: 1} for name in _NAMES), *({name: "a"} for name in _NAMES), *({name: None} for name in _NAMES),
    [1, 2], [1, 1], ["a", "b"], [None, "a"], [None, None], [1, "a", None], [1, 2, 3, 4], [[]], [[1]], [["a", 1]], [{}],
    [{"a": 1}], [{"b": "a"}, 1], [True, 1], [0, False], {"a": 1, "b": 2}, {"a": None, "b": "a"}, {"a": "ab", "b": True},
    {"a": {}}, {"a": []}, {"a": [1]}, {"a": {"a": 1}}, {"b": {"a": "a"}}, {"b": [1, 1]}, {"a": 1, "b": 1, "c/d": 1},
    {"a": 1, "b": "b", "e~f": 1, "": 1}, {"c/d": [], "": {}}, {"": {"": 1}}, {"aa": 1, "a": 2}, {"a": {"b": {"a": 1}}},
)  # fmt: skip


_PARSED: tuple[JsonValue, ...] = tuple(map(parsed, INSTANCES))


def verdicts(text: str) -> list[bool]:
    """What the judge says of each of the instances, by the text as it stands."""
    judge = Judge.prepare(text)
    assert isinstance(judge, Judge)
    found = [judge.judge_value(instance) for instance in _PARSED]
    assert all(isinstance(verdict, Valid | Invalid) for verdict in found)
    return [isinstance(verdict, Valid) for verdict in found]


def with_recursion(schema: Any, random: Random) -> Any:
    """The schema, with the root again in place of some of its parts that look at parts of the instance."""
    if not isinstance(schema, dict):
        return schema
    guards = [
        keyword for keyword in ("items", "additionalProperties", "contains", "unevaluatedItems") if keyword in schema
    ]
    if guards and random.random() < 0.5:
        return {**schema, random.choice(guards): {"$ref": "#"}}
    if schema.get("properties"):
        return {**schema, "properties": {**schema["properties"], next(iter(schema["properties"])): {"$ref": "#"}}}
    return {**schema, "properties": {"a": {"$ref": "#"}}} if random.random() < 0.3 else schema


@thorough(SCHEMAS, SEEDS)
def test_layout_order_and_spelling_do_not_change_the_text(schema: Any, seed: int) -> None:
    random = Random(seed)
    schema = with_recursion(schema, random)
    contract = readable(schema)
    rewritten = readable(Rewriter(random).text(schema))
    assert (contract is None) == (rewritten is None)
    if contract is not None and rewritten is not None:
        assert rewritten.text == contract.text
        assert rewritten.digest == contract.digest


@thorough(SCHEMAS, SEEDS)
def test_a_change_of_meaning_changes_the_digest(schema: Any, seed: int) -> None:
    random = Random(seed)
    before = verdicts(json.dumps(schema))
    for _ in range(8):
        other = mutated(schema, random)
        if is_schema(other) and verdicts(json.dumps(other)) != before:
            break
    else:
        reject()
    one, two = readable(schema), readable(other)
    # What allows nothing has no digest, so it shares none.
    assert one is None or two is None or one.digest != two.digest


@thorough(SCHEMAS, SEEDS)
def test_schemas_of_one_digest_are_of_one_meaning(schema: Any, seed: int) -> None:
    """The other way round: where the digest stays, so do all verdicts, whatever was changed."""
    random = Random(seed)
    other = mutated(with_recursion(schema, random), random)
    contract = readable(other) if is_schema(other) else None
    if contract is not None:
        assert verdicts(contract.text) == verdicts(json.dumps(other)), contract.text


@given(st.permutations(["a", "b", "c", "d"]), SCHEMAS, st.integers(0, 1))
def test_the_order_of_properties_is_part_of_the_contract(names: list[str], inner: Any, depth: int) -> None:
    def contract(order: list[str]) -> CanonicalContract | None:
        members = {name: inner if name == "b" else {"minLength": 1} for name in order}
        schema: Any = {"properties": members}
        return readable({"items": schema, "contains": schema} if depth else schema)

    one, two = contract(["a", "b", "c", "d"]), contract(names)
    assert one is not None
    assert two is not None
    assert (one.digest == two.digest) == (names == ["a", "b", "c", "d"])


def is_schema(schema: Any) -> bool:
    """Whether the registry reads it, or finds that it allows nothing; not whether it is well written."""
    try:
        readable(schema)
    except ContractRejectedError:
        return False
    return True


@given(SCHEMAS)
def test_a_canonical_text_is_its_own_canonical_text(schema: Any) -> None:
    contract = readable(schema)
    if contract is not None:
        assert read_canonical(contract.text) == contract.schema
        again = readable(contract.text.encode())
        assert again is not None
        assert again.text == contract.text


@given(SCHEMAS, st.lists(VALUES, min_size=1, max_size=6))
def test_the_canonical_form_accepts_exactly_what_the_schema_accepts(schema: Any, instances: list[Any]) -> None:
    original = Draft202012Validator(schema)
    contract = readable(schema)
    if contract is None:
        assert not any(map(original.is_valid, instances))
        return
    canonical = Draft202012Validator(json.loads(contract.text))
    for instance in instances:
        assert canonical.is_valid(instance) == original.is_valid(instance), contract.text


@given(SCHEMAS)
def test_every_canonical_subschema_leads_back_to_one_the_caller_wrote(schema: Any) -> None:
    contract = readable(schema)
    if contract is None:
        return
    for canonical, source in contract.source_pointers.items():
        assert contract.source_pointer(canonical) == source
        value: Any = schema
        for token in source.split("/")[1:]:
            name = token.replace("~1", "/").replace("~0", "~")
            value = value[int(name)] if isinstance(value, list) else value[name]
