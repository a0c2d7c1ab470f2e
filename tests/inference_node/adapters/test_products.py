"""An adapter's rows are the merged model's, and every row is the same whatever stands beside it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from inference_node.adapters.adapter_bank import AdapterBank
from inference_node.adapters.adapter_tiles import TILE_ROWS, rows_of_a_tile
from inference_node.adapters.low_rank import LowRank, LowRankLayers
from inference_node.decoder import Decoder
from inference_node.slices import BLOCK_TOKENS, Slice
from tests.inference_node.adapters.adapter_worlds import (
    base_of,
    lora_members,
    new_adapter,
    new_bank,
    random_ids,
    write_merged,
)
from tests.inference_node.model_worlds import load_decoder, new_cache, tiny_config, write_model

PLACE_BLOCKS = 512 // BLOCK_TOKENS


def part_of(
    place: int, ids: Sequence[int], *, adapter: int = 0, start: int = 0, num_prompt_tokens: int, num_logits: int = 1
) -> Slice:
    return Slice(
        blocks=range(place * PLACE_BLOCKS, (place + 1) * PLACE_BLOCKS),
        start=start,
        token_ids=ids,
        num_prompt_tokens=num_prompt_tokens,
        num_logits=num_logits,
        adapter=adapter,
    )


def with_adapters(decoder: Decoder, *adapters: tuple[str, bytes]) -> tuple[AdapterBank, list[int]]:
    """The decoder's bank with these adapters, and their slots."""
    decoder.adapters = bank = new_bank(decoder)
    for digest, body in adapters:
        bank.put(digest, body)
    return bank, [bank.lease(digest).slot for digest, _ in adapters]


@pytest.mark.parametrize(
    ("family", "changes"),
    [
        ("llama", {}),
        ("llama", {"use_rslora": True, "r": 3}),
        ("llama", {"target_modules": ["k_proj", "up_proj"]}),
        ("llama", {"target_modules": ["v_proj", "q_proj"], "lora_alpha": 2.5}),
        ("qwen2", {"target_modules": ["o_proj", "down_proj", "gate_proj"]}),
        ("qwen3", {}),
    ],
)  # fmt: skip
def test_logits_are_those_of_a_model_with_the_products_merged_in(
    family: str, changes: dict[str, Any], model_directory: Path, tmp_path: Path
) -> None:
    transformers = pytest.importorskip("transformers")
    architecture = {"llama": "Llama", "qwen2": "Qwen2", "qwen3": "Qwen3"}[family] + "ForCausalLM"
    config = tiny_config(model_type=family, architectures=[architecture])
    directory = write_model(tmp_path / "model", model_directory, config)
    adapter = new_adapter(base_of(directory), **changes)
    merged = write_merged(tmp_path / "merged", directory, adapter[1], lora_members(**changes))
    ids = random_ids(40)
    with torch.inference_mode():
        peer = transformers.AutoModelForCausalLM.from_pretrained(merged, dtype=torch.float32)
        expected = peer(torch.tensor([ids])).logits[0, -1]
    decoder = load_decoder(directory)
    _, (slot,) = with_adapters(decoder, adapter)

    adapted, bare = decoder.forward(
        [part_of(0, ids, adapter=slot, num_prompt_tokens=40), part_of(1, ids, num_prompt_tokens=40)],
        new_cache(decoder),
    )

    torch.testing.assert_close(adapted, expected, atol=5e-4, rtol=5e-4)
    assert not torch.allclose(bare, expected, atol=5e-2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_rows_with_other_adapters_or_none_beside_them_are_bitwise_the_same(
    dtype: torch.dtype, tiny_directory: Path
) -> None:
    decoder = load_decoder(tiny_directory, dtype=dtype)
    base = base_of(tiny_directory)
    wide = new_adapter(base, seed=1, r=16)
    narrow = new_adapter(base, seed=2, r=2, target_modules=["q_proj", "down_proj"])
    _, slots = with_adapters(decoder, wide, narrow)
    adapters = [0, slots[0], slots[1], slots[0], 0, slots[1], slots[0], slots[0]]
    prompts = [random_ids(17 + 23 * place, seed=place) for place in range(8)]
    prefilled = [
        part_of(place, ids, adapter=adapters[place], num_prompt_tokens=len(ids)) for place, ids in enumerate(prompts)
    ]
    followed = [
        part_of(place, [9 + place], adapter=adapters[place], start=len(ids), num_prompt_tokens=len(ids))
        for place, ids in enumerate(prompts)
    ]
    alone, mixed = new_cache(decoder), new_cache(decoder)
    expected = [[decoder.forward([part], alone)[0] for part in parts] for parts in (prefilled, followed)]

    for company in ([7, 0, 2], [1, 3], [4], [6, 5]):
        for row, place in zip(decoder.forward([prefilled[place] for place in company], mixed), company, strict=True):
            assert torch.equal(row, expected[0][place])
    for company in ([3], [6, 1, 7], [0, 1, 2, 3, 4, 5, 6, 7], [7, 6, 5, 4, 3, 2, 1, 0]):
        for row, place in zip(decoder.forward([followed[place] for place in company], mixed), company, strict=True):
            assert torch.equal(row, expected[1][place])
    without = load_decoder(tiny_directory, dtype=dtype)
    bare = new_cache(without)
    for place in (0, 4):
        assert torch.equal(without.forward([prefilled[place]], bare)[0], expected[0][place])
        assert torch.equal(without.forward([followed[place]], bare)[0], expected[1][place])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("chunk_tokens", [16, 32, 80])
def test_how_a_prompt_is_cut_makes_no_difference(dtype: torch.dtype, chunk_tokens: int, tiny_directory: Path) -> None:
    decoder = load_decoder(tiny_directory, dtype=dtype)
    _, (slot,) = with_adapters(decoder, new_adapter(base_of(tiny_directory), r=8))
    ids = random_ids(150)
    whole, cut = new_cache(decoder), new_cache(decoder)
    expected = decoder.forward([part_of(0, ids, adapter=slot, num_prompt_tokens=150)], whole)[0]
    steps = [
        decoder.forward(
            [
                part_of(1, random_ids(5, seed=start), num_prompt_tokens=5, num_logits=0),
                part_of(0, ids[start : start + chunk_tokens], adapter=slot, start=start, num_prompt_tokens=150),
            ],
            cut,
        )[0]
        for start in range(0, 150, chunk_tokens)
    ]
    assert torch.equal(steps[-1], expected)
    assert torch.equal(whole.read(range(10), 150), cut.read(range(10), 150))


def test_a_row_whose_place_in_a_tile_matters_is_computed_at_the_first() -> None:
    class Uneven(LowRank):
        """Adds up in an order that depends on the place."""

        def __call__(self, rows: torch.Tensor) -> torch.Tensor:
            return super().__call__(rows) * (1 + torch.arange(len(rows)).unsqueeze(1) * 1e-3)

    even = LowRank(shrink=torch.randn(2, 8), expand=torch.randn(8, 2))
    uneven = Uneven(shrink=even.shrink, expand=even.expand)
    assert rows_of_a_tile(LowRankLayers(digest="", layers=[{"down": even}], num_bytes=0)) == TILE_ROWS
    assert rows_of_a_tile(LowRankLayers(digest="", layers=[{"down": uneven}], num_bytes=0)) == 1
