"""Whether a runner's rows are bitwise the same in any company, looked at before a node promises it."""

from collections.abc import Iterator, Sequence
from typing import Final

import torch

from inference_node.errors import UnsupportedModelError
from inference_node.model_runner import ModelRunner
from inference_node.slices import BLOCK_TOKENS, Slice

_PROMPT_TOKENS: Final = 2 * BLOCK_TOKENS - 3
_BLOCKS: Final = 2
"""Of one sequence: its prompt and one more token."""
_MAX_SEQUENCES: Final = 130
"""Enough for more rows than two products of a deterministic step hold."""


def check_row_agreement(runner: ModelRunner, *, max_sequences: int, num_blocks: int, vocabulary_size: int) -> None:
    """Compare prompts and single tokens alone, in companies of many sizes, and cut in pieces.

    A sample, not a proof. It writes to the first blocks of the cache, so it belongs before the first sequence.

    Raises:
        UnsupportedModelError: two results of the same row differ.
    """
    count = max(1, min(max_sequences, num_blocks // _BLOCKS, _MAX_SEQUENCES))
    prompts = [_prompt(number, vocabulary_size) for number in range(count)]
    steps = [_step(number, vocabulary_size) for number in range(count)]
    expected_prompts = torch.cat([_logits(runner, [prompt]) for prompt in prompts])
    expected_steps = torch.cat([_logits(runner, [step]) for step in steps])
    for start, end in _companies(count):
        agree = torch.equal(_logits(runner, prompts[start:end]), expected_prompts[start:end]) and torch.equal(
            _logits(runner, steps[start:end]), expected_steps[start:end]
        )
        if not agree:
            raise _refusal(f"{end - start} sequences together")
    for piece_tokens in (BLOCK_TOKENS, 1):
        if not torch.equal(_last_in_pieces(runner, prompts[0], piece_tokens), expected_prompts[:1]):
            raise _refusal(f"a prompt in pieces of {piece_tokens}")


def _logits(runner: ModelRunner, slices: Sequence[Slice]) -> torch.Tensor:
    """A copy: the next step may overwrite them."""
    return runner.forward(slices).clone()


def _prompt(number: int, vocabulary_size: int) -> Slice:
    token_ids = [(number * 7919 + place * 104_729 + 1) % vocabulary_size for place in range(_PROMPT_TOKENS)]
    return Slice(
        blocks=list(range(number * _BLOCKS, (number + 1) * _BLOCKS)),
        start=0,
        token_ids=token_ids,
        num_prompt_tokens=_PROMPT_TOKENS,
        num_logits=1,
    )


def _step(number: int, vocabulary_size: int) -> Slice:
    return Slice(
        blocks=list(range(number * _BLOCKS, (number + 1) * _BLOCKS)),
        start=_PROMPT_TOKENS,
        token_ids=[(number * 31 + 5) % vocabulary_size],
        num_prompt_tokens=_PROMPT_TOKENS,
        num_logits=1,
    )


def _companies(count: int) -> Iterator[tuple[int, int]]:
    """Runs of sequences of many lengths, at the beginning and at the end."""
    for length in sorted({size for size in (2, 3, 5, 8, 13, 31, 64, 65, 100, 129, count) if size <= count}):
        yield 0, length
        yield count - length, count


def _last_in_pieces(runner: ModelRunner, prompt: Slice, piece_tokens: int) -> torch.Tensor:
    logits = torch.empty(0)
    for start in range(0, _PROMPT_TOKENS, piece_tokens):
        token_ids = prompt.token_ids[start : start + piece_tokens]
        piece = Slice(
            blocks=prompt.blocks,
            start=start,
            token_ids=token_ids,
            num_prompt_tokens=_PROMPT_TOKENS,
            num_logits=int(start + len(token_ids) == _PROMPT_TOKENS),
        )
        logits = _logits(runner, [piece])
    return logits


def _refusal(company: str) -> UnsupportedModelError:
    return UnsupportedModelError(
        setting="deterministic", value=True, supported=f"not this model on this device: {company} changed a row's bits"
    )
