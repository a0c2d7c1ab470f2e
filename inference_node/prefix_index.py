"""Which blocks hold the beginnings of prompts that were computed before."""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import NewType

PrefixDigest = NewType("PrefixDigest", bytes)
"""Of a salt and all tokens up to the end of a block."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedBlock:
    """A block whose keys and values are those of `token_ids` after everything that `parent` stands for."""

    block: int
    parent: PrefixDigest
    token_ids: tuple[int, ...]
    salt: str


class PrefixIndex:
    """Cached blocks by the digest of everything before their end.

    Digests only find: salt, parent and tokens of a block are compared before it counts as the same, so a collision
    costs a hit and never gives one sequence another's keys.
    """

    def __init__(self) -> None:
        self._cached: dict[PrefixDigest, CachedBlock] = {}
        self._digests: dict[int, PrefixDigest] = {}

    def __len__(self) -> int:
        return len(self._cached)

    def __contains__(self, block: int) -> bool:
        """Whether a block can be found."""
        return block in self._digests

    def get(self, digest: PrefixDigest) -> CachedBlock | None:
        """What stands under a digest, whatever it is."""
        return self._cached.get(digest)

    def find(
        self, digest: PrefixDigest, *, parent: PrefixDigest, token_ids: tuple[int, ...], salt: str
    ) -> CachedBlock | None:
        """The block that holds exactly this, if there is one."""
        cached = self._cached.get(digest)
        is_same = (
            cached is not None and cached.token_ids == token_ids and cached.parent == parent and cached.salt == salt
        )
        return cached if is_same else None

    def add(self, digest: PrefixDigest, cached: CachedBlock) -> None:
        """From now on it can be found. Neither digest nor block may stand here already."""
        assert digest not in self._cached
        assert cached.block not in self._digests
        self._cached[digest] = cached
        self._digests[cached.block] = digest

    def remove(self, block: int) -> None:
        """It can no longer be found; blocks after it neither, until the same tokens are published again."""
        del self._cached[self._digests.pop(block)]


def root_digest(salt: str) -> PrefixDigest:
    """Of no tokens yet."""
    return PrefixDigest(blake2b(salt.encode(), digest_size=32, person=b"salt").digest())


def next_digest(parent: PrefixDigest, token_ids: Sequence[int]) -> PrefixDigest:
    """Of everything that `parent` stands for, and a block's tokens after it."""
    return PrefixDigest(blake2b(parent + array("q", token_ids).tobytes(), digest_size=32, person=b"block").digest())
