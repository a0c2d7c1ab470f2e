"""Merges that make byte-pair encoding choose as SentencePiece does by its pieces' scores."""

from collections.abc import Mapping, Sequence
from typing import Final

from compiler_pool.errors import TokenizerError

_MAX_CHARACTERS: Final = 8 * 1024 * 1024
"""Of all pieces together, each being tried at every one of its splits; published vocabularies have two million."""

_MAX_MERGES: Final = 2 * 1024 * 1024
"""Four times those of the largest published vocabularies. Loading takes about 0.7 kB of memory for each."""


def merges_by_score(pieces: Mapping[str, int], scores: Sequence[float], *, path: str) -> list[list[str]]:
    """Every way to make a piece of two others, the best-scored piece first. `scores[id]`.

    SentencePiece joins, again and again, the neighbours whose joint piece scores best; a merge that ranks by that score
    does the same, whichever two parts the piece came from. Raises TokenizerError past a limit, and for NaN.
    """
    if sum(map(len, pieces)) > _MAX_CHARACTERS:
        raise TokenizerError(f"its pieces have more than {_MAX_CHARACTERS} characters", path=path)
    if any(score != score for score in scores):  # noqa: PLR0124 - NaN alone differs from itself, and has no order
        raise TokenizerError("a score is not a number", path=path)
    best_first = sorted(pieces, key=lambda piece: (-scores[pieces[piece]], pieces[piece]))
    merges = [
        [piece[:at], piece[at:]]
        for piece in best_first
        for at in range(1, len(piece))
        if piece[:at] in pieces and piece[at:] in pieces
    ]
    if len(merges) > _MAX_MERGES:
        raise TokenizerError(f"its pieces make {len(merges)} merges; {_MAX_MERGES} are taken", path=path)
    return merges
