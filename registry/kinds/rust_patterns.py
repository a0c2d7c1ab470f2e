"""Regular expressions inside Lark grammars: Rust's dialect, as far as it has one meaning and no look-around.

It differs from `pattern` where Rust does: `.` is any character but a line feed, `\\d`, `\\w`, `\\s` are Unicode's and
stay as they are, a class holds no class. What the two dialects write alike is read by one reader.
"""

import re
from typing import Final

from registry.pattern_parser import PatternParser
from registry.pattern_syntax import ANY, MAX_CODE_POINT, Characters, PatternNode, PatternProfile
from registry.patterns import MAX_PATTERN_DEPTH, write_pattern

_NOT_LINE_FEED: Final = Characters(ranges=((0x0A, 0x0A),), negated=True)
_NAMED_GROUP: Final = re.compile(r"\(\?P?<([A-Za-z_][A-Za-z0-9_]*)>")
_BRACED: Final = re.compile(r"\{([0-9A-Fa-f]{1,8})\}")
_SETS: Final = frozenset("dDwWsS")
_CLASS_OPERATORS: Final = ("&&", "--", "~~")


def parse_rust_pattern(pattern: str, *, dot_all: bool = False) -> tuple[PatternNode, PatternProfile]:
    """The tree and sizes of an expression. Raises `UnsupportedPatternError`."""
    parser = RustPatternParser(pattern, dot_all=dot_all)
    node, profile = parser.parse()
    if profile.depth > MAX_PATTERN_DEPTH:
        parser.refuse_depth()
    return node, profile


def write_rust_pattern(node: PatternNode) -> str:
    """The one spelling of an expression, as it stands between slashes; empty if only the empty text matches."""
    text = write_pattern(node)
    # The writer leaves no backslash before a slash, so each slash is a character.
    return text.replace("/", "\\/")


class RustPatternParser(PatternParser):
    """Reads one expression, once."""

    def __init__(self, pattern: str, *, dot_all: bool) -> None:
        super().__init__(pattern)
        self._dot_all = [dot_all]

    def refuse_depth(self) -> None:
        """Refuse groups that are too deep to recurse over."""
        self._refuse(f"groups are nested more than {MAX_PATTERN_DEPTH} deep", 0)

    def _item(self) -> None:
        start = self._at
        character = self._text[start]
        if character == ".":
            self._at += 1
            self._stack[-1].add(ANY if self._dot_all[-1] else _NOT_LINE_FEED, can_repeat=True)
            return
        if character in "^$":
            self._refuse("a terminal is matched as a whole: anchors are not supported", start)
        if character == "{" and not self._is_counted(start):
            self._refuse("`{` repeats nothing; write `\\{` for the character", start)
        super()._item()
        if character in "*+?{" and self._at - start > 1 and self._text[self._at - 1] == "?":
            self._refuse("lazy quantifiers are not supported; mark the rule `[lazy]`", start)

    def _open_group(self, start: int) -> None:
        dot_all = self._dot_all[-1]
        if self._text.startswith("(?s:", start):
            self._at = start + len("(?s:")
            self._push_group(start)
            dot_all = True
        elif named := _NAMED_GROUP.match(self._text, start):
            if named[1] in self._names:
                self._refuse("two groups have one name", start)
            self._names.add(named[1])
            self._at = named.end()
            self._push_group(start)
        else:
            super()._open_group(start)
        self._dot_all.append(dot_all)

    def _close_group(self, start: int) -> None:
        super()._close_group(start)
        self._dot_all.pop()

    def _class(self, start: int) -> Characters:
        negated = self._text.startswith("^", self._at)
        self._at += negated
        if self._text.startswith("]", self._at):
            self._refuse("`]` first in a class is read in two ways; write `\\]`", self._at)
        ranges: list[tuple[int, int]] = []
        classes: set[str] = set()
        first = self._at
        while not self._text.startswith("]", self._at):
            position = self._at
            low = self._class_atom(start)
            if self._text.startswith("-", self._at) and not self._text.startswith("-]", self._at):
                dash = self._at
                if position != first and self._text[position] == "-":
                    self._refuse("`-` here is read in two ways; write `\\-`", position)
                self._at += 1
                high = self._class_atom(start)
                if low.classes or high.classes:
                    self._refuse("a set cannot be the end of a range", dash)
                low = self._range(low, high, dash)
            ranges.extend(low.ranges)
            classes.update(low.classes)
        self._at += 1
        return Characters(ranges=merged_ranges(ranges), classes=tuple(sorted(classes)), negated=negated)

    def _class_atom(self, class_start: int) -> Characters:
        if self._text.startswith("[", self._at):
            self._refuse("a class within a class is not supported; write `\\[` for the character", self._at)
        if self._text.startswith(_CLASS_OPERATORS, self._at):
            self._refuse("class operators are not supported", self._at)
        return super()._class_atom(class_start)

    def _escape(self, start: int, *, in_class: bool) -> Characters:
        character = self._text[self._at : self._at + 1]
        if character in _SETS and character:
            self._at += 1
            return Characters(classes=(f"\\{character}",))
        if character == "a":
            self._at += 1
            return Characters(ranges=((0x07, 0x07),))
        if character == "U":
            self._at += 1
            return self._one_of(self._code_point(start, "U"))
        if character and character in "bBck<>0":
            self._refuse("this escape is not a character in Rust's dialect", start)
        return super()._escape(start, in_class=in_class)

    def _code_point(self, start: int, character: str) -> int:
        braced = _BRACED.match(self._text, self._at)
        if braced is not None:
            self._at = braced.end()
            value = int(braced[1], 16)
        else:
            length = {"x": 2, "u": 4, "U": 8}[character]
            value = self._hexadecimal(self._take(length, start), start)
        if value > MAX_CODE_POINT:
            self._refuse("there is no such code point", start)
        self._refuse_surrogate(value, start)
        return value

    def _one_of(self, code_point: int) -> Characters:
        return Characters(ranges=((code_point, code_point),))


def merged_ranges(ranges: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """The same code points in ranges that are sorted and apart."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)
