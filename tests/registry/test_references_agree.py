"""Random tangles of resources, anchors and references: what is read accepts exactly what the specification accepts."""

import json
from itertools import islice, product
from random import Random
from typing import Any

from hypothesis import strategies as st

from gateway.validation.judge import Judge
from gateway.validation.verdict import Invalid, Valid
from policy.limits import UNLIMITED
from registry.errors import ContractRejectedError
from tests.registry.dynamic_oracle import BASE, Oracle
from tests.registry.reading import parsed, read
from tests.registry.thorough import thorough

_TYPES = ("null", "string", "integer", "array", "object")
_RESOURCES = ("r0", "r1", "r2", "r3")
_NAMES = ("x", "y")
_LEAVES: tuple[Any, ...] = (None, "s", 1, [], {})
_INSTANCES: tuple[Any, ...] = (
    *_LEAVES,
    *([leaf] for leaf in _LEAVES), *({"a": leaf} for leaf in _LEAVES), *({"b": leaf} for leaf in _LEAVES),
    *([one, two] for one, two in islice(product(_LEAVES, repeat=2), 25)),
    *({"a": one, "b": two} for one, two in product(_LEAVES, repeat=2)),
    *({"a": {"a": leaf}} for leaf in _LEAVES), *({"a": [leaf]} for leaf in _LEAVES),
    *([{"b": leaf}] for leaf in _LEAVES),
    *([[leaf]] for leaf in _LEAVES), *({"b": {"a": leaf, "c": 1}} for leaf in _LEAVES), {"c": 1}, [[[1]]], [[[None]]],
    {"a": {"a": {"a": 1}}}, {"a": {"b": {"a": "s"}}}, [1, "s", None],
)  # fmt: skip


class Tangle:
    """Builds one schema: a few resources, each with some anchors, that refer to each other.

    References that look at the same value go to later resources only, most of the time: else nearly every schema would
    be a cycle that looks at nothing.
    """

    def __init__(self, random: Random) -> None:
        self._random = random

    def schema(self) -> dict[str, Any]:
        schema = self._resource(BASE, _RESOURCES)
        for number, name in enumerate(_RESOURCES):
            schema["$defs"][name] = self._resource(name, _RESOURCES[number + 1 :])
        if self._random.random() < 0.3:  # one within another: neither is on the way to the other
            inner = schema["$defs"].pop("r3")
            schema["$defs"]["r2"]["$defs"]["r3"] = inner
        return schema

    def _resource(self, name: str, later: tuple[str, ...]) -> dict[str, Any]:
        definitions: dict[str, Any] = {}
        for anchor in _NAMES:
            kind = self._random.choice(["$dynamicAnchor"] * 5 + ["$anchor", None])
            if kind is not None:
                definitions[f"d{anchor}"] = {kind: anchor, **self._body(1, later, is_free=False)}
        body = self._body(2, later, is_free=False)
        if self._random.random() < 0.7:
            body = self._part() | body
        if self._random.random() < 0.3 and "dx" in definitions:
            body["$dynamicAnchor"] = "x"
            del definitions["dx"]
        return {"$id": name, **body, "$defs": definitions}

    def _part(self) -> dict[str, Any]:
        """Something about a part of the value, where a reference may lead anywhere."""
        one, other = (self._body(self._random.randint(0, 1), _RESOURCES, is_free=True) for _ in range(2))
        return self._random.choice([{"items": one}, {"properties": {"a": one, "b": other}}, {"prefixItems": [one]}])

    def _reference(self, later: tuple[str, ...], *, is_free: bool) -> dict[str, str]:
        target = self._random.choice(["", *later] if is_free else later or ("",))
        if not is_free and not target:
            return {}
        name = self._random.choice(_NAMES)
        if is_free and self._random.random() < 0.6:
            return {"$dynamicRef": f"{self._random.choice(['', '', target])}#{name}"}
        fragment = self._random.choice(["", "", "", f"#{name}", f"#/$defs/d{name}"])
        return {self._random.choice(["$ref", "$ref", "$dynamicRef"]): (target + fragment) or "#"}

    def _body(self, depth: int, later: tuple[str, ...], *, is_free: bool) -> dict[str, Any]:
        schema: dict[str, Any] = {}
        for _ in range(self._random.randint(1, 2)):
            schema |= self._keyword(depth, later, is_free=is_free)
        return schema

    def _keyword(self, depth: int, later: tuple[str, ...], *, is_free: bool) -> dict[str, Any]:
        if depth == 0 or self._random.random() < 0.4:
            if self._random.random() < 0.6:
                return self._reference(later, is_free=is_free)
            return {"type": self._random.choice(_TYPES)}

        def same() -> dict[str, Any]:
            return self._body(depth - 1, later, is_free=is_free)

        match self._random.choice(
            ["part", "part", "allOf", "anyOf", "oneOf", "not", "if", "unevaluatedProperties", "unevaluatedItems",
             "additionalProperties", "required", "dependentSchemas"]
        ):  # fmt: skip
            case "part":
                return self._part()
            case "dependentSchemas":
                return {"dependentSchemas": {"a": same()}}
            case "allOf" | "anyOf" | "oneOf" as keyword:
                return {keyword: [same() for _ in range(self._random.randint(1, 2))]}
            case "if":
                return {"if": same(), self._random.choice(["then", "else"]): same()}
            case "required":
                return {"required": ["a"]}
            case "not":
                return {"not": same()}
            case keyword:
                return {keyword: self._random.choice([False, self._body(depth - 1, _RESOURCES, is_free=True)])}


@thorough(st.integers(0, 2**64))
def test_what_is_read_accepts_what_the_specification_accepts(seed: int) -> None:
    schema = Tangle(Random(seed)).schema()
    try:
        contract = read(schema, limits=UNLIMITED)
    except ContractRejectedError:
        return
    judge = Judge.prepare(contract.text)
    assert isinstance(judge, Judge)
    oracle = Oracle(schema)
    for instance in _INSTANCES:
        verdict = judge.judge_value(parsed(instance))
        assert isinstance(verdict, Valid | Invalid)
        assert isinstance(verdict, Valid) == oracle.accepts(instance), json.dumps([schema, instance])


@thorough(st.integers(0, 2**64), num_examples=1_000)
def test_a_resource_may_stand_in_the_text_or_beside_it(seed: int) -> None:
    random = Random(seed)
    schema = Tangle(random).schema()
    moved = random.sample(["r0", "r1"], random.randint(1, 2))
    documents = {BASE + name: schema["$defs"][name] for name in moved}
    apart = {**schema, "$defs": {name: inner for name, inner in schema["$defs"].items() if name not in moved}}
    one, other = codes_or_text(schema, {}), codes_or_text(apart, documents)
    assert one == other


def codes_or_text(schema: Any, documents: dict[str, Any]) -> str | set[str]:
    """The canonical text, or why there is none."""
    try:
        return read(schema, limits=UNLIMITED, documents=documents).text
    except ContractRejectedError as error:
        return {rejection.code.value for rejection in error.rejections}
