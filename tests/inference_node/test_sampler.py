import math
from collections import Counter

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from inference_node.sampler import SamplingChoice, SamplingError, sample, uniform_draw

GREEDY = SamplingChoice(temperature=0.0, top_p=1.0, seed=0)


def chance(*, temperature: float = 1.0, top_p: float = 1.0, seed: int = 0) -> SamplingChoice:
    return SamplingChoice(temperature=temperature, top_p=top_p, seed=seed)


def test_greedy_takes_the_highest_and_of_equals_the_first() -> None:
    assert sample(torch.tensor([0.0, 3.0, 1.0, 3.0]), GREEDY, index=0) == 1


@settings(deadline=None)
@given(
    seed=st.integers(0, 2**63 - 1),
    index=st.integers(0, 10_000),
    temperature=st.sampled_from([0.0, 1e-6, 0.3, 1.0, 2.0]),
    top_p=st.sampled_from([1e-9, 0.5, 0.99, 1.0]),
    allowed=st.sets(st.integers(0, 599), min_size=1),
)
def test_a_forbidden_token_is_never_picked(
    seed: int, index: int, temperature: float, top_p: float, allowed: set[int]
) -> None:
    generator = torch.Generator().manual_seed(seed % 2**31)
    row = torch.full((600,), -math.inf)
    places = torch.tensor(sorted(allowed))
    row[places] = 30 * torch.randn(len(allowed), generator=generator)
    choice = chance(temperature=temperature, top_p=top_p, seed=seed)
    assert sample(row, choice, index=index) in allowed


def test_the_same_seed_and_index_pick_the_same_and_others_pick_others() -> None:
    row = torch.zeros(1000)
    picks = [sample(row, chance(seed=5), index=index) for index in range(50)]
    assert picks == [sample(row, chance(seed=5), index=index) for index in range(50)]
    assert len(set(picks)) > 40
    assert picks != [sample(row, chance(seed=6), index=index) for index in range(50)]


def test_frequencies_follow_the_probabilities() -> None:
    probabilities = [0.5, 0.3, 0.15, 0.05]
    row = torch.tensor(probabilities).log()
    counts = Counter(sample(row, chance(seed=1), index=index) for index in range(4000))
    for token, probability in enumerate(probabilities):
        assert abs(counts[token] / 4000 - probability) < 0.03


def test_temperature_sharpens_and_flattens() -> None:
    row = torch.tensor([1.0, 0.0])
    cold = sum(sample(row, chance(temperature=0.1), index=index) for index in range(500))
    hot = sum(sample(row, chance(temperature=2.0), index=index) for index in range(500))
    assert cold < 5
    assert hot > 120


@pytest.mark.parametrize(
    ("top_p", "kept"), [(0.4, {0}), (0.5, {0}), (0.51, {0, 1}), (0.85, {0, 1, 2}), (1.0, {0, 1, 2, 3})]
)
def test_top_p_keeps_the_fewest_that_reach_it(top_p: float, kept: set[int]) -> None:
    row = torch.tensor([0.5, 0.3, 0.15, 0.05]).double().log().float()
    assert {sample(row, chance(top_p=top_p), index=index) for index in range(500)} == kept


def test_top_p_over_more_tokens_than_the_quick_way_looks_at() -> None:
    row = torch.zeros(2000)
    picks = {sample(row, chance(top_p=0.9), index=index) for index in range(3000)}
    assert max(picks) < 1801
    assert len(picks) > 1200


@pytest.mark.parametrize("choice", [GREEDY, chance(), chance(top_p=0.5)])
@pytest.mark.parametrize("value", [-math.inf, math.nan])
def test_a_row_without_any_token_is_an_error_and_not_a_pick(choice: SamplingChoice, value: float) -> None:
    with pytest.raises(SamplingError):
        sample(torch.full((8,), value), choice, index=0)


@given(seed=st.integers(0, 2**63 - 1), index=st.integers(0, 2**40))
def test_draws_are_at_least_zero_and_less_than_one(seed: int, index: int) -> None:
    assert 0 <= uniform_draw(seed, index) < 1
