"""What a line asks, or why it asks nothing."""

import json
from decimal import Decimal

import pytest

from cli.conform.request import (
    JsonInstance,
    KindContract,
    LineRefusedError,
    SchemaContract,
    SchemaTextContract,
    TextInstance,
    read_request,
)
from registry.contract import ContractKind


def test_a_line_names_a_contract_and_instances_exactly() -> None:
    request = read_request(
        b'{"id":"a","contract":{"kind":"json_schema","schema":{"minimum":0.1}},'
        b'"instances":[{"json":9007199254740993},{"text":"{ }"}]}'
    )
    assert request.contract == SchemaContract(schema={"minimum": Decimal("0.1")})
    assert request.instances == (JsonInstance(value=9007199254740993), TextInstance(text="{ }"))


def test_raw_text_is_not_read_with_the_line() -> None:
    line = json.dumps({"id": "a", "contract": {"kind": "json_schema", "schema_text": '{"a":1,"a":2}'}})
    assert read_request(line.encode()).contract == SchemaTextContract(schema_text='{"a":1,"a":2}')


@pytest.mark.parametrize(
    ("line", "code", "pointer"),
    [
        (b"{", "invalid_json", ""),
        (b"\xff", "invalid_encoding", ""),
        (b"[]", "malformed_line", ""),
        (b'{"id":"a"}', "malformed_line", "/contract"),
        (b'{"id":"a","contract":{"kind":"json_schema"}}', "malformed_line", "/contract"),
        (b'{"id":"a","contract":{"kind":"json_schema","schema":1,"schema_text":""}}', "malformed_line", "/contract"),
        (b'{"id":"a","contract":{"kind":"json_schema","schema":1,"x":1}}', "malformed_line", "/contract"),
        (b'{"id":"a","contract":{"kind":"json_schema","schema":{}},"instances":{}}', "malformed_line", "/instances"),
        (
            b'{"id":"a","contract":{"kind":"json_schema","schema":{}},"instances":[{}]}',
            "malformed_line",
            "/instances/0",
        ),
        (b'{"id":"a","contract":{"kind":"json_schema","schema":{}},"more":1}', "malformed_line", "/more"),
        (b'{"id":"a","contract":{"kind":"xml","definition":"a"}}', "unsupported_kind", ""),
        (b'{"id":"a","contract":{"kind":"regex"}}', "malformed_line", "/contract"),
        (b'{"id":"a","contract":{"kind":"regex","choices":["a"]}}', "malformed_line", "/contract"),
        (b'{"id":"a","contract":{"kind":"regex","pattern":"a","definition":"a"}}', "malformed_line", "/contract"),
        (b'{"id":"a","contract":{"kind":"tool_set","definition":[{"a":1,"a":2}]}}', "duplicate_name", "/0/a"),
        (b'{"id":"a","contract":{"kind":"json_schema","schema":{"a":[{"b":1,"b":2}]}}}', "duplicate_name", "/a/0/b"),
        (b'{"id":"a","contract":{"kind":"json_schema","schema":{"const":"\\ud800"}}}', "lone_surrogate", "/const"),
        (b'{"id":"a","contract":{"kind":"json_schema","schema":{"const":NaN}}}', "non_finite_number", "/const"),
        (b'{"id":"a","contract":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "limit_exceeded", ""),
    ],
)
def test_a_line_that_asks_nothing_is_refused_by_name_and_place(line: bytes, code: str, pointer: str) -> None:
    with pytest.raises(LineRefusedError) as refused:
        read_request(line)
    assert (refused.value.code, refused.value.pointer) == (code, pointer)


@pytest.mark.parametrize("member", ["definition", "tools"])
def test_a_contract_of_another_kind_is_about_texts_and_values_are_texts_as_they_are_written(member: str) -> None:
    instances = [{"json": {"b": [1.0], "a": "x"}}, {"text": "y"}]
    line = json.dumps({"contract": {"kind": "tool_set", member: []}, "instances": instances})
    request = read_request(line.encode())
    assert request.contract == KindContract(kind=ContractKind.TOOL_SET, value=[])
    assert request.instances == (TextInstance(text='{"b":[1],"a":"x"}'), TextInstance(text="y"))
