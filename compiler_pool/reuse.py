"""What is worth a place that all pools share: what was dear to make, for its size, and is asked for again.

An entry's worth is the processor time that its places have saved already: milliseconds of a compile, times the number
of times it was asked for again, for each KiB. What was asked for once has saved nothing; it gets a short stay, in which
other processes find it and by that give it a worth. Governed contracts are everybody's, and always kept.
"""

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from compiler_pool.artifact import ArtifactAddress, ArtifactKey
from compiler_pool.cache import CacheEntry, num_bytes_of

MIN_WORTH: Final = 1.0
"""Milliseconds for each KiB. A usual contract (20 ms, 3 KiB) passes it when it is asked for a second time; a list of
2,000 words that compiles in 30 ms, at 60 KiB, when it is asked for a third time."""
_MAX_TRACKED: Final = 16_384
"""Keys of which it is known how often they were asked for; about 2 MiB."""


class Stay(StrEnum):
    """How long an entry may stay in the second tier."""

    TRIAL = "trial"
    """Long enough for whoever asks at the same moment, or soon."""
    KEPT = "kept"


@dataclass(slots=True)
class _Tracked:
    num_asked: int = 0
    stay: Stay | None = None
    given_at: float = 0.0


class ReuseAdmission:
    """Counts who asks for what, least recently asked forgotten first, and says how long it may stay."""

    def __init__(
        self, *, renew_seconds: float, min_worth: float = MIN_WORTH, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._renew_seconds, self._min_worth, self._clock = renew_seconds, min_worth, clock
        self._tracked: OrderedDict[ArtifactKey, _Tracked] = OrderedDict()

    def asked(self, key: ArtifactKey, *, num_times: int = 1) -> None:
        """Somebody wants it; also told once for whoever made it elsewhere."""
        self._of(key).num_asked += num_times

    def due(self, address: ArtifactAddress, entry: CacheEntry) -> Stay | None:
        """The stay that the entry has earned and was not given yet, or that is to be given again: what is asked for
        must not run out because it is asked for in another place."""
        tracked = self._of(address.key)
        stay = Stay.KEPT if self._is_worth_it(address, entry, tracked.num_asked) else Stay.TRIAL
        if tracked.stay is Stay.KEPT:
            return Stay.KEPT if self._clock() - tracked.given_at >= self._renew_seconds else None
        return None if stay is tracked.stay else stay

    def given(self, key: ArtifactKey, stay: Stay | None) -> None:
        """What was written there has this stay now; None: nothing is there any more."""
        tracked = self._of(key)
        tracked.stay, tracked.given_at = stay, self._clock()

    def _is_worth_it(self, address: ArtifactAddress, entry: CacheEntry, num_asked: int) -> bool:
        saved_ms = entry.cpu_ms * (num_asked - 1)
        return address.limits == "governed" or saved_ms * 1024 >= self._min_worth * max(num_bytes_of(entry), 1)

    def _of(self, key: ArtifactKey) -> _Tracked:
        tracked = self._tracked.setdefault(key, _Tracked())
        self._tracked.move_to_end(key)
        while len(self._tracked) > _MAX_TRACKED:
            self._tracked.popitem(last=False)
        return tracked
