"""Splits bytes into tokens without knowing how the model would."""

from collections.abc import Mapping
from dataclasses import dataclass

from compiler_pool.errors import TokenizerError


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LongestMatch:
    """Text tokens by their bytes, and the lengths that they have, longest first."""

    ids: Mapping[bytes, int]
    lengths: tuple[int, ...]

    @classmethod
    def over(cls, ids: Mapping[bytes, int]) -> "LongestMatch":
        """Over all the tokens that text may be made of."""
        return cls(ids=ids, lengths=tuple(sorted({len(data) for data in ids}, reverse=True)))

    def split(self, data: bytes, *, path: str) -> list[int]:
        """Ids of tokens that spell exactly `data`, the longest at each place from which the rest can be spelled.

        Time and memory grow with the length of `data`, times the number of lengths. Raises TokenizerError where no
        tokens spell it.
        """
        split: list[int] = []
        at = 0
        while at < len(data):
            for length in self.lengths:
                token = data[at : at + length]
                if token in self.ids:
                    split.append(self.ids[token])
                    at += len(token)  # less than `length` where `data` ends in it
                    break
            else:
                return self._looking_ahead(data, path)
        return split

    def _looking_ahead(self, data: bytes, path: str) -> list[int]:
        """For tables without a token for some byte: there the longest token may leave a rest that nothing spells."""
        best = [0] * len(data) + [1]  # from the end: the length of the best token at each place, 0 where there is none
        for at in range(len(data) - 1, -1, -1):
            for length in self.lengths:
                end = at + length
                if end <= len(data) and best[end] and data[at:end] in self.ids:
                    best[at] = length
                    break
        if not best[0]:
            spelled = frozenset().union(*self.ids)
            byte = next((byte for byte in data if byte not in spelled), None)
            why = "none fit together" if byte is None else f"there is none with byte 0x{byte:02x}"
            raise TokenizerError(f"no tokens spell these {len(data)} bytes: {why}", path=path)
        split: list[int] = []
        at = 0
        while at < len(data):
            split.append(self.ids[data[at : at + best[at]]])
            at += best[at]
        return split
