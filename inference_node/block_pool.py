"""Which block of the cache is whose: sequences, prompts that others may begin with, pinned prefixes, nobody."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from inference_node.free_blocks import FreeBlocks
from inference_node.prefix_index import CachedBlock, PrefixDigest, PrefixIndex, next_digest, root_digest
from inference_node.slices import BLOCK_TOKENS

_EVICTION_BATCH: Final = 8
"""Blocks that are evicted together, if so many can be: neighbours make runs, of which attention needs no copies."""


@dataclass(slots=True, eq=False)
class BlockTable:
    """A sequence's blocks, in order. Changed by its pool alone; empty at first and once released."""

    blocks: list[int] = field(default_factory=list)
    num_matched_tokens: int = 0
    """Those that `match` found computed."""
    digests: list[PrefixDigest] = field(default_factory=list)
    """Of its first blocks, as far as they were matched or published."""
    is_counted: bool = False
    """Whether what it matched has been counted: a prompt that waits for room is matched again and again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pinned:
    """A prefix that stays."""

    name: str
    num_tokens: int
    """In whole blocks."""
    blocks: Sequence[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class PinRefused:
    """Nothing has changed. `limit` and `observed` count what `reason` is about."""

    reason: Literal["too_short", "not_cached", "too_many_pins", "too_many_blocks"]
    limit: int
    observed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolCounts:
    """Blocks by what they are for: `num_free` + `num_cached` + `num_used` are all there are."""

    num_free: int
    num_cached: int
    """Nobody's, with the beginning of a prompt; taken when there are no free ones, least recently used first."""
    num_used: int
    """Some sequence's or pin's."""
    num_pinned: int
    """Of those in use."""
    num_hit_tokens: int
    """Tokens of prompts that did not have to be computed, since the start."""
    num_evictions: int
    """Cached blocks that were taken, since the start."""


class BlockPool:
    """Bookkeeping only, no tensors; used from one thread.

    A block is free, cached or referenced, by as many tables and pins as hold it. A block that others can find is never
    written again: sequences go on in blocks of their own.
    """

    def __init__(self, num_blocks: int, *, max_pins: int = 16, max_pinned_share: float = 0.5) -> None:
        self.num_blocks: Final = num_blocks
        self._max_pins = max_pins
        self._max_pinned_blocks = int(num_blocks * max_pinned_share)
        self._free = FreeBlocks(num_blocks)
        self._index = PrefixIndex()
        self._references = [0] * num_blocks
        self._cached: dict[int, None] = {}
        """Findable blocks that nobody references, least recently used first."""
        self._pins: dict[str, Pinned] = {}
        self._num_pins_of: Counter[int] = Counter()
        self._num_hit_tokens = 0
        self._num_evictions = 0

    @property
    def num_available(self) -> int:
        """Blocks that `grow` could give."""
        return len(self._free) + len(self._cached)

    def match(self, token_ids: Sequence[int], *, salt: str) -> BlockTable:
        """The longest run of cached blocks that a prompt begins with, referenced; never all of the prompt.

        `salt` keeps apart what must not be shared: how long a prompt takes tells whether it was there, so tenants have
        salts of their own; and keys differ by adapter.
        """
        table = BlockTable()
        parent = root_digest(salt)
        # At least one token is left, for logits come from computing it.
        for index in range((len(token_ids) - 1) // BLOCK_TOKENS):
            ids = _block_ids(token_ids, index)
            digest = next_digest(parent, ids)
            cached = self._index.find(digest, parent=parent, token_ids=ids, salt=salt)
            if cached is None:
                break
            self._reference(cached.block)
            table.blocks.append(cached.block)
            table.digests.append(digest)
            parent = digest
        table.num_matched_tokens = len(table.blocks) * BLOCK_TOKENS
        return table

    def grow(self, table: BlockTable, num_tokens: int) -> bool:
        """Make room for `num_tokens` in all. False: there are not enough blocks, and nothing has changed."""
        num_needed = -(-num_tokens // BLOCK_TOKENS) - len(table.blocks)
        if num_needed > self.num_available:
            return False
        if num_needed > 0:
            if num_needed > len(self._free):
                self._evict(max(num_needed - len(self._free), min(_EVICTION_BATCH, len(self._cached))))
            taken = self._free.take(num_needed, after=table.blocks[-1] if table.blocks else None)
            for block in taken:
                self._references[block] = 1
            table.blocks.extend(taken)
        if not table.is_counted:
            table.is_counted = True
            self._num_hit_tokens += table.num_matched_tokens
        return True

    def publish(self, table: BlockTable, token_ids: Sequence[int], *, num_tokens: int, salt: str) -> None:
        """Let others find the whole blocks of a prompt's first `num_tokens`, which are computed.

        `token_ids` is the prompt and nothing after it: later tokens are computed one by one, and could differ from the
        same ones in a prompt in the last bit. Where the same tokens stand in another block already, that one stays.
        """
        for index in range(len(table.digests), min(num_tokens, len(token_ids)) // BLOCK_TOKENS):
            ids = _block_ids(token_ids, index)
            parent = table.digests[-1] if table.digests else root_digest(salt)
            digest = next_digest(parent, ids)
            if self._index.get(digest) is None:
                cached = CachedBlock(block=table.blocks[index], parent=parent, token_ids=ids, salt=salt)
                self._index.add(digest, cached)
            elif self._index.find(digest, parent=parent, token_ids=ids, salt=salt) is None:
                return  # another prefix has this digest: this one is not shared from here on
            table.digests.append(digest)

    def release(self, table: BlockTable) -> None:
        """It needs its blocks no more; those that others can find stay until they are evicted. The table is empty."""
        # The last first: what is evicted then is the end of a prefix, and its beginning can still be found.
        for block in reversed(table.blocks):
            self._dereference(block)
        table.blocks, table.digests = [], []
        table.num_matched_tokens = 0

    def pin(self, name: str, table: BlockTable, num_tokens: int) -> Pinned | PinRefused:
        """Keep the whole blocks of a table's first `num_tokens`, which were published, until `unpin`.

        A pin of the same name is replaced.
        """
        num_blocks = num_tokens // BLOCK_TOKENS
        if num_blocks == 0:
            return PinRefused(reason="too_short", limit=BLOCK_TOKENS, observed=num_tokens)
        # Where the same prefix was published from other blocks, those are the ones that are found.
        found = [self._index.get(digest) for digest in table.digests[:num_blocks]]
        blocks = [cached.block for cached in found if cached is not None]
        if len(blocks) < num_blocks:
            return PinRefused(reason="not_cached", limit=num_blocks, observed=len(blocks))
        others = [pin for pin in self._pins.values() if pin.name != name]
        if len(others) >= self._max_pins:
            return PinRefused(reason="too_many_pins", limit=self._max_pins, observed=len(others) + 1)
        num_pinned = len({block for pin in others for block in pin.blocks} | set(blocks))
        if num_pinned > self._max_pinned_blocks:
            return PinRefused(reason="too_many_blocks", limit=self._max_pinned_blocks, observed=num_pinned)
        pinned = Pinned(name=name, num_tokens=num_blocks * BLOCK_TOKENS, blocks=tuple(blocks))
        for block in blocks:
            self._reference(block)
            self._num_pins_of[block] += 1
        self.unpin(name)
        self._pins[name] = pinned
        return pinned

    def unpin(self, name: str) -> bool:
        """Let a prefix be evicted again. Whether there was one of this name."""
        pinned = self._pins.pop(name, None)
        for block in reversed(pinned.blocks if pinned else ()):
            self._num_pins_of[block] -= 1
            if not self._num_pins_of[block]:
                del self._num_pins_of[block]
            self._dereference(block)
        return pinned is not None

    def pins(self) -> Sequence[Pinned]:
        """All of them, oldest first."""
        return tuple(self._pins.values())

    def counts(self) -> PoolCounts:
        """As things stand."""
        return PoolCounts(
            num_free=len(self._free),
            num_cached=len(self._cached),
            num_used=self.num_blocks - self.num_available,
            num_pinned=len(self._num_pins_of),
            num_hit_tokens=self._num_hit_tokens,
            num_evictions=self._num_evictions,
        )

    def _reference(self, block: int) -> None:
        if self._references[block] == 0:
            del self._cached[block]
        self._references[block] += 1

    def _dereference(self, block: int) -> None:
        self._references[block] -= 1
        assert self._references[block] >= 0, "a block was given back more often than it was taken"
        if self._references[block] == 0:
            if block in self._index:
                self._cached[block] = None
            else:
                self._free.add(block)

    def _evict(self, num_blocks: int) -> None:
        for block in list(self._cached)[:num_blocks]:
            del self._cached[block]
            self._index.remove(block)
            self._free.add(block)
            self._num_evictions += 1


def _block_ids(token_ids: Sequence[int], index: int) -> tuple[int, ...]:
    return tuple(token_ids[index * BLOCK_TOKENS : (index + 1) * BLOCK_TOKENS])
