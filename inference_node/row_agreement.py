"""Whether a runner's rows are bitwise the same in any company, looked at before a node promises it."""

from collections.abc import Iterator, Sequence
from typing import Final

import torch

from inference_node.errors import UnsupportedModelError
from inference_node.model_runner import ModelRunner
from inference_node.slices import BLOCK_TOKENS, Slice

_PROMPT_TOKENS: Final = 2 * BLOCK_TOKENS - 3
_MAX_SEQUENCES: Final = 130
"""Enough for more rows than two products of a deterministic step hold."""


def check_row_agreement(
    runner: ModelRunner,
    *,
    max_sequences: int,
    max_step_rows: int,
    context_tokens: int,
    num_blocks: int,
    vocabulary_size: int,
) -> None:
    """Compare prompts and single tokens alone, in companies of many sizes, and cut in pieces.

    A sample, not a proof. It writes to the first blocks of the cache, so it belongs before the first sequence.

    Raises:
        UnsupportedModelError: two results of the same row differ.
    """
    sample = _Sample(min(_PROMPT_TOKENS, max_step_rows, context_tokens - 1), vocabulary_size)
    count = max(1, min(max_sequences, max_step_rows, num_blocks // sample.blocks_each, _MAX_SEQUENCES))
    most_prompts = max_step_rows // sample.prompt_tokens
    prompts = [sample.prompt(number) for number in range(count)]
    steps = [sample.step(number) for number in range(count)]
    expected_prompts = torch.cat([_logits(runner, [prompt]) for prompt in prompts])
    expected_steps = torch.cat([_logits(runner, [step]) for step in steps])
    for start, end in _companies(count):
        last = min(end, start + most_prompts)
        agree = torch.equal(_logits(runner, prompts[start:last]), expected_prompts[start:last]) and torch.equal(
            _logits(runner, steps[start:end]), expected_steps[start:end]
        )
        if not agree:
            raise _refusal(f"{end - start} sequences together")
    for piece_tokens in (BLOCK_TOKENS, 1):
        in_pieces = [_logits(runner, [piece]) for piece in sample.pieces(0, piece_tokens)]
        if not torch.equal(in_pieces[-1], expected_prompts[:1]):
            raise _refusal(f"a prompt in pieces of {piece_tokens}")


class _Sample:
    """Sequences that have nothing in common, each in blocks of its own."""

    def __init__(self, prompt_tokens: int, vocabulary_size: int) -> None:
        self.prompt_tokens: Final = prompt_tokens
        self.blocks_each: Final = -(-(prompt_tokens + 1) // BLOCK_TOKENS)
        self._vocabulary_size = vocabulary_size

    def prompt(self, number: int) -> Slice:
        """All but the last token of a sequence."""
        ids = [(number * 7919 + place * 104_729 + 1) % self._vocabulary_size for place in range(self.prompt_tokens)]
        return self._slice(number, 0, ids, num_logits=1)

    def step(self, number: int) -> Slice:
        """The last."""
        return self._slice(number, self.prompt_tokens, [(number * 31 + 5) % self._vocabulary_size], num_logits=1)

    def pieces(self, number: int, piece_tokens: int) -> Iterator[Slice]:
        """The prompt again, cut; its last row needs logits."""
        ids = self.prompt(number).token_ids
        for start in range(0, self.prompt_tokens, piece_tokens):
            piece = ids[start : start + piece_tokens]
            yield self._slice(number, start, piece, num_logits=int(start + len(piece) == self.prompt_tokens))

    def _slice(self, number: int, start: int, token_ids: Sequence[int], *, num_logits: int) -> Slice:
        return Slice(
            blocks=list(range(number * self.blocks_each, (number + 1) * self.blocks_each)),
            start=start,
            token_ids=token_ids,
            num_prompt_tokens=self.prompt_tokens,
            num_logits=num_logits,
        )


def _logits(runner: ModelRunner, slices: Sequence[Slice]) -> torch.Tensor:
    """A copy: the next step may overwrite them."""
    return runner.forward(slices).clone()


def _companies(count: int) -> Iterator[tuple[int, int]]:
    """Runs of sequences of many lengths, at the beginning and at the end."""
    for length in sorted({size for size in (2, 3, 5, 8, 13, 31, 64, 65, 100, 129, count) if size <= count}):
        yield 0, length
        yield count - length, count


def _refusal(company: str) -> UnsupportedModelError:
    return UnsupportedModelError(
        setting="deterministic", value=True, supported=f"not this model on this device: {company} changed a row's bits"
    )
