import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.bitmask import BitmaskError
from kernels.draws import Draws, Sampled
from kernels.masked_sampling import MaskedSamplingError, masked_sample
from tests.kernels.sampling_worlds import (
    DEVICE,
    NONE,
    WAYS,
    by_kernels,
    chi_square,
    joined,
    kept_by_definition,
    new_draws,
    packed,
    row_numbers,
)

EVERY_WAY = pytest.mark.parametrize("way", list(WAYS))


def random_row(vocabulary_size: int, seed: int, *, num_rows: int = 1) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return (3 * torch.randn(num_rows, vocabulary_size, generator=generator)).to(DEVICE)


def random_mask(vocabulary_size: int, seed: int, *, num_rows: int = 1, share: float = 0.5) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(num_rows, vocabulary_size, generator=generator) < share


def check_against_definition(sampled: Sampled, index: int, row: torch.Tensor, allowed: torch.Tensor) -> None:
    """All but which token a draw is: that it is allowed, and what is said about it and its mask."""
    exact = row.double().cpu()
    logprobs = exact.log_softmax(0)
    token_id = int(sampled.token_ids[index])
    assert int(sampled.num_allowed[index]) == int(allowed.sum())
    assert float(sampled.removed_mass[index]) == pytest.approx(float(logprobs[~allowed].exp().sum()), abs=2e-6)
    if bool(allowed.any()):
        assert bool(allowed[token_id])
        assert float(sampled.logprobs[index]) == pytest.approx(float(logprobs[token_id]), abs=1e-5)
    else:
        assert token_id == NONE
        assert math.isnan(float(sampled.logprobs[index]))


@EVERY_WAY
@settings(deadline=None, max_examples=8)
@given(
    vocabulary_size=st.sampled_from([1, 31, 32, 33, 1000, 1025]),
    seed=st.integers(0, 10**6),
    temperature=st.sampled_from([0.0, 0.3, 1.0, 2.0]),
    share=st.sampled_from([0.0, 0.01, 0.5, 1.0]),
)
def test_tokens_are_allowed_and_their_numbers_are_those_of_the_raw_distribution(
    way: str, vocabulary_size: int, seed: int, temperature: float, share: float
) -> None:
    logits = random_row(vocabulary_size, seed, num_rows=2)
    allowed = random_mask(vocabulary_size, seed, num_rows=2, share=share)
    draws = new_draws(2, temperature=temperature, first_seed=seed)
    sampled = WAYS[way](logits, draws, None, packed(allowed), row_numbers([1, 0]))
    for index in range(2):
        check_against_definition(sampled, index, logits[index], allowed[1 - index])
        if temperature == 0 and bool(allowed[1 - index].any()):
            masked = logits[index].cpu().masked_fill(~allowed[1 - index], -math.inf)
            assert int(sampled.token_ids[index]) == int(masked.argmax())


@EVERY_WAY
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64])
def test_every_floating_type_and_stride_is_sampled_and_left_as_it_was(way: str, dtype: torch.dtype) -> None:
    storage = random_row(6, 1, num_rows=1100).to(dtype)
    logits = storage.t()[::2]
    before = storage.clone()
    allowed = random_mask(1100, 1, num_rows=3)
    wide = packed(allowed).repeat_interleave(2, dim=1)
    sampled = WAYS[way](logits, new_draws(3), None, wide[:, ::2], row_numbers([0, 1, 2]))
    for index in range(3):
        check_against_definition(sampled, index, logits[index].float(), allowed[index])
    assert torch.equal(storage, before)


@EVERY_WAY
def test_greedy_takes_the_first_of_equals(way: str) -> None:
    logits = torch.zeros(1, 3000, device=DEVICE)
    logits[0, [700, 2047, 2048]] = 5.0
    draws = new_draws(1, temperature=0.0)
    allowed = torch.ones(1, 3000, dtype=torch.bool)
    assert int(WAYS[way](logits, draws, None, packed(allowed), row_numbers([0])).token_ids) == 700
    allowed[0, 700] = False
    assert int(WAYS[way](logits, draws, None, packed(allowed), row_numbers([0])).token_ids) == 2047


@EVERY_WAY
def test_rows_are_chosen_repeated_and_refused_one_by_one(way: str) -> None:
    logits = random_row(100, 2, num_rows=3)
    rows = torch.tensor([2, 0, 2, 3, -1, 1 << 40], device=DEVICE)
    sampled = WAYS[way](logits, new_draws(6, temperature=0.0), rows, None, None)
    best = logits.argmax(1).tolist()
    assert sampled.token_ids.tolist() == [best[2], best[0], best[2], NONE, NONE, NONE]
    assert sampled.num_allowed.tolist() == [100, 100, 100, 0, 0, 0]
    assert sampled.logprobs[:3].isfinite().all()
    assert sampled.logprobs[3:].isnan().all()
    assert sampled.removed_mass[3:].isnan().all()


@EVERY_WAY
def test_a_mask_that_is_not_there_allows_nothing_and_no_mask_everything(way: str) -> None:
    logits = random_row(100, 3, num_rows=5)
    mask = packed(random_mask(100, 3, num_rows=2))
    sampled = WAYS[way](logits, new_draws(5), None, mask, row_numbers([-1, 2, -2, 2**31 - 1, 1]))
    assert [token_id == NONE for token_id in sampled.token_ids.tolist()] == [False, True, True, True, False]
    assert sampled.num_allowed[:4].tolist() == [100, 0, 0, 0]
    assert sampled.removed_mass[0] == 0
    assert torch.allclose(sampled.removed_mass[1:4], torch.ones(3, device=DEVICE))


@EVERY_WAY
@pytest.mark.parametrize("temperature", [0.0, 0.7, 1.0])
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_is_no_number_is_no_token_where_it_is_allowed_and_no_matter_where_it_is_not(
    way: str, temperature: float, value: float
) -> None:
    logits = random_row(1500, 4, num_rows=2)
    logits[:, 1200] = value
    allowed = torch.ones(2, 1500, dtype=torch.bool)
    allowed[1, 1200] = False
    sampled = WAYS[way](logits, new_draws(2, temperature=temperature), None, packed(allowed), row_numbers([0, 1]))
    assert int(sampled.token_ids[0]) == NONE
    assert 0 <= int(sampled.token_ids[1]) < 1500
    assert int(sampled.token_ids[1]) != 1200
    assert sampled.logprobs.isnan().all()  # there is no raw distribution
    assert sampled.num_allowed.tolist() == [1500, 1499]


@EVERY_WAY
def test_rows_of_minus_infinity_have_no_token(way: str) -> None:
    logits = torch.full((1, 1100), -math.inf, device=DEVICE)
    for temperature in (0.0, 1.0, 0.5):
        assert int(WAYS[way](logits, new_draws(1, temperature=temperature), None, None, None).token_ids) == NONE


@EVERY_WAY
@pytest.mark.parametrize(
    "choice",
    [
        {"temperature": -1.0},
        {"temperature": math.nan},
        {"temperature": math.inf},
        {"top_k": -1},
        {"top_p": math.nan},
    ],
)
def test_a_choice_out_of_range_has_no_token(way: str, choice: dict[str, float]) -> None:
    draws = replace(new_draws(1, **choice), has_filters=True)  # type: ignore[arg-type]  # one of several types
    assert int(WAYS[way](random_row(50, 5), draws, None, None, None).token_ids) == NONE


@EVERY_WAY
@pytest.mark.parametrize("temperature", [1.0, 0.5, 1e-6, 1e-38])
def test_tokens_far_below_the_rest_are_drawn_where_only_they_are_allowed(way: str, temperature: float) -> None:
    logits = torch.zeros(1, 2100, device=DEVICE)
    logits[0, [40, 1500]] = torch.tensor([-300.0, -320.0], device=DEVICE)
    allowed = torch.zeros(1, 2100, dtype=torch.bool)
    allowed[0, [40, 1500]] = True
    sampled = WAYS[way](logits, new_draws(1, temperature=temperature), None, packed(allowed), row_numbers([0]))
    assert sampled.token_ids.tolist() == [40]  # the other is e^-20 as likely, or less
    assert sampled.removed_mass.tolist() == [1.0]


@pytest.mark.parametrize("way", list(WAYS) if DEVICE.type == "cpu" else ["kernels"])  # torch's sums vary on a GPU
def test_a_row_is_the_same_bit_for_bit_in_any_company(way: str) -> None:
    logits = random_row(1500, 6, num_rows=5)
    masks = packed(random_mask(1500, 6, num_rows=3))
    choices = [
        new_draws(1, temperature=0.0), new_draws(1, first_seed=8), new_draws(1, temperature=0.6, first_seed=9),
        new_draws(1, temperature=0.9, top_k=20, top_p=0.9, first_seed=10), new_draws(1, first_seed=11, place=3),
    ]  # fmt: skip
    mask_rows = [0, 1, -1, 2, 0]
    whole = WAYS[way](logits, joined(choices), None, masks, row_numbers(mask_rows))
    for index, choice in enumerate(choices):
        rows = torch.tensor([index], device=DEVICE)
        alone = WAYS[way](logits, choice, rows, masks, row_numbers([mask_rows[index]]))
        first = WAYS[way](logits[index:].clone(), choice, rows - index, masks.clone(), row_numbers([mask_rows[index]]))
        for field in ("token_ids", "logprobs", "removed_mass", "num_allowed"):
            in_company = getattr(whole, field)[index]
            assert torch.equal(getattr(alone, field)[0], in_company)
            assert torch.equal(getattr(first, field)[0], in_company)


def test_the_kernels_draw_what_the_reference_draws() -> None:
    logits = random_row(3300, 7, num_rows=6)
    masks = packed(random_mask(3300, 7, num_rows=2, share=0.3))
    choices = [
        new_draws(2, first_seed=100), new_draws(1, temperature=0.4, first_seed=1 << 40),
        new_draws(1, temperature=1.5, first_seed=-5, place=1 << 33), new_draws(1, temperature=0.0),
        new_draws(1, top_p=0.7, first_seed=3),
    ]  # fmt: skip
    mask_rows = row_numbers([0, 1, 0, -1, 1, 0])
    ours = by_kernels(logits, joined(choices), None, masks, mask_rows)
    reference = WAYS["reference"](logits, joined(choices), None, masks, mask_rows)
    assert torch.equal(ours.token_ids, reference.token_ids)
    assert torch.equal(ours.num_allowed, reference.num_allowed)
    assert torch.allclose(ours.logprobs, reference.logprobs, atol=1e-5)
    assert torch.allclose(ours.removed_mass, reference.removed_mass, atol=1e-6)


@pytest.mark.parametrize(
    ("temperature", "top_k", "top_p"),
    [(1.0, 0, 1.0), (0.5, 0, 1.0), (2.0, 0, 1.0), (1.0, 4, 1.0), (1.0, 0, 0.8), (0.8, 6, 0.9)],
)
def test_frequencies_over_seeds_are_the_probabilities(temperature: float, top_k: int, top_p: float) -> None:
    vocabulary_size, num_draws = 2100, 2000
    places = [3, 40, 900, 1023, 1024, 1700, 2047, 2048, 2099]
    logits = torch.full((1, vocabulary_size), 9.0, device=DEVICE)  # likelier than all that is allowed
    logits[0, places] = torch.tensor([0.0, 0.5, 0.1, 1.0, -0.4, 0.9, 0.3, 0.7, -0.2], device=DEVICE)
    allowed = torch.zeros(1, vocabulary_size, dtype=torch.bool)
    allowed[0, places] = True
    draws = new_draws(num_draws, temperature=temperature, top_k=top_k, top_p=top_p)
    rows = torch.zeros(num_draws, dtype=torch.int64, device=DEVICE)
    sampled = masked_sample(logits, draws, rows=rows, bitmask=packed(allowed), mask_rows=row_numbers([0] * num_draws))
    masked = logits[0].cpu().masked_fill(~allowed[0], -math.inf)
    kept = kept_by_definition(masked, temperature, top_k, top_p)
    counts = torch.bincount(sampled.token_ids.cpu(), minlength=vocabulary_size)
    assert int(counts[kept].sum()) == num_draws
    assert abs(chi_square(counts[kept], (masked[kept].double() / temperature).softmax(0))) < 4


def test_frequencies_over_places_of_many_tokens_are_the_probabilities() -> None:
    num_draws, vocabulary_size = 2000, 5000
    logits = random_row(vocabulary_size, 8)
    draws = replace(new_draws(num_draws), place=torch.arange(num_draws, device=DEVICE))
    draws = replace(draws, seed=torch.full_like(draws.seed, 77))
    rows = torch.zeros(num_draws, dtype=torch.int64, device=DEVICE)
    sampled = masked_sample(logits, draws, rows=rows)
    order = logits[0].argsort(descending=True).cpu()
    group = torch.empty(vocabulary_size, dtype=torch.int64)
    probabilities = logits[0].double().cpu().softmax(0)
    group[order] = (probabilities[order].cumsum(0) * 19.99).long()
    expected = torch.zeros(20, dtype=torch.float64).index_add_(0, group, probabilities)
    counts = torch.bincount(group[sampled.token_ids.cpu()], minlength=20)
    some = expected > 0  # one likely token can span several twentieths
    assert int(counts[~some].sum()) == 0
    assert abs(chi_square(counts[some], expected[some])) < 4


def test_seeds_and_places_draw_apart() -> None:
    logits = torch.zeros(1, 4000, device=DEVICE)
    rows = torch.zeros(200, dtype=torch.int64, device=DEVICE)
    by_seed = masked_sample(logits, new_draws(200), rows=rows).token_ids.tolist()
    assert by_seed == masked_sample(logits, new_draws(200), rows=rows).token_ids.tolist()
    assert len(set(by_seed)) > 180
    by_place = masked_sample(logits, new_draws(200, place=1), rows=rows).token_ids.tolist()
    assert sum(here == there for here, there in zip(by_seed, by_place, strict=True)) < 5


def test_a_full_vocabulary_with_few_allowed_tokens() -> None:
    logits = random_row(151_936, 9, num_rows=2)
    allowed = torch.zeros(2, 151_936, dtype=torch.bool)
    allowed[0, [0, 77_777, 151_935]] = True
    allowed[1, 100_000] = True
    sampled = masked_sample(logits, new_draws(2), bitmask=packed(allowed), mask_rows=row_numbers([0, 1]))
    for index in range(2):
        check_against_definition(sampled, index, logits[index], allowed[index])
    assert int(sampled.token_ids[1]) == 100_000


def broken(draws: Draws, name: str) -> Draws:
    return replace(draws, **{name: getattr(draws, name)[:-1]})


@pytest.mark.parametrize("name", ["temperature", "top_k", "top_p", "seed", "place"])
def test_draws_that_do_not_fit_are_refused(name: str) -> None:
    logits, draws = random_row(40, 1, num_rows=2), new_draws(2)
    with pytest.raises(MaskedSamplingError, match=name):
        masked_sample(logits, broken(draws, name))
    with pytest.raises(MaskedSamplingError, match=name):
        masked_sample(logits, replace(draws, **{name: getattr(draws, name).double()}))


def test_logits_and_rows_that_do_not_fit_are_refused() -> None:
    draws = new_draws(2)
    for logits in (torch.zeros(2, 40, dtype=torch.int32), torch.zeros(2, 2, 40), torch.zeros(2, 0)):
        with pytest.raises(MaskedSamplingError, match="logits"):
            masked_sample(logits.to(DEVICE), draws)
    logits = random_row(40, 1, num_rows=2)
    for rows in (torch.tensor([0, 1], dtype=torch.int32), torch.tensor([[0, 1]])):
        with pytest.raises(MaskedSamplingError, match="rows"):
            masked_sample(logits, draws, rows=rows.to(DEVICE))
    with pytest.raises(MaskedSamplingError):
        masked_sample(logits, draws, rows=torch.tensor([0, 1, 0], device=DEVICE))


@pytest.mark.parametrize(
    "bitmask",
    [
        torch.zeros(2, 1, dtype=torch.int32),
        torch.zeros(2, 3, dtype=torch.int32),
        torch.zeros(2, 2),
        torch.zeros(2, dtype=torch.int32),
    ],
)
def test_masks_that_do_not_cover_the_vocabulary_are_refused(bitmask: torch.Tensor) -> None:
    logits = random_row(40, 1, num_rows=2)
    with pytest.raises(BitmaskError):
        masked_sample(logits, new_draws(2), bitmask=bitmask.to(DEVICE), mask_rows=row_numbers([0, 1]))


def test_a_mask_without_rows_or_rows_without_a_mask_are_refused() -> None:
    logits, mask = random_row(40, 1), packed(random_mask(40, 1))
    with pytest.raises(BitmaskError):
        masked_sample(logits, new_draws(1), bitmask=mask)
    with pytest.raises(BitmaskError):
        masked_sample(logits, new_draws(1), mask_rows=row_numbers([0]))
    with pytest.raises(MaskedSamplingError, match="mask_rows"):
        masked_sample(logits, new_draws(1), bitmask=mask, mask_rows=row_numbers([0, 0]))


@EVERY_WAY
def test_nothing_to_sample_and_nothing_to_sample_from(way: str) -> None:
    assert WAYS[way](random_row(40, 1)[:0], new_draws(0), None, None, None).token_ids.shape == (0,)
    rows = torch.tensor([0], device=DEVICE)
    assert WAYS[way](random_row(40, 1)[:0], new_draws(1), rows, None, None).token_ids.tolist() == [NONE]
    masks = packed(random_mask(40, 1))[:0]
    assert WAYS[way](random_row(40, 1), new_draws(1), None, masks, row_numbers([0])).token_ids.tolist() == [NONE]
