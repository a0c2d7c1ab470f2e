"""A draft model proposes what it would say itself, however it was asked, and holds no more than its cache."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch

from inference_node.block_pool import BlockPool
from inference_node.cpu_runner import CpuRunner
from inference_node.decoder import Decoder
from inference_node.drafting.draft_model import DraftModel
from inference_node.drafting.source import DraftWant
from inference_node.kv_cache import KvCache
from inference_node.model_config import read_model_config
from inference_node.model_weights import read_weights
from inference_node.slices import BLOCK_TOKENS, Slice
from kernels.masked_sampling import Draws, masked_sample
from tests.inference_node.drafting.wants import want

CONTEXT_TOKENS = 256
PROMPT = [(31 * at + 7) % 4096 for at in range(40)]


@pytest.fixture(scope="module")
def decoder(tiny_directory: Path) -> Decoder:
    config = read_model_config(tiny_directory)
    return Decoder(
        config,
        read_weights(tiny_directory, config),
        context_tokens=CONTEXT_TOKENS,
        dtype=torch.float32,
        device=torch.device("cpu"),
    )


@dataclass(slots=True)
class Watched:
    """A runner that remembers what it was asked to compute."""

    inner: CpuRunner
    slices: list[Slice] = field(default_factory=list)
    num_passes: int = 0
    looks_ahead: bool = False
    reuses_logits: bool = False

    def forward(self, slices: Sequence[Slice], ahead: torch.Tensor | None = None) -> torch.Tensor:
        self.num_passes += 1
        self.slices += slices
        return self.inner.forward(slices, ahead)

    def read_keys_values(self, blocks: Sequence[int], num_tokens: int) -> torch.Tensor:
        return self.inner.read_keys_values(blocks, num_tokens)

    def write_keys_values(self, blocks: Sequence[int], keys_values: torch.Tensor) -> None:
        self.inner.write_keys_values(blocks, keys_values)


def new_source(decoder: Decoder, *, num_blocks: int = 64, max_rows: int = 128) -> tuple[DraftModel, Watched, BlockPool]:
    """A source over an empty cache, for which rows and passes cost next to nothing."""
    cache = KvCache(decoder.config, num_blocks=num_blocks, dtype=decoder.dtype, device=decoder.device)
    runner, pool = Watched(CpuRunner(decoder, cache)), BlockPool(num_blocks)
    source = DraftModel(
        runner,
        pool,
        name="tiny",
        context_tokens=CONTEXT_TOKENS,
        max_rows=max_rows,
        row_cost=0.0,
        pass_cost=0.01,
        device=decoder.device,
    )
    return source, runner, pool


def continued(decoder: Decoder, token_ids: Sequence[int], count: int, **choice: Any) -> list[int]:
    """What the model says after some tokens, every token computed anew from the whole sequence."""
    one = want(token_ids, **choice)
    cache = KvCache(decoder.config, num_blocks=64, dtype=decoder.dtype, device=decoder.device)
    said: list[int] = []
    for at in range(count):
        whole = [*token_ids, *said]
        part = Slice(blocks=range(64), start=0, token_ids=whole, num_prompt_tokens=len(PROMPT), num_logits=1)
        draws = Draws(
            temperature=torch.tensor([one.temperature]),
            top_k=torch.tensor([one.top_k], dtype=torch.int32),
            top_p=torch.tensor([one.top_p]),
            seed=torch.tensor([one.seed]),
            place=torch.tensor([one.place + at]),
            has_filters=True,
        )
        said.append(int(masked_sample(decoder.forward([part], cache), draws).token_ids))
    return said


def asked(token_ids: Sequence[int], **changes: Any) -> DraftWant:
    """A want for the prompt and what follows it."""
    return want(token_ids, **({"num_prompt_tokens": len(PROMPT), "max_drafts": 4} | changes))


def test_it_proposes_what_its_model_says_greedily(decoder: Decoder) -> None:
    source, _, _ = new_source(decoder)
    token_ids = [*PROMPT, 5]
    for _ in range(4):
        (drafts,) = source.propose([asked(token_ids)])
        assert drafts == continued(decoder, token_ids, 4)
        source.observe(1, 4, 4)
        token_ids += [*drafts, continued(decoder, [*token_ids, *drafts], 1)[0]]


@pytest.mark.parametrize(
    "choice",
    [{"temperature": 1.0}, {"temperature": 0.7, "top_k": 20}, {"temperature": 1.3, "top_p": 0.6}],
    ids=["plain", "top-k", "top-p"],
)
def test_it_draws_with_the_noise_of_each_place(decoder: Decoder, choice: dict[str, Any]) -> None:
    token_ids = [*PROMPT, 5]
    for seed in range(3):
        source, _, _ = new_source(decoder)
        (drafts,) = source.propose([asked(token_ids, seed=seed, place=9, **choice)])
        assert drafts == continued(decoder, token_ids, 4, seed=seed, place=9, **choice)


def test_after_a_rejection_it_goes_on_from_the_sequence(decoder: Decoder) -> None:
    source, runner, _ = new_source(decoder)
    token_ids = [*PROMPT, 5]
    (drafts,) = source.propose([asked(token_ids)])
    source.observe(1, 4, 2)
    token_ids += [*drafts[:2], (drafts[2] + 1) % 4096]
    runner.slices.clear()
    (again,) = source.propose([asked(token_ids)])
    assert again == continued(decoder, token_ids, len(again))
    assert len(again) > 0
    # Of what it had computed only the rejected draft is computed again.
    assert runner.slices[0].start == len(token_ids) - 1


def test_a_token_that_it_happens_to_have_computed_is_computed_again_for_its_logits(decoder: Decoder) -> None:
    source, _, _ = new_source(decoder)
    token_ids = [*PROMPT, 5]
    (drafts,) = source.propose([asked(token_ids)])
    token_ids += drafts[:2]
    assert source.propose([asked(token_ids)])[0][:2] == drafts[2:4]


def test_wants_together_get_what_each_gets_alone_with_a_pass_for_each_draft(decoder: Decoder) -> None:
    wants = [
        asked([*PROMPT[: 10 * key], key], key=key, num_prompt_tokens=10 * key, max_drafts=key) for key in (1, 2, 4)
    ]
    together, runner, _ = new_source(decoder)
    alone = [new_source(decoder)[0].propose([one])[0] for one in wants]
    assert together.propose(wants) == alone
    assert [len(drafts) for drafts in alone] == [1, 2, 4]
    assert runner.num_passes == 4


def test_a_long_prompt_is_caught_up_with_piece_by_piece_at_whole_blocks(decoder: Decoder) -> None:
    source, runner, _ = new_source(decoder, max_rows=20)
    token_ids = [*PROMPT, 5]
    assert source.propose([asked(token_ids)]) == [[]]
    assert source.propose([asked(token_ids)]) == [[]]
    assert source.propose([asked(token_ids)]) == [continued(decoder, token_ids, 4)]
    assert [part.start for part in runner.slices[:3]] == [0, 16, 32]
    assert all(part.start % BLOCK_TOKENS == 0 for part in runner.slices if part.start < len(PROMPT))


def test_a_want_of_nothing_prepares(decoder: Decoder) -> None:
    source, runner, _ = new_source(decoder)
    assert source.propose([asked(PROMPT, max_drafts=0)]) == [[]]
    runner.slices.clear()
    token_ids = [*PROMPT, 5]
    assert source.propose([asked(token_ids)]) == [continued(decoder, token_ids, 4)]
    assert runner.slices[0].start == len(PROMPT)


def test_the_one_asked_about_least_recently_makes_room_and_begins_anew(decoder: Decoder) -> None:
    # Room for two sequences of three blocks.
    source, _, pool = new_source(decoder, num_blocks=7)
    token_ids = [*PROMPT, 5]
    expected = continued(decoder, token_ids, 4)
    for key in (1, 2, 1, 3):
        assert source.propose([asked(token_ids, key=key)]) == [expected]
    assert source.num_followed == 2
    assert source.propose([asked(token_ids, key=2)]) == [expected]
    for key in (1, 2, 3):
        source.forget(key)
    assert source.num_followed == 0
    assert pool.num_available == 7


def test_where_those_asked_about_fill_the_cache_the_others_get_no_drafts(decoder: Decoder) -> None:
    source, _, _ = new_source(decoder, num_blocks=4)
    token_ids = [*PROMPT, 5]
    drafts = source.propose([asked(token_ids, key=1), asked(token_ids, key=2)])
    assert drafts == [continued(decoder, token_ids, 4), []]


def test_it_proposes_nothing_past_its_context(decoder: Decoder) -> None:
    source, _, _ = new_source(decoder, max_rows=512)
    token_ids = (PROMPT * 10)[: CONTEXT_TOKENS - 1]
    (drafts,) = source.propose([asked(token_ids, num_prompt_tokens=len(token_ids) - 1)])
    assert len(drafts) == 2
    longer = [*token_ids, *drafts]
    assert source.propose([asked(longer, num_prompt_tokens=len(token_ids) - 1)]) == [[]]


def test_a_sequence_whose_drafts_fail_costs_hardly_any_passes(decoder: Decoder) -> None:
    source, runner, _ = new_source(decoder, max_rows=512)
    token_ids = [*PROMPT, 5]
    for at in range(150):
        (drafts,) = source.propose([asked(token_ids)])
        if drafts:
            source.observe(1, len(drafts), 0)
        token_ids.append(at)
    assert runner.num_passes < 60


def test_what_was_never_heard_of_can_be_observed_and_forgotten(decoder: Decoder) -> None:
    source, _, _ = new_source(decoder)
    source.observe(99, 3, 1)
    source.forget(99)
    assert source.num_followed == 0
