"""Bodies of Confluent clients: what is taken, and what is refused by name."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.confluent.errors import ConfluentError, Fault
from gateway.confluent.requests import (
    MAX_REFERENCES,
    SchemaReference,
    read_level_request,
    read_mode_request,
    read_schema_request,
)
from registry.compatibility.modes import CompatibilityMode
from registry.identifiers import RevisionNumber


def refusal(body: Any, *, lenient: bool = False) -> Fault:
    with pytest.raises(ConfluentError) as refused:
        read_schema_request(body, lenient=lenient)
    return refused.value.fault


def schema(**members: Any) -> dict[str, Any]:
    return {"schema": "{}", "schemaType": "JSON"} | members


def test_a_schema_with_references_is_read() -> None:
    reference = {"name": "a.json", "subject": "a", "version": 3}
    latest = {"name": "b.json", "subject": "b", "version": -1}
    request = read_schema_request(schema(references=[reference, latest]), lenient=False)
    assert request.text == "{}"
    assert request.references == (
        SchemaReference(name="a.json", subject="a", version=RevisionNumber(3)),
        SchemaReference(name="b.json", subject="b", version=None),
    )


def test_what_asks_for_nothing_may_be_there() -> None:
    neutral = schema(references=None, metadata=None, ruleSet=None, id=-1, version=0, schemaTags=[])
    assert read_schema_request(neutral, lenient=False).references == ()


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({"schemaType": "AVRO"}, Fault.INVALID_SCHEMA),
        ({"schemaType": None}, Fault.INVALID_SCHEMA),
        ({"schemaType": "PROTOBUF"}, Fault.INVALID_SCHEMA),
        ({"schemaType": "json"}, Fault.INVALID_SCHEMA),
        ({"schemaType": ["JSON"]}, Fault.INVALID_SCHEMA),
        ({"schema": ""}, Fault.INVALID_SCHEMA),
        ({"schema": " "}, Fault.INVALID_SCHEMA),
        ({"schema": {}}, Fault.INVALID_SCHEMA),
        ({"schema": None}, Fault.INVALID_SCHEMA),
        ({"ruleSet": {"domainRules": [{"name": "r"}]}}, Fault.INVALID_RULES),
        ({"metadata": {"properties": {"owner": "me"}}}, Fault.NOT_PERMITTED),
        ({"schemaTagsToAdd": [{}]}, Fault.NOT_PERMITTED),
        ({"id": 7}, Fault.NOT_PERMITTED),
        ({"version": 2}, Fault.NOT_PERMITTED),
        ({"version": True}, Fault.NOT_PERMITTED),
        ({"scehma": "{}"}, Fault.MALFORMED),
        ({"references": {}}, Fault.MALFORMED),
        ({"references": ["a"]}, Fault.MALFORMED),
        ({"references": [{"name": "a", "subject": "a"}]}, Fault.MALFORMED),
        ({"references": [{"name": "a", "subject": "a", "version": True}]}, Fault.MALFORMED),
        ({"references": [{"name": "a", "subject": "a", "version": "1"}]}, Fault.MALFORMED),
        ({"references": [{"name": "", "subject": "a", "version": 1}]}, Fault.MALFORMED),
        ({"references": [{"name": "x" * 2049, "subject": "a", "version": 1}]}, Fault.MALFORMED),
        ({"references": [{"name": "a", "subject": "a", "version": 0}]}, Fault.INVALID_VERSION),
        ({"references": [{"name": "a", "subject": s, "version": 1} for s in "ab"]}, Fault.INVALID_SCHEMA),
        (
            {"references": [{"name": str(n), "subject": "a", "version": 1} for n in range(MAX_REFERENCES + 1)]},
            Fault.INVALID_SCHEMA,
        ),
    ],
)
def test_what_is_not_done_here_is_refused_by_name(members: dict[str, Any], expected: Fault) -> None:
    assert refusal(schema(**members)) is expected


@pytest.mark.parametrize("body", [None, [], "{}", 1])
def test_a_body_is_an_object(body: Any) -> None:
    assert refusal(body) is Fault.MALFORMED


def test_a_missing_type_means_avro_and_the_message_says_so() -> None:
    with pytest.raises(ConfluentError, match=r"AVRO.*'schemaType': 'JSON'"):
        read_schema_request({"schema": "{}"}, lenient=False)


def test_unknown_members_are_passed_over_only_where_the_client_asks_for_it() -> None:
    assert refusal(schema(futureMember=1)) is Fault.MALFORMED
    assert read_schema_request(schema(futureMember=1), lenient=True).text == "{}"
    assert refusal(schema(ruleSet={"domainRules": [1]}), lenient=True) is Fault.INVALID_RULES


@pytest.mark.parametrize("member", ["compatibility", "compatibilityLevel"])
@pytest.mark.parametrize("level", list(CompatibilityMode))
def test_levels_are_confluents_seven(member: str, level: CompatibilityMode) -> None:
    assert read_level_request({member: level.value}, lenient=False) is level


@pytest.mark.parametrize("level", ["backward", "STRICT", "", None, 3, ["FULL"]])
def test_any_other_level_is_refused(level: Any) -> None:
    with pytest.raises(ConfluentError) as refused:
        read_level_request({"compatibility": level}, lenient=True)
    assert refused.value.fault is Fault.INVALID_LEVEL


def test_rules_for_all_schemas_of_a_subject_are_refused() -> None:
    with pytest.raises(ConfluentError, match="overrideRuleSet") as refused:
        read_level_request({"compatibility": "FULL", "overrideRuleSet": {"domainRules": [{}]}}, lenient=True)
    assert refused.value.fault is Fault.NOT_PERMITTED


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("READONLY", Fault.NOT_PERMITTED),
        ("IMPORT", Fault.NOT_PERMITTED),
        ("x", Fault.INVALID_MODE),
        (1, Fault.INVALID_MODE),
    ],
)
def test_there_is_one_mode(mode: Any, expected: Fault) -> None:
    read_mode_request({"mode": "READWRITE"})
    with pytest.raises(ConfluentError) as refused:
        read_mode_request({"mode": mode})
    assert refused.value.fault is expected


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
MEMBERS = st.sampled_from(
    ["schema", "schemaType", "references", "metadata", "ruleSet", "id", "version", "compatibility", "mode", "x"]
)


@given(body=JSON | st.dictionaries(MEMBERS, JSON | st.just("JSON"), max_size=6), lenient=st.booleans())
def test_any_body_is_read_or_refused(*, body: Any, lenient: bool) -> None:
    with suppress(ConfluentError):
        request = read_schema_request(body, lenient=lenient)
        assert request.text.strip()
    with suppress(ConfluentError):
        assert read_level_request(body, lenient=lenient) in CompatibilityMode
    with suppress(ConfluentError):
        read_mode_request(body)
