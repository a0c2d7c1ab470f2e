"""What a tokenizer's digest covers, and which part of it sets two tokenizers apart."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from compiler_pool.artifact import TokenizerDigest

_VERSION: Final = b"schemagate tokenizer 1"
_GRANTS: Final = b"\0granted special tokens"
_MAX_NAMED: Final = 3
"""Ids that a difference spells out; the rest is counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A part of the identity in which two tokenizers are not the same, and what it is in each."""

    part: str
    first: str
    second: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class IdentityParts:
    """All that decides masks. `token_bytes` is padded to `vocabulary_size`; `normaliser` is settings as sorted JSON."""

    vocabulary_size: int
    token_bytes: Sequence[bytes]
    special: frozenset[int]
    end_ids: Sequence[int]
    normaliser: str
    granted: Sequence[int]
    """Special tokens that a grammar may name: with other grants, other grammars are taken."""

    def digest(self) -> TokenizerDigest:
        """SHA-256 over the parts, each of a known length or told apart by its first byte, so that none runs together.

        An end id begins with a zero byte, the normaliser's JSON with none, and JSON text holds no zero byte at all.
        """
        digest = sha256(_VERSION)
        digest.update(self.vocabulary_size.to_bytes(8, "big"))
        digest.update(
            b"".join(
                bytes([index in self.special]) + len(data).to_bytes(4, "big") + data
                for index, data in enumerate(self.token_bytes)
            )
        )
        for index in sorted(self.end_ids):
            digest.update(index.to_bytes(8, "big"))
        digest.update(self.normaliser.encode())
        if self.granted:
            digest.update(_GRANTS)
            for index in sorted(self.granted):
                digest.update(index.to_bytes(8, "big"))
        return TokenizerDigest(f"sha256:{digest.hexdigest()}")

    def differences(self, other: "IdentityParts") -> tuple[Difference, ...]:
        """Every part that is not the same; empty exactly where the digests are equal."""
        mine, theirs = list(self.token_bytes), list(other.token_bytes)
        length = max(len(mine), len(theirs))
        mine += [b""] * (length - len(mine))
        theirs += [b""] * (length - len(theirs))
        parts = [
            Difference(part="vocabulary_size", first=str(self.vocabulary_size), second=str(other.vocabulary_size)),
            *_token_differences(mine, theirs),
            Difference(part="special", first=_only(self.special, other), second=_only(other.special, self)),
            Difference(part="end_ids", first=str(sorted(self.end_ids)), second=str(sorted(other.end_ids))),
            Difference(part="normaliser", first=self.normaliser, second=other.normaliser),
            Difference(part="granted", first=str(sorted(self.granted)), second=str(sorted(other.granted))),
        ]
        return tuple(part for part in parts if part.first != part.second)


def _token_differences(mine: list[bytes], theirs: list[bytes]) -> list[Difference]:
    unequal = [index for index in range(len(mine)) if mine[index] != theirs[index]]
    if not unequal:
        return []
    more = f" and {len(unequal) - _MAX_NAMED} more" if len(unequal) > _MAX_NAMED else ""
    first, second = (
        ", ".join(f"{index}: {table[index]!r}" for index in unequal[:_MAX_NAMED]) + more for table in (mine, theirs)
    )
    return [Difference(part="token_bytes", first=first, second=second)]


def _only(special: frozenset[int], other: IdentityParts) -> str:
    """Ids that are special here and not there, those aside that the other's vocabulary does not reach."""
    ids = sorted(index for index in special - other.special if index < other.vocabulary_size)
    return f"{len(ids)} more: {ids[:_MAX_NAMED]}" if ids else "none more"
