"""Picks a token from masked logits. A function of the row, the request's seed and the token's place, and nothing else:
no state is kept between tokens, and no other row is looked at."""

from dataclasses import dataclass
from hashlib import blake2b

import torch

from inference_node.errors import InferenceNodeError

_DRAW_BITS = 52
_QUICK_CANDIDATES = 256
"""Nearly all of the probability lies on far fewer tokens; sorting a whole vocabulary takes milliseconds."""


class SamplingError(InferenceNodeError):
    """A row that no token can be picked from: not a number, or nothing allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingChoice:
    """How one request wants its tokens picked. `temperature` 0 is greedy."""

    temperature: float
    top_p: float
    seed: int


def sample(row: torch.Tensor, choice: SamplingChoice, *, index: int) -> int:
    """The token for a row of masked float32 logits [vocabulary], the request's `index`-th.

    Raises:
        SamplingError: nothing can be picked.
    """
    token_id = int(row.argmax()) if choice.temperature == 0 else _sample_by_chance(row, choice, index)
    picked = float(row[token_id])
    # Last guard of the mask: minus infinity is a forbidden token, whatever arithmetic led to it.
    if picked == float("-inf") or picked != picked:  # noqa: PLR0124 - not-a-number is what differs from itself
        raise SamplingError("the logits allow no token")
    return token_id


def uniform_draw(seed: int, index: int) -> float:
    """A number in [0, 1), the `index`-th of a seed's sequence: counter-based, so that any place can be resumed at."""
    digest = blake2b(index.to_bytes(8, "big"), key=seed.to_bytes(8, "big"), digest_size=8).digest()
    return (int.from_bytes(digest, "big") >> (64 - _DRAW_BITS)) / (1 << _DRAW_BITS)


def _sample_by_chance(row: torch.Tensor, choice: SamplingChoice, index: int) -> int:
    # The highest logit is taken off before the division: a small temperature would otherwise overflow.
    probabilities = torch.softmax((row - row.max()) / choice.temperature, dim=-1)
    draw = uniform_draw(choice.seed, index)
    if choice.top_p >= 1:
        return _invert(probabilities, draw)
    values, token_ids = _nucleus(probabilities, choice.top_p)
    return int(token_ids[_invert(values, draw)])


def _invert(probabilities: torch.Tensor, draw: float) -> int:
    """The first index whose cumulative share exceeds the draw. An index of probability 0 never is."""
    cumulative = probabilities.double().cumsum(0)
    target = cumulative[-1:] * draw
    return min(int(torch.searchsorted(cumulative, target, right=True)), len(probabilities) - 1)


def _nucleus(probabilities: torch.Tensor, top_p: float) -> tuple[torch.Tensor, torch.Tensor]:
    """The fewest most probable tokens that together reach `top_p`, most probable first; at least one."""
    values, token_ids = probabilities.topk(min(_QUICK_CANDIDATES, len(probabilities)))
    if float(values.double().sum()) < top_p:
        values, token_ids = probabilities.sort(descending=True, stable=True)
    before = values.double().cumsum(0) - values.double()
    num_kept = max(1, int((before < top_p).sum()))
    return values[:num_kept], token_ids[:num_kept]
