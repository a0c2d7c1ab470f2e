"""The syntax of ECMA-262 regular expressions in Unicode mode, for `format: regex`: is it one, not what it matches.

A look-ahead is refused as a *contract's* pattern, because no engine here can run it; as *data* it is a regular
expression like any other. So this reads the grammar of ECMA-262 (11th edition, the one that JSON Schema 2020-12
cites, section 21.2.1 with the `u` flag) and runs nothing. One pass, one stack, no recursion: data may nest as it likes.
Names of Unicode properties are checked for their form, not against Unicode's tables. The patterns below are fixed,
short and without nested repetition, so the standard library may run them.
"""

import re

_QUANTIFIER = re.compile(r"(?:[*+?]|\{([0-9]+)(?:,([0-9]*))?\})\??")
_PROPERTY = re.compile(r"\{[A-Za-z_]+(?:=[0-9A-Za-z_]+)?\}")
_HEX2 = re.compile(r"[0-9A-Fa-f]{2}")
_HEX4 = re.compile(r"[0-9A-Fa-f]{4}")
_CODE_POINT = re.compile(r"\{0*([0-9A-Fa-f]{1,6})\}")
_NAME = re.compile(r"<([^<>]+)>")
_DECIMAL = re.compile(r"[1-9][0-9]*")

_SYNTAX_CHARACTERS = frozenset("^$\\.*+?()[]{}|/")
_CONTROL_ESCAPES = {"f": 0x0C, "n": 0x0A, "r": 0x0D, "t": 0x09, "v": 0x0B}
_LOOK_AROUND = ("(?=", "(?!", "(?<=", "(?<!")
_NO_ATOM = frozenset("*+?{}])")


class _SyntaxFault(Exception):  # noqa: N818 - control flow inside this file, never raised to a caller
    """The text is no regular expression."""


def is_ecma_regex(text: str) -> bool:
    """Whether `new RegExp(text, "u")` would succeed."""
    try:
        _Scan(text).run()
    except _SyntaxFault:
        return False
    return True


class _Scan:
    """One pass over one expression."""

    __slots__ = ("_at", "_back_references", "_group_names", "_named_references", "_num_groups", "_open", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._open: list[bool] = []
        """For each open parenthesis, whether the closed group may be quantified."""
        self._num_groups = 0
        self._group_names: set[str] = set()
        self._back_references: list[int] = []
        self._named_references: set[str] = set()

    def run(self) -> None:
        quantifiable = False
        while self._at < len(self._text):
            if self._text[self._at] in "*+?{":
                if not quantifiable:
                    raise _SyntaxFault
                self._quantifier()
                quantifiable = False
            else:
                quantifiable = self._term()
        if self._open:
            raise _SyntaxFault
        # References may point forwards, so they are judged when every group is known.
        if any(number > self._num_groups for number in self._back_references):
            raise _SyntaxFault
        if not self._named_references <= self._group_names:
            raise _SyntaxFault

    def _term(self) -> bool:
        """Consume one term without its quantifier; whether one may follow."""
        character = self._text[self._at]
        match character:
            case "(":
                self._open_group()
                return False
            case ")":
                if not self._open:
                    raise _SyntaxFault
                self._at += 1
                return self._open.pop()
            case "[":
                self._character_class()
                return True
            case "\\":
                return self._escape()
            case "|" | "^" | "$":
                self._at += 1
                return False
            case _ if character in _NO_ATOM:
                raise _SyntaxFault
        self._at += 1
        return True

    def _quantifier(self) -> None:
        match = _QUANTIFIER.match(self._text, self._at)
        if match is None:
            raise _SyntaxFault
        low, high = match.group(1), match.group(2)
        if low is not None and high and _order(low) > _order(high):
            raise _SyntaxFault
        self._at = match.end()

    def _open_group(self) -> None:
        rest = self._text[self._at : self._at + 4]
        if rest.startswith("(?:"):
            self._at += 3
            self._open.append(True)
        elif look := next((each for each in _LOOK_AROUND if rest.startswith(each)), None):
            self._at += len(look)
            self._open.append(False)
        elif rest.startswith("(?<"):
            self._at += 2
            name = self._name()
            if name in self._group_names:
                raise _SyntaxFault
            self._group_names.add(name)
            self._num_groups += 1
            self._open.append(True)
        elif rest.startswith("(?"):
            raise _SyntaxFault
        else:
            self._at += 1
            self._num_groups += 1
            self._open.append(True)

    def _name(self) -> str:
        match = _NAME.match(self._text, self._at)
        if match is None or not match.group(1).replace("$", "_").isidentifier():
            raise _SyntaxFault
        self._at = match.end()
        return str(match.group(1))

    def _escape(self) -> bool:
        """An escape outside a class; whether a quantifier may follow."""
        following = self._text[self._at + 1 : self._at + 2]
        if following and following in "bB":
            self._at += 2
            return False
        if following == "k":
            self._at += 2
            self._named_references.add(self._name())
            return True
        if decimal := _DECIMAL.match(self._text, self._at + 1):
            # More digits than any expression has groups cannot name one of them.
            self._back_references.append(int(decimal.group()[:10]))
            self._at = decimal.end()
            return True
        self._character_escape()
        return True

    def _character_escape(self) -> int | None:
        """An escape that stands for a character (its code point) or for a set of them (`None`)."""
        letter = self._text[self._at + 1 : self._at + 2]
        self._at += 2
        if letter and letter in "dDsSwW":
            return None
        if letter and letter in "pP":
            self._take(_PROPERTY)
            return None
        if letter in _CONTROL_ESCAPES:
            return _CONTROL_ESCAPES[letter]
        match letter:
            case "c":
                control = self._text[self._at : self._at + 1]
                if not (control.isascii() and control.isalpha()):
                    raise _SyntaxFault
                self._at += 1
                return ord(control) % 32
            case "0":
                if self._text[self._at : self._at + 1] in tuple("0123456789"):
                    raise _SyntaxFault
                return 0
            case "x":
                return int(self._take(_HEX2), 16)
            case "u":
                return self._unicode_escape()
        if letter not in _SYNTAX_CHARACTERS:
            raise _SyntaxFault
        return ord(letter)

    def _unicode_escape(self) -> int:
        if match := _CODE_POINT.match(self._text, self._at):
            self._at = match.end()
            code_point = int(match.group(1), 16)
            if code_point > 0x10FFFF:
                raise _SyntaxFault
            return code_point
        unit = int(self._take(_HEX4), 16)
        if 0xD800 <= unit < 0xDC00 and self._text.startswith("\\u", self._at):
            low = _HEX4.match(self._text, self._at + 2)
            if low is not None and 0xDC00 <= int(low.group(), 16) < 0xE000:
                self._at = low.end()
                return 0x10000 + ((unit - 0xD800) << 10) + int(low.group(), 16) - 0xDC00
        return unit

    def _take(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self._text, self._at)
        if match is None:
            raise _SyntaxFault
        self._at = match.end()
        return str(match.group())

    def _character_class(self) -> None:
        self._at += 2 if self._text.startswith("[^", self._at) else 1
        while not self._text.startswith("]", self._at):
            low = self._class_atom()
            # A hyphen makes a range unless it closes the class.
            if self._text.startswith("-", self._at) and not self._text.startswith("-]", self._at):
                self._at += 1
                high = self._class_atom()
                if low is None or high is None or low > high:
                    raise _SyntaxFault
        self._at += 1

    def _class_atom(self) -> int | None:
        character = self._text[self._at : self._at + 1]
        if not character or character == "]":
            raise _SyntaxFault
        if character != "\\":
            self._at += 1
            return ord(character)
        following = self._text[self._at + 1 : self._at + 2]
        if following in {"b", "-"}:
            self._at += 2
            return 0x08 if following == "b" else ord("-")
        return self._character_escape()


def _order(digits: str) -> tuple[int, str]:
    """Orders decimal numerals of any length without converting them (Python refuses past 4,300 digits)."""
    significant = digits.lstrip("0")
    return len(significant), significant
