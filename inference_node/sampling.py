"""How one request wants its tokens picked."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from inference_node.errors import InferenceNodeError

DAMPED_TOKENS: Final = 64
"""How far back a damped repetition is counted: longer loops exist, and end at the length bounds of their contract."""


class SamplingError(InferenceNodeError):
    """A row that no token can be picked from: not a number, or nothing allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingChoice:
    """`temperature` 0 is greedy; `top_k` 0 and `top_p` 1 leave all tokens; `damping` is for greedy alone.

    A draw is a function of the seed and the token's place in the answer: there is no state to save or to share.
    """

    temperature: float
    top_p: float
    seed: int
    top_k: int = 0
    damping: float = 0.0

    @property
    def is_damped(self) -> bool:
        """Whether tokens that were used lately count for less. Never where tokens are drawn by chance."""
        return self.damping > 0 and self.temperature == 0

    def damped_ids(self, answer_ids: Sequence[int]) -> Sequence[int]:
        """The tokens that count for less, each as often as it was used."""
        return answer_ids[-DAMPED_TOKENS:] if self.is_damped else ()
