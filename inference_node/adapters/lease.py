"""A sequence's hold on an adapter."""

from typing import Final, Protocol

NO_SLOT: Final = 0
"""The slot of rows without an adapter."""


class AdapterShelf(Protocol):
    """Where an adapter is given back."""

    def give_back(self, digest: str) -> None:
        """One lease of it is over."""


class AdapterLease:
    """From a sequence's acceptance to its last event: meanwhile the slot is that adapter's, and the adapter stays.

    Without an adapter `digest` is empty and `slot` is `NO_SLOT`. The digest belongs into the salt of shared prefixes:
    keys and values under an adapter are not the base's.
    """

    __slots__ = ("_shelf", "digest", "slot")

    def __init__(self, shelf: AdapterShelf | None = None, *, slot: int = NO_SLOT, digest: str = "") -> None:
        self.slot: Final = slot
        self.digest: Final = digest
        self._shelf = shelf

    def release(self) -> None:
        """Give it back, once no more rows of the sequence are laid out. Later calls do nothing."""
        shelf, self._shelf = self._shelf, None
        if shelf is not None:
            shelf.give_back(self.digest)
