"""Wholes whose parts many share: looked up and compared in the time of their parts, not of the ways to a leaf."""

from typing import ClassVar


class SharedParts:
    """A frozen dataclass without an `__eq__` of its own, equal to others of its type with equal parts.

    What a look-up needs is worked out once. Two wholes that were found to be equal have the same parts from then on, so
    that each pair below them is compared once.
    """

    __slots__ = ("_key",)

    PARTS: ClassVar[str] = "parts"
    """The member that holds the parts: all that the whole is."""

    _key: int

    def __hash__(self) -> int:
        try:
            return self._key
        except AttributeError:
            key = hash((type(self), getattr(self, self.PARTS)))
            object.__setattr__(self, "_key", key)
            return key

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, SharedParts) or type(self) is not type(other) or hash(self) != hash(other):
            return False
        own, others = getattr(self, self.PARTS), getattr(other, self.PARTS)
        if own is not others:
            if own != others:
                return False
            object.__setattr__(other, self.PARTS, own)
        return True
