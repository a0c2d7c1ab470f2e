"""Which tokens a piece of text came from, by the bytes at which they began."""

from collections import deque
from collections.abc import Sequence

from inference_node.protocol import TokenLogprob


class TokenPlaces:
    """Tokens in their order. A token belongs to the piece of text in which it begins."""

    def __init__(self) -> None:
        self._tokens: deque[tuple[int, TokenLogprob]] = deque()
        self._num_token_bytes = 0
        self._num_text_bytes = 0
        self._is_known = False

    def add(self, tokens: Sequence[TokenLogprob]) -> None:
        """Tokens that were picked; their text may come later."""
        self._is_known = True
        for token in tokens:
            self._tokens.append((self._num_token_bytes, token))
            self._num_token_bytes += len(token.token_bytes)

    def take(self, num_bytes: int) -> list[TokenLogprob] | None:
        """Those of the next `num_bytes` of text; None where nothing is known of any token."""
        self._num_text_bytes += num_bytes
        taken: list[TokenLogprob] = []
        while self._tokens and self._tokens[0][0] < self._num_text_bytes:
            taken.append(self._tokens.popleft()[1])
        return taken if self._is_known else None
