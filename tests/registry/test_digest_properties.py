import json
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from policy.limits import UNLIMITED
from policy.rejection import RejectionCode
from registry.canonical import read_canonical
from registry.contract import CanonicalContract
from registry.errors import ContractRejectedError
from registry.keywords import SHAPES, Shape
from tests.registry.reading import read
from tests.registry.strategies import SCHEMAS, VALUES


def readable(schema: Any) -> CanonicalContract | None:
    """The contract, or none where it allows nothing."""
    try:
        return read(schema, limits=UNLIMITED)
    except ContractRejectedError as error:
        if {rejection.code for rejection in error.rejections} == {RejectionCode.UNSATISFIABLE}:
            return None
        raise


class Rewriter:
    """Writes a schema in another way that means the same: other layout, order and spelling."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._definitions: dict[str, Any] = {}

    def text(self, schema: Any) -> bytes:
        body = self._schema(schema, is_root=True)
        if self._definitions:
            body = body if isinstance(body, dict) else ({} if body else {"not": {}})
            body = {**body, self._random.choice(["$defs", "definitions"]): self._definitions}
            text = json.dumps(body).replace("#/@/", "#/$defs/" if "$defs" in body else "#/definitions/")
        else:
            text = json.dumps(body, indent=self._random.choice([None, 2]))
        return text.encode()

    def _schema(self, schema: Any, *, is_root: bool = False) -> Any:
        if isinstance(schema, bool):
            rewritten: Any = self._random.choice([True, {}]) if schema else False
        else:
            members = [(keyword, self._member(keyword, value)) for keyword, value in schema.items()]
            self._random.shuffle(members)
            rewritten = dict(members)
        hops = 0 if is_root else self._random.choice([0, 0, 1, 2])
        for _ in range(hops):
            name = f"n{len(self._definitions)}"
            self._definitions[name] = rewritten
            rewritten = {"$ref": f"#/@/{name}"}
        return rewritten

    def _member(self, keyword: str, value: Any) -> Any:
        match SHAPES.get(keyword):
            case Shape.SCHEMA:
                return self._schema(value)
            case Shape.SCHEMAS:
                return [self._schema(item) for item in value]
            case Shape.SCHEMAS_BY_NAME:
                items = [(name, self._schema(member)) for name, member in value.items()]
                if keyword != "properties":
                    self._random.shuffle(items)
                return dict(items)
            case _ if keyword in {"required", "enum", "type"} and isinstance(value, list):
                return self._random.sample(value, len(value))
            case _ if isinstance(value, int) and not isinstance(value, bool):
                return self._random.choice([value, float(value)])
            case _:
                return value


@given(SCHEMAS, st.randoms(use_true_random=False))
def test_layout_order_and_spelling_do_not_change_the_text(schema: Any, random: Random) -> None:
    contract = readable(schema)
    rewritten = readable(Rewriter(random).text(schema))
    assert (contract is None) == (rewritten is None)
    if contract is not None and rewritten is not None:
        assert rewritten.text == contract.text
        assert rewritten.digest == contract.digest


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
