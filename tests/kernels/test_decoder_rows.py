import pytest
import torch

from kernels.decoder_rows import HeadNorms, HeadShape, Rotation, add_and_normalise, gate, rotate_and_store
from kernels.decoder_rows_kernels import add_and_normalise_by_kernel, gate_by_kernel, rotate_and_store_by_kernel
from kernels.paged_attention import PagedRows

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
SHAPE = HeadShape(num_heads=4, num_kv_heads=2, size=24)
EPSILON = 1e-5


def noise(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(DEVICE)


def new_rows(positions: list[int]) -> PagedRows:
    """Two sequences of three blocks; rows belong to them in turn."""

    def int32(values: list[int]) -> torch.Tensor:
        return torch.tensor(values, dtype=torch.int32, device=DEVICE)

    return PagedRows(
        positions=int32(positions),
        first_block=int32([3 * (number % 2) for number in range(len(positions))]),
        blocks=int32([4, 1, 5, 0, 3, 2]),
    )


def close(actual: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(actual.double(), expected.double(), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("width", [1, 48, 1000])
def test_a_sum_and_its_norm(width: int) -> None:
    hidden, change, weight = noise(5, width), noise(5, width, seed=1), noise(width, seed=2)
    total = hidden.double() + change.double()
    expected = total / (total.square().mean(-1, keepdim=True) + EPSILON).sqrt() * weight.double()
    for compute in (add_and_normalise, add_and_normalise_by_kernel):
        actual_total, normalised = compute(hidden, change, weight, EPSILON)
        close(actual_total, total)
        close(normalised, expected)


def test_without_a_change_the_rows_stay_as_they_are() -> None:
    hidden, weight = noise(3, 40), noise(40, seed=2)
    for compute in (add_and_normalise, add_and_normalise_by_kernel):
        total, normalised = compute(hidden, None, weight, EPSILON)
        assert total is hidden
        close(normalised, compute(hidden, torch.zeros_like(hidden), weight, EPSILON)[1])


@pytest.mark.parametrize("width", [1, 96, 1500])
def test_the_gate_opens_by_its_sigmoid(width: int) -> None:
    gate_up = noise(3, 2 * width)
    gates, up = gate_up.double().chunk(2, dim=-1)
    for compute in (gate, gate_by_kernel):
        close(compute(gate_up), gates * gates.sigmoid() * up)


@pytest.mark.parametrize("heads_are", ["plain", "normalised"])
def test_queries_and_keys_are_rotated_and_keys_and_values_stored_where_their_tokens_belong(heads_are: str) -> None:
    has_norms = heads_are == "normalised"
    positions = [0, 17, 40, 16, 41]
    rows, qkv = new_rows(positions), noise(5, 8 * SHAPE.size)
    rotation = Rotation(cosine=noise(48, SHAPE.size, seed=1), sine=noise(48, SHAPE.size, seed=2))
    norms = HeadNorms(query=noise(SHAPE.size, seed=3), key=noise(SHAPE.size, seed=4), epsilon=EPSILON)
    heads = qkv.double().view(5, 8, SHAPE.size)
    normed = heads.clone()
    if has_norms:
        root = (heads.square().mean(-1, keepdim=True) + EPSILON).sqrt()
        normed[:, :4] = (heads / root * norms.query.double())[:, :4]
        normed[:, 4:6] = (heads / root * norms.key.double())[:, 4:6]
    turned = torch.cat([normed[..., SHAPE.size // 2 :], normed[..., : SHAPE.size // 2]], dim=-1)
    rotated = normed * rotation.cosine.double()[positions, None] + turned * rotation.sine.double()[positions, None]
    tables = [[4, 1, 5], [0, 3, 2]]
    for compute in (rotate_and_store, rotate_and_store_by_kernel):
        cache = torch.full((6 * 16, 4 * SHAPE.size), float("nan"), device=DEVICE)
        queries = compute(
            qkv, cache, rows, shape=SHAPE, rotation=rotation, norms=norms if has_norms else None, block_tokens=16
        )
        close(queries, rotated[:, :4])
        for row, position in enumerate(positions):
            stored = cache[tables[row % 2][position // 16] * 16 + position % 16].view(4, SHAPE.size)
            close(stored[:2], rotated[row, 4:6])
            assert torch.equal(stored[2:], qkv[row].view(8, SHAPE.size)[6:])
        assert cache.isnan().all(dim=1).sum() == 6 * 16 - len(positions)


def test_fillers_store_nothing() -> None:
    rotation = Rotation(cosine=noise(48, SHAPE.size), sine=noise(48, SHAPE.size))
    for compute in (rotate_and_store, rotate_and_store_by_kernel):
        cache = torch.full((6 * 16, 4 * SHAPE.size), float("nan"), device=DEVICE)
        compute(
            noise(3, 8 * SHAPE.size),
            cache,
            new_rows([-1, -1, -1]),
            shape=SHAPE,
            rotation=rotation,
            norms=None,
            block_tokens=16,
        )
        assert cache.isnan().all()


def test_half_precision_is_computed_in_full_and_rounded_once() -> None:
    hidden, change, weight = noise(4, 64).half(), noise(4, 64, seed=1).half(), noise(64, seed=2).half()
    total, normalised = add_and_normalise_by_kernel(hidden, change, weight, EPSILON)
    assert torch.equal(total, hidden + change)
    exact = total.double() / (total.double().square().mean(-1, keepdim=True) + EPSILON).sqrt() * weight.double()
    assert (normalised.double() - exact).abs().max() <= exact.abs().max() * 2**-10
