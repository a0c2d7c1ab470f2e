"""What the engine's own compiler may have, and what it would be kept busy by."""

from pathlib import Path
from typing import Any

import pytest

from compiler_pool.compiler import CompiledContract, RefusedContract, compile_contract
from compiler_pool.engine_burden import is_light
from compiler_pool.tokenizer import load_tokenizer
from policy.enforcement import EnforcementPolicy
from policy.limits import TENANT
from registry.contract import ContractKind
from registry.parsing import parse_json
from registry.reading import read_contract
from tests.compiler_pool.tiny_tokenizer import write_tokenizer


def _canonical(text: str) -> Any:
    value = parse_json(text, max_bytes=1 << 20, max_nesting=64)
    return read_contract(ContractKind.JSON_SCHEMA, value, limits=TENANT.contract, policy=EnforcementPolicy()).schema


@pytest.mark.parametrize(
    "text",
    [
        "true",
        '{"multipleOf":1000}',
        '{"properties":{"a":{"multipleOf":0.01},"b":{"multipleOf":7},"c":{"type":"integer"}}}',
        '{"allOf":[{"pattern":"a"},{"pattern":"b"},{"pattern":"c"},{"pattern":"d"}]}',
        '{"properties":{"a":{"pattern":"a"},"b":{"pattern":"b"},"c":{"pattern":"c"},"d":{"pattern":"d"},"e":{"format":"uuid"}}}',
        '{"anyOf":[{"pattern":"a"},{"pattern":"b"},{"pattern":"c"},{"pattern":"d"},{"pattern":"e"}]}',
    ],
)
def test_steps_and_patterns_that_stand_apart_are_light(text: str) -> None:
    assert is_light(_canonical(text))


@pytest.mark.parametrize(
    "text",
    [
        '{"allOf":[{"multipleOf":997},{"multipleOf":991}]}',
        '{"allOf":[{"multipleOf":99.7},{"multipleOf":99.1}]}',
        '{"pattern":"a","allOf":[{"pattern":"b"},{"pattern":"c"},{"allOf":[{"pattern":"d"},{"format":"uuid"}]}]}',
        '{"allOf":[{"$ref":"#/$defs/p"},{"pattern":"d"},{"pattern":"e"}],"$defs":{"p":{"pattern":"a","format":"uuid","allOf":[{"pattern":"b"}]}}}',
    ],
)
def test_steps_and_patterns_that_multiply_are_not(text: str) -> None:
    assert not is_light(_canonical(text))


def test_what_is_not_light_is_compiled_or_refused_by_name_all_the_same(tmp_path: Path) -> None:
    tokenizer = load_tokenizer(write_tokenizer(tmp_path / "tiny.json"))

    def compiled(schema: str) -> CompiledContract | RefusedContract:
        return compile_contract("json_schema", schema, tokenizer=tokenizer, policy=EnforcementPolicy(), limits=TENANT)

    five = compiled(
        '{"allOf":[{"pattern":"a"},{"pattern":"b"},{"pattern":"c"},{"pattern":"d"},{"pattern":"e"}],"type":"string"}'
    )
    assert isinstance(five, CompiledContract)
    steps = compiled('{"allOf":[{"multipleOf":997},{"multipleOf":991}]}')
    assert isinstance(steps, RefusedContract)
    assert [each.keyword for each in steps.rejections] == ["multipleOf"] * 2
