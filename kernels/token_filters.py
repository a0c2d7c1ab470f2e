"""Top-k and top-p in plain torch: which of a row's allowed tokens stay, as a logit and, among equals, a last id.

Top-k first, then top-p over what is left: the fewest most probable tokens that together reach it, at least one. Of
equally probable tokens those of lower id are kept first.
"""

from typing import Final

import torch

from kernels.draws import Draws

_QUICK_CANDIDATES: Final = 256
"""Nearly all of the probability lies on far fewer tokens; sorting a whole vocabulary takes milliseconds."""
_LEAST_TEMPERATURE: Final = 1e-30


def filter_tokens(allowed: torch.Tensor, draws: Draws, fails: torch.Tensor) -> torch.Tensor:
    """A copy of logits [n, tiles, tile] with minus infinity for what the filters of its row take away.

    Rows that ask for none, and those that fail anyway, are as they were.
    """
    asks = ((draws.top_k > 0) | (draws.top_p < 1)) & ~fails & (draws.temperature > 0)
    filtered = allowed.flatten(1).clone()
    for row in asks.nonzero()[:, 0].tolist():
        temperature = max(float(draws.temperature[row]), _LEAST_TEMPERATURE)
        kept = _kept(filtered[row], temperature, int(draws.top_k[row]), float(draws.top_p[row]))
        filtered[row] = torch.full_like(filtered[row], float("-inf")).index_copy_(0, kept, filtered[row][kept])
    return filtered.view(allowed.shape)


def _kept(row: torch.Tensor, temperature: float, top_k: int, top_p: float) -> torch.Tensor:
    """The ids that stay, the most probable first."""
    # Exponentials of minus infinity leave the fast path of the CPU's library; these are lost in any sum.
    weights = ((row - row.max()) / temperature).clamp_(min=-87.0).exp_()
    num_tokens = len(row)
    top_k = min(top_k or num_tokens, num_tokens)
    for num_candidates in (min(_QUICK_CANDIDATES, num_tokens), num_tokens):
        least = row.topk(num_candidates).values[-1]
        # All that equal the last candidate, or the choice between them would be the sort's.
        candidates = ((row >= least) & (row > float("-inf"))).nonzero()[:, 0]
        if bool(least == float("-inf")):
            top_k = min(top_k, len(candidates))  # there are no others
        candidates = candidates[row[candidates].argsort(descending=True, stable=True)][:top_k]
        if len(candidates) < top_k < num_tokens:
            continue
        masses = weights[candidates].double().cumsum(0)
        is_whole = len(candidates) == top_k
        if top_p >= 1 and is_whole:
            return candidates
        target = top_p * (masses[-1] if is_whole else weights.double().sum())
        if is_whole or bool(masses[-1] >= target):
            num_kept = 1 + int((masses[:-1] < target).sum())
            return candidates[:num_kept]
    raise AssertionError("all tokens reach any part of their sum")
