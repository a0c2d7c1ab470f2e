"""The judge in a process of its own: killed on time, replaced, and nobody else's trouble."""

import asyncio
import json
import time
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from gateway.validation.job import JudgeJob, pack_job
from gateway.validation.judge import DocumentLimits
from gateway.validation.service import ValidationService
from gateway.validation.verdict import Invalid, Unjudged, UnjudgedReason, Valid, Verdict

PLENTY_SECONDS = 20.0

# Each level doubles the work: 2^40 visits for one number.
_HOSTILE = json.dumps(
    {
        "$ref": "#/$defs/0",
        "$defs": {
            str(level): {"allOf": [{"$ref": f"#/$defs/{level + 1}"}, {"$ref": f"#/$defs/{level + 1}"}]}
            for level in range(40)
        }
        | {"40": True},
    }
)


@pytest_asyncio.fixture
async def service() -> AsyncIterator[ValidationService]:
    service = await ValidationService.start(num_workers=2)
    try:
        yield service
    finally:
        await service.close()


async def test_documents_are_judged_by_contract(service: ValidationService) -> None:
    integer, text = '{"type":"integer"}', '{"type":"string"}'
    verdicts = await asyncio.gather(
        *(
            service.validate(schema, digest, document, seconds=PLENTY_SECONDS)
            for _ in range(5)
            for schema, digest, document in (
                (integer, "sha256:1", b"1"),
                (text, "sha256:2", b"1"),
                (integer, "sha256:1", b'"x"'),
                (text, "sha256:2", b'"x"'),
            )
        )
    )
    wrong_integer = Invalid(pointer="", keyword="type", message="expected integer")
    wrong_text = Invalid(pointer="", keyword="type", message="expected string")
    assert verdicts == [Valid(), wrong_text, wrong_integer, Valid()] * 5


async def test_a_judgement_over_its_time_is_killed_and_others_are_judged(service: ValidationService) -> None:
    hostile = asyncio.ensure_future(service.validate(_HOSTILE, "sha256:3", b"1", seconds=0.3))
    beside = [await service.validate("true", "sha256:4", b"{}", seconds=PLENTY_SECONDS) for _ in range(5)]
    verdict = await hostile
    assert isinstance(verdict, Unjudged)
    assert verdict.reason is UnjudgedReason.TIME
    assert beside == [Valid()] * 5
    # The killed judge's place is filled again: both are needed for two at once.
    after = await asyncio.gather(
        *(service.validate("true", "sha256:4", b"[]", seconds=PLENTY_SECONDS) for _ in range(4))
    )
    assert after == [Valid()] * 4


async def test_a_long_contract_is_sent_to_a_judge_once_and_named_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[JudgeJob] = []

    def noting(job: JudgeJob) -> bytes:
        sent.append(job)
        return pack_job(job)

    monkeypatch.setattr("gateway.validation.service.pack_job", noting)
    long = json.dumps({"enum": [f"value {number}" for number in range(1000)]})
    service = await ValidationService.start(num_workers=1)
    try:
        verdicts = [
            await service.validate(text, digest, document, seconds=PLENTY_SECONDS)
            for text, digest, document in (
                (long, "sha256:long", b'"value 7"'),
                (long, "sha256:long", b'"value 7"'),
                (long, "sha256:long", b'"value x"'),
                ('{"type":"string"}', "sha256:short", b"1"),
                ('{"type":"string"}', "sha256:short", b"1"),
            )
        ]
        assert [type(verdict) for verdict in verdicts] == [Valid, Valid, Invalid, Invalid, Invalid]
        assert [job.canonical_text is not None for job in sent] == [True, False, False, True, True]
        # A judge that took its place does not know it, and says so instead of guessing.
        killed = await service.validate(_HOSTILE, "sha256:3", b"1", seconds=0.3)
        assert isinstance(killed, Unjudged)
        sent.clear()
        assert await service.validate(long, "sha256:long", b'"value 7"', seconds=PLENTY_SECONDS) == Valid()
        assert [job.canonical_text is not None for job in sent] == [False, True]
    finally:
        await service.close()


async def test_a_document_too_large_to_send_is_not_judged() -> None:
    service = await ValidationService.start(limits=DocumentLimits(max_document_bytes=100, max_nesting=3))
    try:
        verdict = await service.validate("true", "sha256:4", b"[" * 200, seconds=PLENTY_SECONDS)
        assert isinstance(verdict, Unjudged)
        assert verdict.reason is UnjudgedReason.DOCUMENT_LIMIT
        assert await service.validate("true", "sha256:4", b"[[[]]]", seconds=PLENTY_SECONDS) == Valid()
        verdict = await service.validate("true", "sha256:4", b"[[[[]]]]", seconds=PLENTY_SECONDS)
        assert isinstance(verdict, Unjudged)
    finally:
        await service.close()


async def test_a_deep_document_is_judged_in_a_process_with_the_stack_for_it(service: ValidationService) -> None:
    schema = '{"items":{"$ref":"#"},"maxItems":1}'
    verdict = await service.validate(schema, "sha256:5", b"[" * 500 + b"]" * 500, seconds=PLENTY_SECONDS)
    assert verdict == Valid()
    verdict = await service.validate(schema, "sha256:5", b"[" * 500 + b"1,2" + b"]" * 500, seconds=PLENTY_SECONDS)
    assert isinstance(verdict, Invalid)
    assert verdict.pointer == "/0" * 499


async def test_recursion_without_an_end_ends_the_judgement_not_the_judge(service: ValidationService) -> None:
    verdict = await service.validate('{"$ref":"#"}', "sha256:6", b"1", seconds=PLENTY_SECONDS)
    assert isinstance(verdict, Unjudged)
    assert verdict.reason is UnjudgedReason.DEPTH
    assert await service.validate("true", "sha256:4", b"1", seconds=PLENTY_SECONDS) == Valid()


async def test_when_no_judge_is_free_there_is_no_verdict() -> None:
    service = await ValidationService.start(num_workers=1, max_queued=0)
    try:
        hostile = asyncio.ensure_future(service.validate(_HOSTILE, "sha256:3", b"1", seconds=1.0))
        await asyncio.sleep(0)
        verdict = await service.validate("true", "sha256:4", b"1", seconds=PLENTY_SECONDS)
        assert isinstance(verdict, Unjudged)
        assert verdict.reason is UnjudgedReason.BUSY
        assert isinstance(await hostile, Unjudged)
    finally:
        await service.close()


async def test_a_pause_of_the_gateway_itself_is_not_taken_for_slow_judges() -> None:
    service = await ValidationService.start(num_workers=1, max_queued=512)

    def asked(number: int) -> list["asyncio.Task[Verdict]"]:
        judging = [service.validate("true", "sha256:1", b"1", seconds=PLENTY_SECONDS) for _ in range(number)]
        return [asyncio.ensure_future(each) for each in judging]

    try:
        await asyncio.gather(*asked(50))
        first = asked(100)
        await asyncio.sleep(0)
        time.sleep(0.3)  # noqa: ASYNC251 - the pause: a burst of requests, or a busy machine
        assert set(await asyncio.gather(*first, *asked(100))) == {Valid()}
    finally:
        await service.close()
