"""A sequence's logits, keys and values are bitwise the same however it was cut, placed, shared or computed again."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path

import pytest
import torch

from inference_node.block_pool import BlockPool
from inference_node.cpu_runner import CpuRunner
from inference_node.decoder import Decoder
from inference_node.slices import Slice
from tests.inference_node.model_worlds import load_decoder, new_cache

NUM_BLOCKS = 96


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """Tokens of a sequence, the first of them its prompt."""

    token_ids: Sequence[int]
    num_prompt_tokens: int

    def slice(self, blocks: Sequence[int], start: int, length: int, *, num_logits: int) -> Slice:
        return Slice(
            blocks=blocks,
            start=start,
            token_ids=self.token_ids[start : start + length],
            num_prompt_tokens=self.num_prompt_tokens,
            num_logits=num_logits,
        )


def text(num_prompt_tokens: int, num_later: int, *, seed: int = 0) -> Text:
    drawn = random.Random(seed)
    ids = [drawn.randrange(49152) for _ in range(num_prompt_tokens + num_later)]
    return Text(token_ids=ids, num_prompt_tokens=num_prompt_tokens)


TEXTS = [text(100, 21), text(37, 30, seed=1), text(48, 7, seed=2), text(3, 40, seed=3)]
Results = tuple[dict[int, torch.Tensor], torch.Tensor]
"""Logits by position, and all keys and values."""

IN_A_ROW = list(range(10))
SCATTERED = [17, 3, 40, 41, 5, 29, 8, 33, 12, 20]


def one_by_one(prompt_chunk: int, num_prompt_tokens: int) -> Iterator[int]:
    """A prompt in chunks, later tokens one by one."""
    for start in range(0, num_prompt_tokens, prompt_chunk):
        yield min(prompt_chunk, num_prompt_tokens - start)
    yield from repeat(1)


def computed(
    runner: CpuRunner,
    whole: Text,
    blocks: Sequence[int],
    lengths: Iterator[int],
    *,
    start: int = 0,
    company: Sequence[Slice] = (),
) -> Results:
    """Logits from the prompt's last token on."""
    logits: dict[int, torch.Tensor] = {}
    last = len(whole.token_ids)
    while start < last:
        length = min(next(lengths), last - start)
        end = start + length
        num_logits = max(0, min(length, end - whole.num_prompt_tokens + 1))
        rows = runner.forward([*company, whole.slice(blocks, start, length, num_logits=num_logits)])
        rows = rows[len(rows) - num_logits :]
        logits |= dict(zip(range(end - num_logits, end), rows, strict=True))
        start = end
    return logits, runner.read_keys_values(blocks, last)


def assert_same(actual: Results, expected: Results) -> None:
    assert actual[0].keys() <= expected[0].keys()
    assert [at for at in actual[0] if not torch.equal(actual[0][at], expected[0][at])] == []
    assert torch.equal(actual[1], expected[1])


def new_runner(decoder: Decoder) -> CpuRunner:
    return CpuRunner(decoder, new_cache(decoder, num_blocks=NUM_BLOCKS))


def alone(decoder: Decoder, whole: Text) -> Results:
    """Its prompt in chunks of 64, then token by token, without company."""
    return computed(new_runner(decoder), whole, IN_A_ROW, one_by_one(64, whole.num_prompt_tokens))


@pytest.fixture(scope="module", params=[torch.float32, torch.bfloat16], ids=["float32", "bfloat16"])
def decoder(request: pytest.FixtureRequest, tiny_directory: Path) -> Decoder:
    return load_decoder(tiny_directory, dtype=request.param)


@pytest.fixture(scope="module")
def expected(decoder: Decoder) -> list[Results]:
    return [alone(decoder, whole) for whole in TEXTS]


@pytest.mark.parametrize("chunk", [16, 32, 48, 128])
def test_however_a_prompt_is_cut(chunk: int, decoder: Decoder, expected: list[Results]) -> None:
    for whole, same in zip(TEXTS, expected, strict=True):
        actual = computed(new_runner(decoder), whole, IN_A_ROW, one_by_one(chunk, whole.num_prompt_tokens))
        assert_same(actual, same)


def test_wherever_its_blocks_are(decoder: Decoder, expected: list[Results]) -> None:
    for whole, same in zip(TEXTS, expected, strict=True):
        actual = computed(new_runner(decoder), whole, SCATTERED, one_by_one(64, whole.num_prompt_tokens))
        assert_same(actual, same)


@pytest.mark.parametrize("chunk", [32, 64, 128])
def test_when_everything_is_computed_again(chunk: int, decoder: Decoder, expected: list[Results]) -> None:
    for whole, same in zip(TEXTS, expected, strict=True):
        assert_same(computed(new_runner(decoder), whole, SCATTERED, repeat(chunk)), same)


def test_whether_later_tokens_come_alone_or_in_runs(decoder: Decoder, expected: list[Results]) -> None:
    for whole, same in zip(TEXTS, expected, strict=True):
        lengths = iter([whole.num_prompt_tokens, 1, 5, 2, *repeat(9, 10)])
        assert_same(computed(new_runner(decoder), whole, IN_A_ROW, lengths), same)


def test_after_drafts_that_were_not_taken(decoder: Decoder, expected: list[Results]) -> None:
    whole = TEXTS[1]
    runner = new_runner(decoder)
    same = expected[1]
    first = computed(runner, text(37, 2, seed=1), IN_A_ROW, one_by_one(64, 37))
    wrong = Text(token_ids=[*whole.token_ids[:39], 5, 6, 7, 8], num_prompt_tokens=37)
    refuted = computed(runner, wrong, IN_A_ROW, repeat(5), start=38)
    assert torch.equal(refuted[0][38], same[0][38])
    rest = computed(runner, whole, IN_A_ROW, repeat(4), start=39)
    assert_same((first[0] | rest[0], rest[1]), same)


@pytest.mark.parametrize("num_others", [1, 4, 11])
def test_in_any_company(num_others: int, decoder: Decoder, expected: list[Results]) -> None:
    runner = new_runner(decoder)
    company: list[Slice] = []
    for number in range(num_others):
        other = text(20 + 3 * number, 8, seed=100 + number)
        blocks = range(42 + 4 * number, 46 + 4 * number)
        runner.forward([other.slice(blocks, 0, other.num_prompt_tokens, num_logits=1)])
        length = 1 + number % 3
        company.append(other.slice(blocks, other.num_prompt_tokens, length, num_logits=length))
    for whole, same in zip(TEXTS[1:], expected[1:], strict=True):
        lengths = one_by_one(32, whole.num_prompt_tokens)
        assert_same(computed(runner, whole, SCATTERED, lengths, company=company), same)


def test_after_another_sequence_with_the_same_beginning(decoder: Decoder) -> None:
    runner = new_runner(decoder)
    pool = BlockPool(NUM_BLOCKS)
    first = TEXTS[0]
    table = pool.match(first.token_ids[:100], salt="")
    assert pool.grow(table, len(first.token_ids))
    computed(runner, first, table.blocks, one_by_one(48, 100))
    pool.publish(table, first.token_ids[:100], num_tokens=100, salt="")
    pool.release(table)
    second = Text(token_ids=[*first.token_ids[:70], *TEXTS[1].token_ids], num_prompt_tokens=90)
    found = pool.match(second.token_ids[:90], salt="")
    assert found.num_matched_tokens == 64
    assert pool.grow(found, len(second.token_ids))
    lengths = iter([26, *repeat(1, 100)])
    assert_same(
        computed(runner, second, found.blocks, lengths, start=64),
        computed(new_runner(decoder), second, IN_A_ROW, one_by_one(16, 90)),
    )


def test_from_keys_and_values_that_were_saved(decoder: Decoder, expected: list[Results]) -> None:
    whole = TEXTS[0]
    runner, other = new_runner(decoder), new_runner(decoder)
    computed(runner, whole, IN_A_ROW, one_by_one(64, 100))
    other.write_keys_values(SCATTERED, runner.read_keys_values(IN_A_ROW, 110))
    assert_same(computed(other, whole, SCATTERED, repeat(1), start=110), expected[0])


def test_where_no_row_padding_helps_and_every_part_is_computed_alone(tiny_directory: Path) -> None:
    decoder = load_decoder(tiny_directory)
    decoder.row_padding = None
    whole = TEXTS[1]
    assert_same(computed(new_runner(decoder), whole, SCATTERED, repeat(48)), alone(decoder, whole))


def test_a_runner_on_a_cpu_says_what_its_logits_are(decoder: Decoder) -> None:
    runner = new_runner(decoder)
    assert not runner.looks_ahead
    first = runner.forward([TEXTS[0].slice(IN_A_ROW, 0, 32, num_logits=3)])
    kept = first.clone()
    runner.forward([TEXTS[1].slice(SCATTERED, 0, 37, num_logits=3)])
    assert not runner.reuses_logits
    assert torch.equal(first, kept)
    assert first.dtype == torch.float32
    assert first.shape == (3, 49152)
