"""One hostile line costs its child, never another line its answer."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
import pytest_asyncio

from cli.conform import line_worker
from cli.conform.answer import ConformVerdict
from cli.conform.line_worker import LineWorker
from cli.conform.lines import InputLine
from policy.limits import TENANT

_QUICK = replace(TENANT, compile=replace(TENANT.compile, cpu_seconds=0.3, wall_seconds=5.0))


@pytest_asyncio.fixture
async def worker(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[LineWorker]:
    monkeypatch.setattr(line_worker, "MAX_INSTANCES_CPU_SECONDS", 0.3)
    worker = await LineWorker.start({}, _QUICK, entry="tests.cli.conform.hostile_worker:build")
    try:
        yield worker
    finally:
        await worker.close()


def _line(text: str) -> InputLine:
    data = text.encode()
    return InputLine(data=data, num_bytes=len(data))


@pytest.mark.parametrize("when", ["", "later"])
@pytest.mark.parametrize(
    ("what", "verdict", "code"),
    [
        ("crash", ConformVerdict.CRASHED, "signal SIGSEGV"),
        ("hoard", ConformVerdict.CRASHED, "memory"),
        ("raise", ConformVerdict.CRASHED, "ValueError"),
        ("spin", ConformVerdict.TIMEOUT, "cpu_seconds"),
    ],
)
async def test_a_line_that_kills_its_child_is_answered_and_so_is_the_next(
    worker: LineWorker, when: str, what: str, verdict: ConformVerdict, code: str
) -> None:
    answer = await worker.answer(_line(f'{{"id":"hostile","x":"{what} {when}"}}'))
    assert (answer.id, answer.verdict, answer.code) == ("hostile", verdict, code)
    # What was known before it died is not lost.
    assert answer.contract_digest == ("sha256:0" if when else None)
    after = await worker.answer(_line('{"id":"next"}'))
    assert (after.id, after.verdict) == ("next", ConformVerdict.ACCEPTED)
    assert after.instances[0].generable


async def test_a_line_that_was_too_long_to_keep_is_answered_without_the_child(worker: LineWorker) -> None:
    answer = await worker.answer(InputLine(data=b'{"id":"long","x":"' + b"x" * 100, num_bytes=100_000_000))
    assert (answer.id, answer.verdict, answer.code) == ("long", ConformVerdict.REJECTED, "limit_exceeded")
