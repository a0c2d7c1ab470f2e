import pytest
import torch

from inference_node.decoder import Decoder
from inference_node.kv_cache import KvCache, kv_bytes_per_block, kv_bytes_per_token
from inference_node.slices import BLOCK_TOKENS
from tests.inference_node.model_worlds import new_cache

SCATTERED = [7, 2, 3, 11]
IN_A_ROW = [4, 5, 6, 7]


def filled(decoder: Decoder) -> KvCache:
    cache = new_cache(decoder, num_blocks=12)
    generator = torch.Generator().manual_seed(0)
    for layer in cache.layers:
        layer.copy_(torch.randn(layer.shape, generator=generator))
    return cache


def test_a_token_stands_at_its_offset_in_its_block(tiny_decoder: Decoder) -> None:
    cache = new_cache(tiny_decoder, num_blocks=12)
    assert cache.row(SCATTERED, 0) == 7 * BLOCK_TOKENS
    assert cache.row(SCATTERED, 35) == 3 * BLOCK_TOKENS + 3
    assert cache.rows(SCATTERED, 15, 3) == [7 * BLOCK_TOKENS + 15, 2 * BLOCK_TOKENS, 2 * BLOCK_TOKENS + 1]


@pytest.mark.parametrize("blocks", [IN_A_ROW, SCATTERED], ids=["in a row", "scattered"])
@pytest.mark.parametrize("num_tokens", [1, 16, 17, 50, 64])
def test_views_show_a_sequences_keys_and_values_in_order(
    blocks: list[int], num_tokens: int, tiny_decoder: Decoder
) -> None:
    cache = filled(tiny_decoder)
    config = tiny_decoder.config
    views = cache.views(blocks, num_tokens)
    for layer in range(config.num_layers):
        keys, values = views[layer]
        assert keys.shape == values.shape == (1, config.num_kv_heads, num_tokens, config.head_size)
        rows = cache.layers[layer][cache.rows(blocks, 0, num_tokens)]
        shown = torch.stack((keys, values)).squeeze(1).permute(2, 0, 1, 3).reshape(num_tokens, -1)
        assert torch.equal(shown, rows)


@pytest.mark.parametrize("blocks", [IN_A_ROW, SCATTERED], ids=["in a row", "scattered"])
def test_views_see_what_is_written_after_they_were_laid_out(blocks: list[int], tiny_decoder: Decoder) -> None:
    cache = filled(tiny_decoder)
    views = cache.views(blocks, 20)
    cache.layers[1][cache.row(blocks, 19)] = 7.0
    keys, values = views[1]
    assert (keys[0, :, 19] == 7).all()
    assert (values[0, :, 19] == 7).all()


def test_gathered_views_have_the_strides_of_views_without_a_copy(tiny_decoder: Decoder) -> None:
    cache = filled(tiny_decoder)
    for gathered, direct in zip(cache.views(SCATTERED, 50)[0], cache.views(IN_A_ROW, 50)[0], strict=True):
        assert gathered.stride() == direct.stride()


def test_blocks_that_follow_each_other_are_not_copied(tiny_decoder: Decoder) -> None:
    cache = filled(tiny_decoder)
    keys, _ = cache.views(IN_A_ROW, 50)[0]
    assert keys.data_ptr() == cache.layers[0][cache.row(IN_A_ROW, 0)].data_ptr()


def test_what_is_read_can_be_written_to_other_blocks(tiny_decoder: Decoder) -> None:
    cache = filled(tiny_decoder)
    copy = cache.read(SCATTERED, 50)
    assert copy.shape == (tiny_decoder.config.num_layers, 50, 2 * tiny_decoder.config.kv_size)
    other = new_cache(tiny_decoder, num_blocks=12)
    other.write([1, 0, 9, 5], copy)
    assert torch.equal(other.read([1, 0, 9, 5], 50), copy)
    keys, _ = other.views([1, 0, 9, 5], 50)[1]
    assert torch.equal(keys, cache.views(SCATTERED, 50)[1][0])


@pytest.mark.parametrize(
    ("shape", "dtype"),
    [
        ((2, 20), torch.float32),
        ((2, 20, 63), torch.float32),
        ((1, 20, 64), torch.float32),
        ((2, 20, 64), torch.bfloat16),
        ((2, 33, 64), torch.float32),
    ],
    ids=["dimensions", "width", "layers", "dtype", "more than the blocks hold"],
)
def test_keys_and_values_of_another_model_are_refused(
    shape: tuple[int, ...], dtype: torch.dtype, tiny_decoder: Decoder
) -> None:
    cache = filled(tiny_decoder)
    before = [layer.clone() for layer in cache.layers]
    with pytest.raises(ValueError, match=r"this cache holds|do not fit"):
        cache.write([3, 4], torch.zeros(shape, dtype=dtype))
    assert all(torch.equal(old, new) for old, new in zip(before, cache.layers, strict=True))


def test_a_blocks_price_is_its_share_of_the_memory(tiny_decoder: Decoder) -> None:
    cache = new_cache(tiny_decoder, num_blocks=12)
    num_bytes = sum(layer.numel() * layer.element_size() for layer in cache.layers)
    assert kv_bytes_per_block(tiny_decoder.config, torch.float32) * 12 == num_bytes
    assert kv_bytes_per_token(tiny_decoder.config, torch.float32) * 12 * BLOCK_TOKENS == num_bytes
