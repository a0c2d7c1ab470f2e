"""Log probabilities of picked tokens in the raw distribution: before mask, temperature and nucleus."""

import torch

from compiler_pool.tokenizer import BoundTokenizer
from inference_node.protocol import TokenLogprob, TopLogprob

_SPARE = 16
"""Rows of padding that may stand among the likeliest before fewer than asked for are named."""


def token_logprob(row: torch.Tensor, token_id: int, tokenizer: BoundTokenizer, *, num_top: int) -> TokenLogprob:
    """Of `token_id` and of the `num_top` likeliest tokens, from a row of unmasked logits [vocabulary], in nats."""
    logprobs = row.float().log_softmax(dim=-1)
    top: list[TopLogprob] = []
    if num_top:
        values, token_ids = logprobs.topk(min(num_top + _SPARE, len(logprobs)))
        for value, other in zip(values.tolist(), token_ids.tolist(), strict=True):
            data = tokenizer.token_bytes[other]
            if data and len(top) < num_top:  # padding has no bytes
                top.append(TopLogprob(text=_text(data), token_bytes=list(data), logprob=value))
    data = tokenizer.token_bytes[token_id]
    return TokenLogprob(text=_text(data), token_bytes=list(data), logprob=float(logprobs[token_id]), top=top)


def _text(data: bytes) -> str:
    return data.decode(errors="replace")
