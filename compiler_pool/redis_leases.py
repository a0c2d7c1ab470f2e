"""Who compiles for everybody: a lease in Redis for each contract that is being compiled.

A lease is a name that expires. Whoever made it keeps it alive while it compiles and deletes it afterwards, if it is
still its own. A process that is killed stops keeping it alive, and another takes over.
"""

import secrets
from dataclasses import dataclass
from typing import Final

from compiler_pool.artifact import ArtifactAddress
from compiler_pool.cache import CacheEntry
from compiler_pool.redis_cache import RedisArtifactCache, name_of
from compiler_pool.redis_link import RedisLink, Unanswered
from compiler_pool.second_tier import Operation, Silence
from compiler_pool.standing import Urgency

_TAKE: Final = """
local record = redis.call('GETRANGE', KEYS[1], 0, ARGV[4])
if record ~= '' then return {'', record} end
local held = redis.call('GET', KEYS[2])
local left = redis.call('PTTL', KEYS[2])
local is_ours = held and left >= 0 and left <= tonumber(ARGV[5])
local is_passed_over = ARGV[3] ~= '' and held and string.sub(held, 1, string.len(ARGV[3])) == ARGV[3]
if is_ours and not is_passed_over then return {held, ''} end
redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[2])
return {ARGV[1], ''}
"""
"""In one step: the entry if somebody has made it, else the lease if nobody has it or its holder may be passed over.

A lease that never lapses, or much later than any of ours, is none: nobody would keep it alive or give it back.
ARGV: own token, milliseconds, the prefix of tokens that may be passed over, the last byte of an entry to read, the
longest that a lease may have left.
"""
_MAX_LEFT_MILLISECONDS: Final = 120_000
"""Twice the longest lease that a pool can be set to."""
_RENEW: Final = """
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 0
"""
_RELEASE: Final = """
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Granted:
    """This process compiles. `renew` it well before it lapses, and `release` it."""

    address: ArtifactAddress
    token: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """Another process compiles."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Another process has compiled."""

    entry: CacheEntry


class RedisLeases:
    """Leases of `lease_seconds` over one Redis."""

    def __init__(self, link: RedisLink, cache: RedisArtifactCache, *, lease_seconds: float) -> None:
        self._link, self._cache = link, cache
        self._milliseconds = max(1, round(lease_seconds * 1000))

    @property
    def lease_seconds(self) -> float:
        """How long a lease lives without being renewed."""
        return self._milliseconds / 1000

    async def take(self, address: ArtifactAddress, urgency: Urgency) -> Granted | Held | Found | Unanswered:
        """The entry, the lease, or neither.

        Whoever compiles what nobody waits for may be passed over by somebody who waits: its place in its own line may
        be the last, and the worst that follows is that a contract is compiled twice.
        """
        token = f"{urgency.name}:{secrets.token_hex(16)}"
        passed_over = "" if urgency is Urgency.PRECOMPILE else f"{Urgency.PRECOMPILE.name}:"
        names = (name_of(address), _lease_of(address))
        limits = (token, self._milliseconds, passed_over, self._cache.max_entry_bytes, _MAX_LEFT_MILLISECONDS)
        answer = await self._link.ask(Operation.TAKE, "EVAL", _TAKE, 2, *names, *limits)
        if isinstance(answer, Unanswered):
            return answer
        holder, record = answer.value
        if record:
            entry = await self._cache.opened(address, record)
            # What cannot be used is deleted, unless that is not allowed: who waited for its end might wait for ever.
            return Unanswered(why=Silence.REFUSED) if entry is None else Found(entry=entry)
        return Granted(address=address, token=token) if holder == token.encode() else Held()

    async def renew(self, granted: Granted) -> None:
        """Another `lease_seconds` from now, if it is still this process's."""
        lease = (_lease_of(granted.address), granted.token, self._milliseconds)
        await self._link.ask(Operation.RENEW, "EVAL", _RENEW, 1, *lease)

    async def release(self, granted: Granted) -> None:
        """Nobody needs to wait any more. One that is another's by now stays."""
        await self._link.ask(Operation.RELEASE, "EVAL", _RELEASE, 1, _lease_of(granted.address), granted.token)


def _lease_of(address: ArtifactAddress) -> str:
    return f"schemagate:compile:{address.tenant_partition}:{{{address.key}}}"
