"""Comparisons in a process that may be killed: answers come back whole, and its death is an answer too."""

import pytest

from gateway.compatibility.job import pack_comparison, pack_job, unpack_comparison, unpack_job
from gateway.compatibility.judges import GatewayJudges
from gateway.compatibility.service import ComparisonService, compare_once
from registry.compatibility.comparison import Comparison, ContractText, compare
from registry.compatibility.verdicts import (
    Allowed,
    ComparisonBudget,
    Forbidden,
    NoVerdict,
    Safe,
    Unknown,
    UnknownReason,
    Unsafe,
)

_OLD = (
    "json_schema",
    '{"additionalProperties":false,"properties":{"n":{"type":"integer"},"t":{"enum":["a","é"]}},"type":"object"}',
)
_NEW = (
    "json_schema",
    '{"additionalProperties":false,"properties":{"n":{"type":"number"},"t":{"enum":["a"]}},"type":"object"}',
)
_PATTERNS = ",".join(f'{{"pattern":"^.*a.{{{n}}}$"}}' for n in (11, 12, 13))
_HARD = (
    ("json_schema", f'{{"allOf":[{_PATTERNS}],"type":"string"}}'),
    ("json_schema", '{"pattern":"^(?:.*a.{14}|c*)$","type":"string"}'),
)


def _compared() -> Comparison:
    old, new = (ContractText(kind=kind, text=text) for kind, text in (_OLD, _NEW))
    return compare(old, new, GatewayJudges())


async def test_the_service_answers_what_the_comparison_itself_answers() -> None:
    service = await ComparisonService.start()
    try:
        comparison = await service.compare(_OLD, _NEW)
    finally:
        await service.close()

    assert comparison == _compared()
    assert isinstance(comparison.consumer_safe, Unsafe)
    assert comparison.consumer_safe.witness_text == '{"n":0.5}'
    assert isinstance(comparison.producer_safe, Unsafe)
    assert comparison.producer_safe.witness_text == '{"t":"é"}'


async def test_a_comparison_over_its_time_is_unknown_and_the_next_one_is_answered() -> None:
    service = await ComparisonService.start(budget=ComparisonBudget(max_steps=1 << 40))
    try:
        killed = await service.compare(*_HARD, seconds=0.1)
        after = await service.compare(_OLD, _NEW)
    finally:
        await service.close()

    for answer in (killed.consumer_safe, killed.producer_safe):
        assert isinstance(answer, Unknown)
        assert answer.reason in {UnknownReason.TIME, UnknownReason.CRASHED}
    assert after == _compared()


def test_a_command_line_compares_without_an_event_loop() -> None:
    comparison = compare_once(("choice", '["a"]'), ("choice", '["a","b"]'))

    assert isinstance(comparison.producer_safe, Safe)
    assert isinstance(comparison.consumer_safe, Unsafe)
    assert comparison.consumer_safe.witness_text == "b"


def test_contracts_too_long_for_a_message_are_not_compared() -> None:
    comparison = compare_once(("lark", "a" * (64 * 1024 * 1024)), ("lark", "b"))

    assert isinstance(comparison.consumer_safe, Unknown)
    assert comparison.consumer_safe.reason is UnknownReason.BUDGET


def test_a_job_reads_back_as_it_was_written() -> None:
    old, new = ContractText(kind="regex", text="é+"), ContractText(kind="lark", text="")

    assert unpack_job(pack_job(old, new)) == (old, new)


def test_a_comparison_reads_back_as_it_was_written_with_exact_numbers() -> None:
    comparison = _compared()
    unknown = Unknown(reason=UnknownReason.KIND, message="m")
    other = Comparison(consumer_safe=Safe(proof=("p",)), producer_safe=unknown, changes=(), changes_left_out=3)

    assert unpack_comparison(pack_comparison(comparison)) == comparison
    assert unpack_comparison(pack_comparison(other)) == other


@pytest.mark.parametrize(
    ("schema", "document", "verdict"),
    [
        ('{"type":"integer"}', b"1.0", Allowed),
        ('{"type":"integer"}', b"1.5", Forbidden),
        ('{"type":"integer"}', b"nothing", Forbidden),
        ('{"pattern":"(?=x)"}', b'"x"', NoVerdict),
        ("[]", b"1", NoVerdict),
    ],
)
def test_the_judge_is_the_one_of_final_validation(schema: str, document: bytes, verdict: type) -> None:
    assert isinstance(GatewayJudges().prepare(schema).judge(document), verdict)
