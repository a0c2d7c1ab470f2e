"""The characters of JSON strings, split into groups that a set of patterns cannot tell apart."""

from bisect import bisect_right
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise
from typing import Final

import re2

from registry.pattern_syntax import MAX_CODE_POINT, Characters, CodePointRanges, complement

_SURROGATES: Final = (0xD800, 0xDFFF)
_NICE: Final = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_ .,:;/@+!#$%&()*<=>?~"
"""Characters that a reader of a witness knows, the best first."""


class Alphabet:
    """Groups of characters. A group's number stands for any of its characters."""

    def __init__(self, sets: Iterable[Characters]) -> None:
        held = {characters: code_points(characters) for characters in sets}
        edges = {0, MAX_CODE_POINT + 1, _SURROGATES[0], _SURROGATES[1] + 1}
        for ranges in held.values():
            edges.update(edge for low, high in ranges for edge in (low, high + 1))
        starts = sorted(edges)
        memberships: list[list[Characters]] = [[] for _ in starts]
        place = {start: index for index, start in enumerate(starts)}
        for characters, ranges in held.items():
            for low, high in ranges:
                for index in range(place[low], place[high + 1]):
                    memberships[index].append(characters)
        groups: dict[frozenset[Characters], list[tuple[int, int]]] = {}
        for index, (low, after) in enumerate(pairwise(starts)):
            if not _SURROGATES[0] <= low <= _SURROGATES[1]:
                groups.setdefault(frozenset(memberships[index]), []).append((low, after - 1))
        self._ranges = list(groups.values())
        held_by: dict[Characters, list[int]] = {characters: [] for characters in held}
        for number, holding in enumerate(groups):
            for characters in holding:
                held_by[characters].append(number)
        self._groups = {characters: frozenset(numbers) for characters, numbers in held_by.items()}
        numbered = sorted((low, number) for number, ranges in enumerate(self._ranges) for low, _ in ranges)
        self._lows = [low for low, _ in numbered]
        self._numbers = [number for _, number in numbered]

    def __len__(self) -> int:
        return len(self._ranges)

    def groups_of(self, characters: Characters) -> frozenset[int]:
        """The groups that a set is made of."""
        return self._groups[characters]

    def group_of(self, character: str) -> int:
        """The group of one character."""
        return self._numbers[bisect_right(self._lows, ord(character)) - 1]

    def example(self, group: int) -> str:
        """A character of the group, one that can be read if there is one."""
        ranges = self._ranges[group]
        for character in _NICE:
            if any(low <= ord(character) <= high for low, high in ranges):
                return character
        for low, high in ranges:
            for code_point in range(low, min(high, low + 64) + 1):
                if chr(code_point).isprintable():
                    return chr(code_point)
        return chr(ranges[0][0])


def code_points(characters: Characters) -> CodePointRanges:
    """All code points of a set, Unicode classes by the tables of the program that judges."""
    ranges = list(characters.ranges)
    for name in characters.classes:
        ranges.extend(_class_ranges(name))
    merged: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return complement(tuple(merged)) if characters.negated else tuple(merged)


def matched_code_points(expression: str, *, below: int = MAX_CODE_POINT + 1) -> CodePointRanges:
    """The characters under `below` that RE2 holds an expression of single characters to match; sorted and apart.

    By one look at all of them in their order: character by character it would take a thousand times as long.
    """
    ranges: list[tuple[int, int]] = []
    for match in re2.finditer(f"(?:{expression})+".encode(), _characters(below)):
        ranges.extend(_runs(match.group(0).decode()))
    return tuple(ranges)


@lru_cache(maxsize=256)
def _class_ranges(name: str) -> CodePointRanges:
    """What RE2 holds to be in a Unicode class; asked once."""
    return matched_code_points(name)


def _runs(run: str) -> CodePointRanges:
    """Consecutive characters as a range; two where the run crosses the surrogates."""
    low, high = ord(run[0]), ord(run[-1])
    if low < _SURROGATES[0] and high > _SURROGATES[1]:
        return ((low, _SURROGATES[0] - 1), (_SURROGATES[1] + 1, high))
    return ((low, high),)


@lru_cache(maxsize=2)
def _characters(below: int) -> bytes:
    before, after = range(min(_SURROGATES[0], below)), range(_SURROGATES[1] + 1, below)
    return "".join(map(chr, (*before, *after))).encode()
