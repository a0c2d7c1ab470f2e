"""Lines beside each other, answers in order."""

import asyncio
from collections.abc import Iterator

import pytest

from cli.conform.answer import ConformAnswer, ConformVerdict
from cli.conform.flow import LINES_AHEAD_PER_WORKER, run_lines
from cli.conform.lines import InputLine


def _lines(count: int) -> Iterator[InputLine]:
    return (InputLine(data=str(number).encode(), num_bytes=1) for number in range(count))


def _answer(line: InputLine) -> ConformAnswer:
    return ConformAnswer(id=line.data.decode(), verdict=ConformVerdict.ACCEPTED)


async def test_answers_keep_the_order_of_the_lines_whoever_is_slow() -> None:
    written: list[str | None] = []
    release = asyncio.Event()

    async def slow(line: InputLine) -> ConformAnswer:
        await release.wait()
        return _answer(line)

    async def quick(line: InputLine) -> ConformAnswer:
        if line.data == b"3":
            release.set()
        return _answer(line)

    await run_lines(_lines(50), [slow, quick], lambda answer: written.append(answer.id))
    assert written == [str(number) for number in range(50)]


async def test_only_so_many_lines_are_read_ahead_of_the_oldest_answer() -> None:
    num_read = 0

    def counted() -> Iterator[InputLine]:
        nonlocal num_read
        for line in _lines(1000):
            num_read += 1
            yield line

    num_written = 0

    def write(_answer: ConformAnswer) -> None:
        nonlocal num_written
        num_written += 1
        # One more may be in the reader's hand.
        assert num_read <= num_written + 2 * LINES_AHEAD_PER_WORKER + 1

    async def answer(line: InputLine) -> ConformAnswer:
        await asyncio.sleep(0)
        return _answer(line)

    await run_lines(counted(), [answer, answer], write)
    assert num_written == 1000


async def test_no_lines_no_answers() -> None:
    written: list[ConformAnswer] = []

    async def answer(line: InputLine) -> ConformAnswer:
        return _answer(line)

    await run_lines(_lines(0), [answer], written.append)
    assert written == []


async def test_a_fault_of_the_input_is_raised_after_the_answers_before_it() -> None:
    def broken() -> Iterator[InputLine]:
        yield from _lines(3)
        raise OSError("the input went away")

    written: list[ConformAnswer] = []

    async def answer(line: InputLine) -> ConformAnswer:
        return _answer(line)

    with pytest.raises(OSError, match="went away"):
        await run_lines(broken(), [answer], written.append)
    assert len(written) == 3
