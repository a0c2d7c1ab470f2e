import math

import torch

from kernels.gumbel_noise import TILE_WORD, gumbel_noise, row_keys

KEYS = [[719661299, 814513812, -140523778], [1836658377, 1347030737, 978765302]]
NOISE = [[-1.01883, -0.627482], [0.865575, -0.147845], [1.023228, -0.691651]]


def keys_of(seeds: list[int], places: list[int]) -> torch.Tensor:
    return row_keys(torch.tensor(seeds), torch.tensor(places))


def test_noise_has_the_mean_and_the_spread_of_its_distribution() -> None:
    noise = gumbel_noise(keys_of([1, 2], [0, 0]), torch.arange(200_000, dtype=torch.int32)).double()
    assert torch.isfinite(noise).all()
    assert torch.allclose(noise.mean(1), torch.full((2,), 0.5772, dtype=torch.float64), atol=0.01)
    assert torch.allclose(noise.var(1), torch.full((2,), math.pi**2 / 6, dtype=torch.float64), atol=0.04)


def test_the_share_above_any_height_is_that_of_its_distribution() -> None:
    noise = gumbel_noise(keys_of([3], [9]), torch.arange(400_000, dtype=torch.int32))
    for height in (-1.5, 0.0, 2.0, 5.0, 8.0):
        share = 1 - math.exp(-math.exp(-height))
        spread = math.sqrt(share * (1 - share) / 400_000)
        assert abs(float((noise > height).double().mean()) - share) < 4 * spread


def test_neighbouring_seeds_places_and_words_are_not_related() -> None:
    words = torch.arange(50_000, dtype=torch.int32)
    noise = gumbel_noise(keys_of([7, 8, 7, 7 + (1 << 32), 7], [0, 0, 1, 0, 1 << 32]), words)
    assert torch.corrcoef(noise).fill_diagonal_(0).abs().max() < 0.02
    assert torch.corrcoef(torch.stack([noise[0, 1:], noise[0, :-1]]))[0, 1].abs() < 0.02


def test_over_seeds_one_word_is_as_random_as_words_are_over_one_seed() -> None:
    noise = gumbel_noise(keys_of(list(range(20_000)), [5] * 20_000), torch.tensor([17], dtype=torch.int32))[:, 0]
    assert abs(float(noise.double().mean()) - 0.5772) < 0.03
    assert len(set(noise.tolist())) > 19_900


def test_tiles_do_not_share_the_noise_of_tokens() -> None:
    words = torch.arange(1000, dtype=torch.int32)
    keys = keys_of([1], [2])
    assert not set(gumbel_noise(keys, words)[0].tolist()) & set(gumbel_noise(keys, words + TILE_WORD)[0].tolist())


def test_draws_do_not_change_with_the_version() -> None:
    keys = keys_of([0, -1, 1 << 62], [0, 1, 1 << 40])
    assert keys.tolist() == KEYS
    noise = gumbel_noise(keys, torch.tensor([0, 49_151], dtype=torch.int32))
    assert torch.allclose(noise, torch.tensor(NOISE), atol=1e-5)
