import torch

from inference_node.device_rows import RowBuffers, RowLayout, count_rows
from inference_node.slices import BLOCK_TOKENS, Slice
from inference_node.step_batch import AdapterRows


def new_slice(start: int, token_ids: list[int], *, blocks: list[int], num_logits: int = 1, adapter: int = 0) -> Slice:
    return Slice(
        blocks=blocks,
        start=start,
        token_ids=token_ids,
        num_prompt_tokens=64,
        num_logits=num_logits,
        adapter=adapter,
    )


def test_rows_stand_in_the_order_of_their_slices_and_know_their_blocks() -> None:
    layout = RowLayout.of(
        [new_slice(16, [5], blocks=[8, 2]), new_slice(31, [6, 7, 8], blocks=[3, 1, 9], num_logits=2)],
    )
    assert layout.token_ids == [5, 6, 7, 8]
    assert layout.positions == [16, 31, 32, 33]
    assert layout.blocks == [8, 2, 3, 1, 9]
    assert layout.first_blocks == [0, 2, 2, 2]
    assert layout.logit_rows == [0, 2, 3]


def test_long_slices_come_first_in_whole_tiles_and_logits_keep_the_slices_order() -> None:
    long = list(range(100, 120))
    slices = [new_slice(16, [5], blocks=[8, 2], adapter=3), new_slice(0, long, blocks=[3, 1], adapter=4)]
    assert count_rows(slices) == (2 * BLOCK_TOKENS, 1)
    layout = RowLayout.of(slices, num_tiled_rows=3 * BLOCK_TOKENS)
    assert layout.token_ids == [*long, *[0] * 28, 5]
    assert layout.positions == [*range(20), *[-1] * 28, 16]
    assert layout.first_blocks[0] == 0
    assert layout.first_blocks[-1] == 2
    assert layout.blocks == [3, 1, 8, 2]
    assert layout.logit_rows == [48, 19]
    assert layout.adapter_rows == [
        AdapterRows(slot=3, first=48, num_rows=1),
        AdapterRows(slot=4, first=0, num_rows=20),
    ]


def test_a_step_is_filled_up_with_rows_that_stand_nowhere() -> None:
    buffers = RowBuffers(max_rows=8, max_blocks=8, device=torch.device("cpu"))
    rows = buffers.load(RowLayout.of([new_slice(16, [5], blocks=[8, 2])]), 4)
    assert rows.token_ids.tolist() == [5, 0, 0, 0]
    assert rows.places.positions.tolist() == [16, -1, -1, -1]
    assert rows.places.first_block.tolist() == [0, 0, 0, 0]
    assert rows.places.blocks[:2].tolist() == [8, 2]
    assert rows.logit_rows.tolist() == [0, 0, 0, 0]


def test_steps_of_one_size_read_the_same_addresses() -> None:
    buffers = RowBuffers(max_rows=8, max_blocks=8, device=torch.device("cpu"))
    first = buffers.load(RowLayout.of([new_slice(3, [5], blocks=[8])]), 4)
    for token_id in (6, 7, 8):
        buffers.load(RowLayout.of([new_slice(4, [token_id], blocks=[token_id])]), 4)
        assert first.token_ids.tolist() == [token_id, 0, 0, 0]
        assert first.places.positions.tolist() == [4, -1, -1, -1]
        assert int(first.places.blocks[0]) == token_id
