"""What the step loop asks of a model, wherever it runs."""

from collections.abc import Sequence
from typing import Protocol

import torch

from inference_node.slices import Slice


class ModelRunner(Protocol):
    """A model with its cache of keys and values. Used from the step loop's thread alone."""

    @property
    def looks_ahead(self) -> bool:
        """Whether `forward` returns before the device is done, so that work laid out ahead of its tokens gains time."""

    @property
    def reuses_logits(self) -> bool:
        """Whether the next `forward` may overwrite logits that an earlier one returned."""

    def forward(self, slices: Sequence[Slice], ahead: torch.Tensor | None = None) -> torch.Tensor:
        """Store the slices' keys and values, and return logits [sum of `num_logits`, vocabulary], in their order.

        `ahead`: the tokens of the first slices, one each, int64 on the device, where the host does not know them yet.
        """

    def read_keys_values(self, blocks: Sequence[int], num_tokens: int) -> torch.Tensor:
        """A copy on the CPU of the first tokens' keys and values, [layers, tokens, keys | values], any dtype."""

    def write_keys_values(self, blocks: Sequence[int], keys_values: torch.Tensor) -> None:
        """The other way round. Raises ValueError for another shape or dtype than this model's."""
