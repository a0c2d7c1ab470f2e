import pytest
import torch
import torch.nn.functional as F  # noqa: N812 - its usual name

from kernels.paged_attention import PagedAttentionError, PagedRows, attend_by_definition, paged_attention
from kernels.paged_attention_kernels import attend_by_kernel

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
BLOCK_TOKENS = 16
MAX_TOKENS = 512
HEADS = {
    "one head": (1, 1, 16),
    "groups of three": (9, 3, 64),
    "odd size": (4, 4, 96),
    "group of sixteen": (16, 1, 32),
}
LENGTHS = [1, 16, 17, 128, 129, 300]


def int32(values: list[int]) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int32, device=DEVICE)


def new_world(
    lengths: list[int], heads: tuple[int, int, int], *, dtype: torch.dtype = torch.float32, seed: int = 0
) -> tuple[torch.Tensor, torch.Tensor, PagedRows]:
    """The last token of each of some sequences, whose blocks lie about in a cache."""
    num_heads, num_kv_heads, size = heads
    generator = torch.Generator().manual_seed(seed)
    counts = [-(-length // BLOCK_TOKENS) for length in lengths]
    order = torch.randperm(sum(counts) + 3, generator=generator)[: sum(counts)]
    rows = PagedRows(
        positions=int32([length - 1 for length in lengths]),
        first_block=int32([sum(counts[:number]) for number in range(len(counts))]),
        blocks=order.to(DEVICE, torch.int32),
    )
    queries = torch.randn(len(lengths), num_heads, size, generator=generator)
    cache = torch.randn((sum(counts) + 3) * BLOCK_TOKENS, 2 * num_kv_heads * size, generator=generator)
    return queries.to(DEVICE, dtype), cache.to(DEVICE, dtype), rows


def cache_rows(rows: PagedRows, number: int) -> torch.Tensor:
    """Where the keys that a row sees lie, by the definition of a block table."""
    places = []
    for position in range(int(rows.positions[number]) + 1):
        block = int(rows.blocks[int(rows.first_block[number]) + position // BLOCK_TOKENS])
        places.append(block * BLOCK_TOKENS + position % BLOCK_TOKENS)
    return torch.tensor(places, device=DEVICE)


def by_sdpa(queries: torch.Tensor, cache: torch.Tensor, rows: PagedRows, num_kv_heads: int) -> torch.Tensor:
    """torch's own attention in float64, a row at a time over keys that were laid side by side."""
    results = []
    for number, query in enumerate(queries.double()):
        keys, values = cache[cache_rows(rows, number)].double().view(-1, 2, num_kv_heads, queries.shape[2]).unbind(1)
        results.append(
            F.scaled_dot_product_attention(
                query.unsqueeze(1), keys.transpose(0, 1), values.transpose(0, 1), enable_gqa=True
            ).flatten()
        )
    return torch.stack(results)


@pytest.mark.parametrize("heads", HEADS.values(), ids=HEADS)
def test_each_row_attends_to_its_own_sequence_up_to_its_own_place(heads: tuple[int, int, int]) -> None:
    queries, cache, rows = new_world(LENGTHS, heads)
    choices = {"num_kv_heads": heads[1], "block_tokens": BLOCK_TOKENS}
    expected = by_sdpa(queries, cache, rows, heads[1])
    for attended in (
        attend_by_definition(queries, cache, rows, **choices),
        attend_by_kernel(queries, cache, rows, max_tokens=MAX_TOKENS, **choices),
    ):
        torch.testing.assert_close(attended.double(), expected, atol=1e-5, rtol=1e-5)


def test_half_precision_rounds_once_at_the_end() -> None:
    queries, cache, rows = new_world(LENGTHS, HEADS["groups of three"], dtype=torch.float16)
    attended = attend_by_kernel(queries, cache, rows, num_kv_heads=3, block_tokens=BLOCK_TOKENS, max_tokens=MAX_TOKENS)
    assert attended.dtype == torch.float16
    torch.testing.assert_close(attended.double(), by_sdpa(queries, cache, rows, 3), atol=2e-3, rtol=2e-3)


def test_a_row_keeps_its_bits_in_any_company_and_order() -> None:
    queries, cache, rows = new_world(LENGTHS, (3, 1, 64))

    def attend(numbers: list[int]) -> torch.Tensor:
        chosen = PagedRows(
            positions=rows.positions[numbers].contiguous(),
            first_block=rows.first_block[numbers].contiguous(),
            blocks=rows.blocks,
        )
        return attend_by_kernel(
            queries[numbers], cache, chosen, num_kv_heads=1, block_tokens=BLOCK_TOKENS, max_tokens=MAX_TOKENS
        )

    whole = attend([0, 1, 2, 3, 4, 5])
    for company in ([5], [0], [5, 4, 3, 2, 1, 0], [2, 5, 2, 5]):
        assert torch.equal(attend(company), whole[company])


def test_how_long_sequences_may_be_changes_no_bit() -> None:
    queries, cache, rows = new_world(LENGTHS, HEADS["one head"])
    short, long = (
        attend_by_kernel(queries, cache, rows, num_kv_heads=1, block_tokens=BLOCK_TOKENS, max_tokens=max_tokens)
        for max_tokens in (300, 3000)
    )
    assert torch.equal(short, long)


def test_nothing_is_read_but_the_keys_that_a_row_sees() -> None:
    queries, cache, rows = new_world(LENGTHS, HEADS["one head"])
    seen = torch.cat([cache_rows(rows, number) for number in range(len(LENGTHS))])
    poisoned = torch.full_like(cache, float("nan"))
    poisoned[seen] = cache[seen]
    choices = {"num_kv_heads": 1, "block_tokens": BLOCK_TOKENS, "max_tokens": MAX_TOKENS}
    assert torch.equal(
        attend_by_kernel(queries, poisoned, rows, **choices), attend_by_kernel(queries, cache, rows, **choices)
    )


def test_neighbours_of_one_sequence_may_share_a_reading_of_its_keys() -> None:
    _, cache, rows = new_world([300, 20], (3, 1, 32))
    # Sixteen tokens of the first sequence, eleven of the second, and what fills their tile up.
    positions = [*range(120, 136), *range(9, 20), *[-1] * 5]
    tiles = PagedRows(positions=int32(positions), first_block=int32([0] * 16 + [19] * 16), blocks=rows.blocks)
    tiled = torch.randn(32, 3, 32, generator=torch.Generator().manual_seed(1)).to(DEVICE)
    choices = {"num_kv_heads": 1, "block_tokens": BLOCK_TOKENS, "max_tokens": MAX_TOKENS}
    by_tile = attend_by_kernel(tiled, cache, tiles, rows_per_tile=16, **choices)
    torch.testing.assert_close(by_tile, attend_by_kernel(tiled, cache, tiles, **choices), atol=1e-5, rtol=1e-5)


def test_fillers_give_zeros() -> None:
    queries, cache, rows = new_world([5, 9, 40], HEADS["one head"])
    filled = PagedRows(positions=int32([4, -1, 39]), first_block=rows.first_block, blocks=rows.blocks)
    choices = {"num_kv_heads": 1, "block_tokens": BLOCK_TOKENS}
    for attended in (
        attend_by_definition(queries, cache, filled, **choices),
        attend_by_kernel(queries, cache, filled, max_tokens=MAX_TOKENS, **choices),
    ):
        assert attended[1].eq(0).all()
        assert attended[[0, 2]].ne(0).all()


def test_queries_may_be_a_part_of_wider_rows() -> None:
    queries, cache, rows = new_world([17, 33], HEADS["groups of three"])
    wide = torch.randn(2, 15, 64, device=DEVICE)
    wide[:, :9] = queries
    choices = {"num_kv_heads": 3, "block_tokens": BLOCK_TOKENS, "max_tokens": MAX_TOKENS}
    assert torch.equal(
        attend_by_kernel(wide[:, :9], cache, rows, **choices), attend_by_kernel(queries, cache, rows, **choices)
    )


@pytest.mark.parametrize(
    "fault",
    ["heads", "cache width", "cache type", "queries", "positions type", "positions count", "tiles"],
)
def test_what_does_not_fit_is_refused(fault: str) -> None:
    queries, cache, rows = new_world([5, 9], (4, 2, 16))
    num_kv_heads, rows_per_tile = 2, 1
    positions = rows.positions
    match fault:
        case "heads":
            num_kv_heads = 3
        case "cache width":
            cache = cache[:, :-1]
        case "cache type":
            cache = cache.half()
        case "queries":
            queries = queries.transpose(0, 1)
        case "positions type":
            positions = positions.long()
        case "positions count":
            positions = positions[:1]
        case "tiles":
            rows_per_tile = 16
    faulty = PagedRows(positions=positions, first_block=rows.first_block, blocks=rows.blocks)
    with pytest.raises(PagedAttentionError):
        paged_attention(
            queries,
            cache,
            faulty,
            num_kv_heads=num_kv_heads,
            block_tokens=BLOCK_TOKENS,
            max_tokens=MAX_TOKENS,
            rows_per_tile=rows_per_tile,
        )
