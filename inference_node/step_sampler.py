"""Picks the tokens of a step: one call of the sampling kernel for all rows, and one copy back to the host."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import torch

from compiler_pool.tokenizer import BoundTokenizer
from inference_node.bitmask_row import real_tokens_bitmask
from inference_node.mask_rows import MaskRows
from inference_node.sampling import SamplingChoice
from kernels.draws import padded_width, unpacked
from kernels.masked_sampling import Draws, Sampled, masked_sample


class Pick(NamedTuple):
    """One token to pick: from row `row` of `logits` [rows, vocabulary], as the answer's `place`-th, counted from 0."""

    logits: torch.Tensor
    row: int
    choice: SamplingChoice
    place: int
    mask_row: int | None
    """None: no grammar. Ids that stand for nothing are kept out all the same."""
    damped_ids: Sequence[int] = ()


class Picked(NamedTuple):
    """`token_id` -1: nothing can be picked. The others are of the raw distribution: before mask and temperature."""

    token_id: int
    logprob: float
    removed_mass: float
    num_allowed: int


class PicksInFlight:
    """Tokens that are known to the device, in the order of their picks, and soon to the host."""

    def __init__(self, sampled: Sampled) -> None:
        self.token_ids: Final = sampled.token_ids
        """int64 [picks], on the device. Below 0 where nothing could be picked."""
        self._arrived: torch.cuda.Event | None = None
        self._sampled = sampled
        if sampled.token_ids.is_cuda:
            packed = _in_one_piece(sampled)
            self._packed = torch.empty(packed.shape, dtype=packed.dtype, pin_memory=True)
            self._packed.copy_(packed, non_blocking=True)
            self._arrived = torch.cuda.Event()  # type: ignore[no-untyped-call]
            self._arrived.record()

    def wait(self) -> list[Picked]:
        """In the order of the picks."""
        sampled = self._sampled
        if self._arrived is not None:
            self._arrived.synchronize()
            sampled = unpacked(self._packed, len(sampled.token_ids))
        return list(
            map(
                Picked,
                sampled.token_ids.tolist(),
                sampled.logprobs.tolist(),
                sampled.removed_mass.tolist(),
                sampled.num_allowed.tolist(),
            )
        )


def _in_one_piece(sampled: Sampled) -> torch.Tensor:
    if sampled.packed is not None:
        return sampled.packed
    num_draws = len(sampled.token_ids)
    packed = torch.empty(5 * padded_width(num_draws), dtype=torch.int32, device=sampled.token_ids.device)
    whole = unpacked(packed, num_draws)
    whole.token_ids.copy_(sampled.token_ids)
    whole.logprobs.copy_(sampled.logprobs)
    whole.removed_mass.copy_(sampled.removed_mass)
    whole.num_allowed.copy_(sampled.num_allowed)
    return packed


class StepSampler:
    """Used from the step loop's thread alone."""

    def __init__(self, tokenizer: BoundTokenizer, rows: MaskRows, device: torch.device) -> None:
        self._rows = rows
        self._device = device
        self._text_row: int | None = None
        text = real_tokens_bitmask(tokenizer)
        if text is not None:
            (self._text_row,) = rows.take(1)
            rows.row(self._text_row)[:] = text

    def warm_up(self, *, vocabulary_size: int, dtype: torch.dtype) -> None:
        """Have the kernels compiled before somebody waits for them: seconds on a GPU, nothing on a CPU."""
        if self._device.type == "cpu":
            return
        logits = torch.zeros((2, vocabulary_size), dtype=dtype, device=self._device)
        (row,) = self._rows.take(1)
        self._rows.row(row)[:] = -1
        for top_p in (1.0, 0.5):
            choice = SamplingChoice(temperature=0.5, top_p=top_p, seed=0)
            for mask_row in (None, row):
                for num_picks in (1, 2):
                    self.sample([Pick(logits, number, choice, 0, mask_row) for number in range(num_picks)]).wait()
        self._rows.give_back([row])

    def sample(self, picks: Sequence[Pick]) -> PicksInFlight:
        """Begin. Picks whose logits are one tensor are taken in one call, whatever lies between their rows."""
        sources = list({id(pick.logits): pick.logits for pick in picks if not pick.damped_ids}.values())
        order: list[int] = []
        parts: list[Sampled] = []
        for source in sources:
            chosen = [
                index for index, pick in enumerate(picks) if pick.logits is source and not pick.damped_ids
            ]  # fmt: skip
            order += chosen
            parts.append(self._sampled(source, [picks[index] for index in chosen]))
        for index, pick in enumerate(picks):
            if pick.damped_ids:
                order.append(index)
                parts.append(self._damped(pick))
        if order == list(range(len(picks))) and len(parts) == 1:
            return PicksInFlight(parts[0])
        places = torch.tensor(np.argsort(order), device=self._device)
        return PicksInFlight(
            Sampled(
                token_ids=torch.cat([part.token_ids for part in parts])[places],
                logprobs=torch.cat([part.logprobs for part in parts])[places],
                removed_mass=torch.cat([part.removed_mass for part in parts])[places],
                num_allowed=torch.cat([part.num_allowed for part in parts])[places],
            )
        )

    def _sampled(self, logits: torch.Tensor, picks: Sequence[Pick]) -> Sampled:
        wanted = [self._text_row if pick.mask_row is None else pick.mask_row for pick in picks]
        # In order of their numbers they are neighbours, nearly always: one copy.
        masks = {row: index for index, row in enumerate(sorted({row for row in wanted if row is not None}))}
        num_picks = len(picks)
        # One array, so that it is one copy: three of int64, then four of 32 bits, each begun on 16 bytes, because
        # kernels are compiled anew for an array that is not.
        width = padded_width(num_picks)
        packed = np.empty(5 * width, dtype=np.int64)
        wide = packed[: 3 * width].reshape(3, width)[:, :num_picks]
        narrow = packed[3 * width :].view(np.int32).reshape(4, width)[:, :num_picks]
        wide[:] = [
            [pick.row for pick in picks],
            [pick.choice.seed for pick in picks],
            [pick.place for pick in picks],
        ]
        narrow[0] = [-1 if row is None else masks[row] for row in wanted]
        narrow[1] = [pick.choice.top_k for pick in picks]
        narrow.view(np.float32)[2:] = [
            [pick.choice.temperature for pick in picks],
            [pick.choice.top_p for pick in picks],
        ]
        moved = self._moved(torch.from_numpy(packed))
        rows, seed, place = moved[: 3 * width].view(3, width)[:, :num_picks].unbind(0)
        mask_rows, top_k, temperature, top_p = (
            moved[3 * width :].view(torch.int32).view(4, width)[:, :num_picks].unbind(0)
        )
        return masked_sample(
            logits,
            Draws(
                temperature=temperature.view(torch.float32),
                top_k=top_k,
                top_p=top_p.view(torch.float32),
                seed=seed,
                place=place,
                has_filters=any(pick.choice.top_k > 0 or pick.choice.top_p < 1 for pick in picks),
            ),
            rows=rows,
            bitmask=self._rows.upload(list(masks)) if masks else None,
            mask_rows=mask_rows if masks else None,
        )

    def _damped(self, pick: Pick) -> Sampled:
        """A row of its own, from which the used tokens' share is taken; what is told of it is of the row as it was."""
        raw = pick.logits[pick.row : pick.row + 1].float()
        used = torch.tensor(pick.damped_ids, device=self._device)
        damped = raw.clone()
        damped[0].index_add_(0, used, raw.new_full((len(used),), -pick.choice.damping))
        told = self._sampled(raw, [_first_row(pick, raw)])
        token_ids = self._sampled(damped, [_first_row(pick, damped)]).token_ids
        logprobs = raw.log_softmax(dim=-1).gather(1, token_ids.clamp_min(0).unsqueeze(1)).squeeze(1)
        return Sampled(
            token_ids=token_ids, logprobs=logprobs, removed_mass=told.removed_mass, num_allowed=told.num_allowed
        )

    def _moved(self, values: torch.Tensor) -> torch.Tensor:
        """To the device. torch keeps pinned memory until the copy is done, then uses it again."""
        if self._device.type == "cpu":
            return values
        return values.pin_memory().to(self._device, non_blocking=True)


def _first_row(pick: Pick, logits: torch.Tensor) -> Pick:
    return Pick(logits=logits, row=0, choice=pick.choice, place=pick.place, mask_row=pick.mask_row)
