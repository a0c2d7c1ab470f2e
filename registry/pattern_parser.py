"""ECMA-262 patterns, read into a tree without recursion.

The dialect is `pattern` in JSON Schema: ECMA-262 with code points as characters (the `u` flag), and the leniencies of
its Annex B where they have one meaning everywhere (`\\-` outside a class, a lone `{`). What engines read differently,
or cannot do, is refused with its position.
"""

import re
from typing import Final, NoReturn

from registry.errors import UnsupportedPatternError
from registry.pattern_syntax import (
    DIGITS,
    EMPTY,
    LINE_TERMINATORS,
    MAX_CODE_POINT,
    SPACES,
    WORD,
    Anchor,
    Characters,
    Choice,
    CodePointRanges,
    PatternNode,
    PatternProfile,
    Repeat,
    Sequence,
    complement,
)
from registry.unicode_classes import unicode_class

_QUANTIFIER: Final = re.compile(r"\{([0-9]+)(,([0-9]*))?\}")
_GROUP_NAME: Final = re.compile(r"\(\?<([A-Za-z_$][A-Za-z0-9_$]*)>")
_CONTROLS: Final = {"t": 0x09, "n": 0x0A, "v": 0x0B, "f": 0x0C, "r": 0x0D}
_SETS: Final[dict[str, CodePointRanges]] = {
    "d": DIGITS, "w": WORD, "s": SPACES, "D": complement(DIGITS), "W": complement(WORD), "S": complement(SPACES),
}  # fmt: skip
_MAX_BOUND_DIGITS: Final = 9


class _Group:
    """An open group: finished branches, the branch being read, and what counts for the profile."""

    def __init__(self, position: int) -> None:
        self.position = position
        self.branches: list[PatternNode] = []
        self.parts: list[PatternNode] = []
        self.product = 1
        self.last_product = 1
        self.can_repeat = False

    def add(self, node: PatternNode, *, can_repeat: bool, product: int = 1) -> None:
        self.parts.append(node)
        self.can_repeat = can_repeat
        self.last_product = product
        self.product = max(self.product, product)

    def end_branch(self) -> None:
        self.branches.append(self.parts[0] if len(self.parts) == 1 else Sequence(parts=tuple(self.parts)))
        self.parts = []
        self.can_repeat = False

    def close(self) -> PatternNode:
        self.end_branch()
        return self.branches[0] if len(self.branches) == 1 else Choice(branches=tuple(self.branches))


class PatternParser:
    """Reads one pattern, once. Linear in its length; depth costs memory, not stack."""

    def __init__(self, pattern: str) -> None:
        self._text = pattern
        self._at = 0
        self._stack = [_Group(0)]
        self._names: set[str] = set()
        self._depth = 0
        self._max_repeat = 0
        self._last_posix_end = pattern.rfind(":]")

    def parse(self) -> tuple[PatternNode, PatternProfile]:
        """Raises `UnsupportedPatternError`."""
        while self._at < len(self._text):
            self._item()
        if len(self._stack) > 1:
            self._refuse("the group is not closed", self._stack[-1].position)
        root = self._stack[0]
        profile = PatternProfile(
            num_bytes=len(self._text.encode("utf-8", "surrogatepass")),
            depth=self._depth,
            max_repeat=self._max_repeat,
            repeat_product=root.product,
        )
        return root.close() if self._text else EMPTY, profile

    def _item(self) -> None:
        start = self._at
        character = self._text[start]
        self._at += 1
        group = self._stack[-1]
        if character == "(":
            self._open_group(start)
        elif character == ")":
            self._close_group(start)
        elif character == "|":
            group.end_branch()
        elif character in "^$":
            group.add(Anchor(at_start=character == "^"), can_repeat=False)
        elif character == ".":
            group.add(Characters(ranges=LINE_TERMINATORS, negated=True), can_repeat=True)
        elif character == "[":
            group.add(self._class(start), can_repeat=True)
        elif character in "*+?" or (character == "{" and self._is_counted(start)):
            self._quantifier(start)
        elif character == "\\":
            group.add(self._escape(start, in_class=False), can_repeat=True)
        else:
            self._refuse_surrogate(ord(character), start)
            group.add(_one(ord(character)), can_repeat=True)

    def _open_group(self, start: int) -> None:
        text = self._text
        if text.startswith("(?:", start):
            self._at = start + 3
        elif text.startswith(("(?=", "(?!", "(?<=", "(?<!"), start):
            self._refuse("look-around is not supported", start)
        elif named := _GROUP_NAME.match(text, start):
            if named[1] in self._names:
                self._refuse("two groups have one name", start)
            self._names.add(named[1])
            self._at = named.end()
        elif text.startswith("(?", start):
            self._refuse("inline flags and other `(?` groups are not supported", start)
        self._push_group(start)

    def _push_group(self, start: int) -> None:
        self._stack.append(_Group(start))
        self._depth = max(self._depth, len(self._stack) - 1)

    def _close_group(self, start: int) -> None:
        if len(self._stack) == 1:
            self._refuse("`)` closes nothing", start)
        group = self._stack.pop()
        self._stack[-1].add(group.close(), can_repeat=True, product=group.product)

    def _is_counted(self, start: int) -> bool:
        if _QUANTIFIER.match(self._text, start):
            return True
        if self._text.startswith("{,", start):
            self._refuse("`{,` is a quantifier to some engines and text to others", start)
        return False

    def _quantifier(self, start: int) -> None:
        group = self._stack[-1]
        if not group.can_repeat:
            self._refuse("there is nothing to repeat", start)
        character = self._text[start]
        minimum, maximum = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(character, (0, None))
        if character == "{":
            minimum, maximum = self._bounds(start)
        if self._text.startswith("?", self._at):
            self._at += 1  # lazy: the same strings match
        group.parts[-1] = Repeat(node=group.parts[-1], minimum=minimum, maximum=maximum)
        group.can_repeat = False
        if character == "{":
            bound = minimum if maximum is None else maximum
            self._max_repeat = max(self._max_repeat, bound)
            group.last_product *= max(bound, 1)
            group.product = max(group.product, group.last_product)

    def _bounds(self, start: int) -> tuple[int, int | None]:
        counted = _QUANTIFIER.match(self._text, start)
        assert counted is not None
        self._at = counted.end()
        if max(len(counted[1]), len(counted[3] or "")) > _MAX_BOUND_DIGITS:
            self._refuse("the bound of a repeat is absurd", start)
        minimum = int(counted[1])
        if counted[2] is None:
            return minimum, minimum
        maximum = int(counted[3]) if counted[3] else None
        if maximum is not None and maximum < minimum:
            self._refuse("the bounds of a repeat are the wrong way round", start)
        return minimum, maximum

    def _class(self, start: int) -> Characters:
        negated = self._text.startswith("^", self._at)
        self._at += negated
        if self._text.startswith("[:", self._at) and self._last_posix_end > self._at:
            self._refuse("POSIX classes are not ECMA-262", self._at)
        ranges: list[tuple[int, int]] = []
        classes: list[str] = []
        while not self._text.startswith("]", self._at):
            low = self._class_atom(start)
            if self._text.startswith("-", self._at) and not self._text.startswith("-]", self._at):
                dash = self._at
                self._at += 1
                high = self._class_atom(start)
                if _is_single(low) and _is_single(high):
                    low = self._range(low, high, dash)
                else:  # Annex B: beside a set, the dash is a character
                    ranges.append((0x2D, 0x2D))
                    ranges.extend(high.ranges)
                    classes.extend(high.classes)
            ranges.extend(low.ranges)
            classes.extend(low.classes)
        self._at += 1
        return Characters(ranges=_merged(ranges), classes=tuple(sorted(set(classes))), negated=negated)

    def _range(self, low: Characters, high: Characters, position: int) -> Characters:
        first, last = low.ranges[0][0], high.ranges[0][0]
        if first > last:
            self._refuse("the ends of a range are the wrong way round", position)
        return Characters(ranges=((first, last),))

    def _class_atom(self, class_start: int) -> Characters:
        start = self._at
        if start >= len(self._text):
            self._refuse("the class is not closed", class_start)
        self._at += 1
        if self._text[start] == "\\":
            return self._escape(start, in_class=True)
        self._refuse_surrogate(ord(self._text[start]), start)
        return _one(ord(self._text[start]))

    def _escape(self, start: int, *, in_class: bool) -> Characters:
        if self._at >= len(self._text):
            self._refuse("a backslash ends the pattern", start)
        character = self._text[self._at]
        self._at += 1
        if character in _SETS:
            return Characters(ranges=_SETS[character])
        if character in _CONTROLS:
            return _one(_CONTROLS[character])
        if character in "pP":
            return Characters(classes=(self._unicode_class(start, character),))
        if character in "xu":
            return _one(self._code_point(start, character))
        if character == "c":
            return _one(self._control(start))
        if character == "b" and in_class:
            return _one(0x08)
        if character == "0" and not self._text[self._at : self._at + 1].isdigit():
            return _one(0)
        if character.isdigit() or character == "k":
            self._refuse("back-references (and octal escapes) are not supported", start)
        if character in "bB":
            self._refuse("word boundaries are not supported", start)
        if character.isalpha() or ord(character) > 0x7E or ord(character) < 0x20:
            self._refuse("this escape is not ECMA-262", start)
        return _one(ord(character))

    def _control(self, start: int) -> int:
        letter = self._text[self._at : self._at + 1]
        if not (letter.isascii() and letter.isalpha()):
            self._refuse("`\\c` needs a letter", start)
        self._at += 1
        return ord(letter) % 32

    def _code_point(self, start: int, character: str) -> int:
        if character == "u" and self._text.startswith("{", self._at):
            end = self._text.find("}", self._at)
            digits = self._text[self._at + 1 : end] if end >= 0 else ""
            value = self._hexadecimal(digits, start)
            if value > MAX_CODE_POINT or len(digits) > 8:
                self._refuse("there is no such code point", start)
            self._at = end + 1
        else:
            value = self._hexadecimal(self._take(4 if character == "u" else 2, start), start)
            if 0xD800 <= value <= 0xDBFF and self._text.startswith("\\u", self._at):
                low = self._hexadecimal(self._text[self._at + 2 : self._at + 6], start)
                if 0xDC00 <= low <= 0xDFFF:
                    self._at += 6
                    return 0x10000 + ((value - 0xD800) << 10) + (low - 0xDC00)
        self._refuse_surrogate(value, start)
        return value

    def _take(self, length: int, start: int) -> str:
        digits = self._text[self._at : self._at + length]
        if len(digits) < length:
            self._refuse("the escape is cut off", start)
        self._at += length
        return digits

    def _hexadecimal(self, digits: str, start: int) -> int:
        if not digits or len(digits) > 8 or any(d not in "0123456789abcdefABCDEF" for d in digits):
            self._refuse("the escape needs hexadecimal digits", start)
        return int(digits, 16)

    def _unicode_class(self, start: int, character: str) -> str:
        end = self._text.find("}", self._at)
        if not self._text.startswith("{", self._at) or end < 0:
            self._refuse("`\\p` needs a property in braces", start)
        name = unicode_class(self._text[self._at + 1 : end])
        if name is None:
            self._refuse("this Unicode property is not one that engine and validator share", start)
        self._at = end + 1
        return f"\\{character}{{{name}}}"

    def _refuse_surrogate(self, code_point: int, position: int) -> None:
        if 0xD800 <= code_point <= 0xDFFF:
            self._refuse("a lone surrogate matches in no JSON text", position)

    def _refuse(self, reason: str, position: int) -> NoReturn:
        raise UnsupportedPatternError(reason=reason, position=position)


def _one(code_point: int) -> Characters:
    return _ASCII[code_point] if code_point < len(_ASCII) else Characters(ranges=((code_point, code_point),))


_ASCII: Final = [Characters(ranges=((code_point, code_point),)) for code_point in range(128)]


def _is_single(characters: Characters) -> bool:
    return not characters.classes and len(characters.ranges) == 1 and characters.ranges[0][0] == characters.ranges[0][1]


def _merged(ranges: list[tuple[int, int]]) -> CodePointRanges:
    merged: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)
