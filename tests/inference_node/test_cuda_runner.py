"""The runner of a GPU, driven here on the CPU by the kernels' definitions: rows, buckets and order are its own.

On a machine with a GPU the same tests run its kernels and its graphs.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from inference_node.cuda_runner import CudaRunner
from inference_node.decode_graphs import StepShape, step_shapes
from inference_node.decoder import Decoder
from inference_node.decoder_layer import ProjectionName
from inference_node.errors import UnsupportedModelError
from inference_node.kv_cache import KvCache
from inference_node.model_config import read_model_config
from inference_node.model_weights import expected_shapes
from inference_node.row_agreement import check_row_agreement
from inference_node.slices import Slice
from inference_node.step_batch import StepBatch

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
CONTEXT_TOKENS = 384
FAMILIES: dict[str, dict[str, Any]] = {
    "llama": {"model_type": "llama"},
    "qwen2": {"model_type": "qwen2"},
    "qwen3": {"model_type": "qwen3", "head_dim": 24},
}


def new_decoder(directory: Path, family: str = "llama") -> Decoder:
    """Two layers with random weights."""
    raw = {
        "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4,
        "num_key_value_heads": 2, "max_position_embeddings": CONTEXT_TOKENS, "rms_norm_eps": 1e-5, "rope_theta": 1e4,
        "vocab_size": 512, "tie_word_embeddings": True,
    }  # fmt: skip
    (directory / "config.json").write_text(json.dumps(raw | FAMILIES[family]))
    config = read_model_config(directory)
    generator = torch.Generator().manual_seed(0)
    weights = {
        name: torch.ones(shape) * name.endswith("norm.weight") + 0.15 * torch.randn(shape, generator=generator)
        for name, shape in expected_shapes(config).items()
    }
    return Decoder(config, weights, context_tokens=CONTEXT_TOKENS, dtype=torch.float32, device=DEVICE)


def new_cache(decoder: Decoder, *, num_blocks: int = 64) -> KvCache:
    return KvCache(decoder.config, num_blocks=num_blocks, dtype=torch.float32, device=DEVICE)


def new_runner(decoder: Decoder, *, max_sequences: int = 4, max_step_rows: int = 320, **choices: Any) -> CudaRunner:
    return CudaRunner(
        decoder,
        new_cache(decoder),
        context_tokens=CONTEXT_TOKENS,
        max_sequences=max_sequences,
        max_step_rows=max_step_rows,
        **choices,
    )


def random_ids(count: int, seed: int = 0) -> list[int]:
    return torch.randint(0, 512, (count,), generator=torch.Generator().manual_seed(seed)).tolist()


def part(
    blocks: Sequence[int], start: int, token_ids: Sequence[int], num_logits: int = 1, *, adapter: int = 0
) -> Slice:
    return Slice(
        blocks=blocks,
        start=start,
        token_ids=token_ids,
        num_prompt_tokens=320,
        num_logits=num_logits,
        adapter=adapter,
    )


FIRST, SECOND, THIRD = [9, 3, 30, 31, 12], [7, 1, 40], [2, *range(41, 61)]


@pytest.mark.parametrize("family", FAMILIES)
def test_prompts_tokens_and_drafts_have_the_decoders_logits(family: str, tmp_path: Path) -> None:
    decoder = new_decoder(tmp_path, family)
    runner, cache = new_runner(decoder), new_cache(decoder)
    first, second, third = random_ids(64, 1), random_ids(40, 2), random_ids(320, 3)
    steps = [
        [part(FIRST, 0, first[:32], 0)],
        [part(FIRST, 32, first[32:50]), part(SECOND, 0, second[:20])],
        [part(SECOND, 20, second[20:21]), part(FIRST, 50, first[50:51])],
        [part(SECOND, 21, second[21:25], 4), part(FIRST, 51, first[51:52])],
        # Rows in tiles, beside a single token and drafts.
        [part(FIRST, 52, first[52:53]), part(THIRD, 0, third[:290]), part(SECOND, 25, second[25:28], 3)],
        [part(THIRD, 290, third[290:291]), part(SECOND, 28, second[28:29]), part(FIRST, 53, first[53:54])],
    ]
    for slices in steps:
        expected = decoder.forward(slices, cache)
        actual = runner.forward(slices)
        assert actual.shape == expected.shape
        torch.testing.assert_close(actual, expected, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(runner.read_keys_values(THIRD, 291), cache.read(THIRD, 291), atol=1e-4, rtol=1e-4)


def test_tokens_that_only_the_device_knows_take_the_place_of_those_laid_out(tmp_path: Path) -> None:
    runner = new_runner(new_decoder(tmp_path))
    known = runner.forward([part([3], 0, [11]), part([5], 0, [12])]).clone()
    ahead = runner.forward([part([3], 0, [0]), part([5], 0, [0])], torch.tensor([11, 12], device=DEVICE))
    assert torch.equal(ahead, known)


def test_logits_are_good_until_the_next_step(tmp_path: Path) -> None:
    runner = new_runner(new_decoder(tmp_path))
    assert runner.reuses_logits
    logits = runner.forward([part([3], 0, [11])])
    kept = logits.clone()
    runner.forward([part([5], 0, [12])])
    assert not torch.equal(logits, kept)


def test_rows_that_fill_a_step_up_touch_no_block(tmp_path: Path) -> None:
    decoder = new_decoder(tmp_path)
    runner = new_runner(decoder)
    for layer in runner.cache.layers:
        layer.fill_(float("nan"))
    logits = runner.forward([part([5], 0, [1]), part([6], 0, [2]), part([8, 9], 0, random_ids(18))])
    assert logits.isfinite().all()
    for layer in runner.cache.layers:
        assert (~layer.isnan().any(dim=1)).nonzero().flatten().tolist() == [5 * 16, 6 * 16, *range(8 * 16, 8 * 16 + 18)]


def test_a_step_that_fits_no_shape_is_computed_all_the_same(tmp_path: Path) -> None:
    decoder = new_decoder(tmp_path)
    runner, cache = new_runner(decoder, max_step_rows=64), new_cache(decoder)
    slices = [part(FIRST, 0, random_ids(33, 1), 33), part([60], 0, [8]), part(SECOND, 0, random_ids(30, 2))]
    steps = [slices, [part(FIRST, 33, [4]), part(SECOND, 30, [5])]]
    for step in steps:
        torch.testing.assert_close(runner.forward(step), decoder.forward(step, cache), atol=1e-4, rtol=1e-4)


class OneAdded:
    """An adapter whose low-rank product is one everywhere."""

    def apply(
        self, layer: int, projection: ProjectionName, inputs: torch.Tensor, outputs: torch.Tensor, batch: StepBatch
    ) -> None:
        for run in batch.adapter_rows:
            assert run.slot == 2
            outputs[run.first : run.first + run.num_rows] += 1


def test_an_adapter_changes_its_own_rows_alone(tmp_path: Path) -> None:
    decoder = new_decoder(tmp_path)
    decoder.adapters = OneAdded()
    runner, cache = new_runner(decoder), new_cache(decoder)
    ids = random_ids(20)
    plain = runner.forward([part([3, 4], 0, ids), part([5], 0, [7])]).clone()
    slices = [part([3, 4], 0, ids, adapter=2), part([5], 0, [7])]
    adapted = runner.forward(slices)
    torch.testing.assert_close(adapted, decoder.forward(slices, cache), atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(adapted[1], plain[1], atol=1e-5, rtol=1e-5)
    assert (adapted[0] - plain[0]).abs().max() > 0.1


def test_a_deterministic_runner_gives_the_same_bits_in_any_company_and_pieces(tmp_path: Path) -> None:
    runner = new_runner(new_decoder(tmp_path), is_deterministic=True)
    ids = random_ids(97)
    blocks, other = [20, 4, 9, 33, 2, 50, 51], [60, 61, 62, 63, 10, 11, 12, 13, 14, 15, 16, 17, 18]
    results = []
    for piece in (96, 48, 16):
        for company in ([], [part([40], 0, [5])], [part(other, 0, random_ids(200, seed=9), 0)]):
            for start in range(0, 96, piece):
                runner.forward([*company, part(blocks, start, ids[start : min(96, start + piece)], 0)])
            results.append(runner.forward([part(blocks, 96, ids[96:]), *company])[0].clone())
    assert all(torch.equal(result, results[0]) for result in results)


class RowsThatFeelTheirNumber:
    """A runner whose logits depend on how many slices a step has."""

    looks_ahead = False
    reuses_logits = False

    def forward(self, slices: Sequence[Slice], ahead: torch.Tensor | None = None) -> torch.Tensor:
        return torch.full((sum(part.num_logits for part in slices), 4), float(len(slices) > 2))

    def read_keys_values(self, blocks: Sequence[int], num_tokens: int) -> torch.Tensor:
        return torch.empty(0)

    def write_keys_values(self, blocks: Sequence[int], keys_values: torch.Tensor) -> None:
        raise AssertionError("nothing is written")


def test_what_is_not_deterministic_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedModelError, match=r"deterministic.*3 sequences together"):
        check_row_agreement(
            RowsThatFeelTheirNumber(),
            max_sequences=5,
            max_step_rows=64,
            context_tokens=64,
            num_blocks=64,
            vocabulary_size=512,
        )


@pytest.mark.parametrize(("context_tokens", "max_step_rows"), [(16, 64), (64, 8), (384, 2)])
def test_a_deterministic_runner_starts_however_small_its_steps_are(
    context_tokens: int, max_step_rows: int, tmp_path: Path
) -> None:
    decoder = new_decoder(tmp_path)
    runner = CudaRunner(
        decoder,
        new_cache(decoder, num_blocks=9),
        context_tokens=context_tokens,
        max_sequences=3,
        max_step_rows=max_step_rows,
        is_deterministic=True,
    )
    assert runner.forward([part([3], 0, [11])]).isfinite().all()


def test_keys_and_values_go_from_one_runner_to_another(tmp_path: Path) -> None:
    decoder = new_decoder(tmp_path)
    here, there = new_runner(decoder), new_runner(decoder)
    here.forward([part(FIRST, 0, random_ids(40), 0)])
    there.write_keys_values(SECOND, here.read_keys_values(FIRST, 40))
    torch.testing.assert_close(there.forward([part(SECOND, 40, [9])]), here.forward([part(FIRST, 40, [9])]))
    with pytest.raises(ValueError, match="this cache holds"):
        there.write_keys_values(SECOND, torch.zeros(2, 40, 64, dtype=torch.float16))


def test_there_is_a_shape_for_every_step_and_the_cheapest_comes_first() -> None:
    shapes = step_shapes(max_rows=200, multiple=1, has_tiles=True)
    for num_tiled_rows, num_single_rows in [(0, 1), (0, 3), (0, 200), (16, 0), (160, 40), (64, 136)]:
        fitting = [shape for shape in shapes if shape.holds(num_tiled_rows, num_single_rows, num_single_rows)]
        assert fitting[0].num_rows == min(shape.num_rows for shape in fitting)
    assert StepShape(num_tiled_rows=0, num_single_rows=256) in shapes
    assert StepShape(num_tiled_rows=512, num_single_rows=64) not in shapes


def test_rows_of_a_deterministic_step_are_whole_products() -> None:
    shapes = step_shapes(max_rows=100, multiple=64, has_tiles=False)
    assert [(shape.num_tiled_rows, shape.num_single_rows) for shape in shapes] == [(0, 64), (0, 128)]


def test_a_step_holds_no_more_logits_than_were_captured() -> None:
    shape = StepShape(num_tiled_rows=64, num_single_rows=8)
    assert shape.holds(64, 8, 12)
    assert not shape.holds(64, 8, 13)
