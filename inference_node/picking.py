"""One sequence's next token: picked from its masked row, and told how likely it was in the raw one."""

import torch

from inference_node.logprobs import token_logprob
from inference_node.sampler import sample
from inference_node.sequence import DecodingSequence, Ending


def pick(sequence: DecodingSequence, row: torch.Tensor, raw: torch.Tensor | None) -> Ending | None:
    """Pick from masked logits [vocabulary] and go on; `raw` are the same logits before the mask.

    The draw's index is the token's place in the answer, so that it is the same whether the tokens before it were forced
    or picked.

    Raises:
        SamplingError: the row allows nothing.
    """
    token_id = sample(row, sequence.request.choice, index=sequence.num_completion_tokens)
    num_top = sequence.request.num_top_logprobs
    if num_top is None or raw is None:
        return sequence.take(token_id)
    return sequence.take(token_id, token_logprob(raw, token_id, sequence.tokenizer, num_top=num_top))
