"""The texts of a GBNF grammar, by brute force, from its raw text: a judge that shares nothing with the reader."""

import re
from collections.abc import Iterator

_ALPHABET = 'abez"'
_PIECE = re.compile(r'\s*(?:("(?:\\.|[^"\\])*")|(\[(?:\\.|[^\]\\])*\])|([a-z0-9]+)|(\{[0-9,]+\}|[().|*+?]))')


class _Reader:
    def __init__(self, body: str) -> None:
        self.pieces = [found[0].strip() for found in _PIECE.finditer(body)]
        self.at = 0

    def alternatives(self, rules: dict[str, set[str]], most: int) -> set[str]:
        found = self.sequence(rules, most)
        while self.at < len(self.pieces) and self.pieces[self.at] == "|":
            self.at += 1
            found |= self.sequence(rules, most)
        return found

    def sequence(self, rules: dict[str, set[str]], most: int) -> set[str]:
        found = {""}
        while self.at < len(self.pieces) and self.pieces[self.at] not in {"|", ")"}:
            item = self.atom(rules, most)
            while self.at < len(self.pieces) and self.pieces[self.at][0] in "*+?{":
                item = _repeated(item, self.pieces[self.at], most)
                self.at += 1
            found = _joined(found, item, most)
        return found

    def atom(self, rules: dict[str, set[str]], most: int) -> set[str]:
        piece = self.pieces[self.at]
        self.at += 1
        if piece == "(":
            found = self.alternatives(rules, most)
            self.at += 1
            return found
        if piece == ".":
            return set(_ALPHABET)
        if piece[0] == "[":
            return {character for character in _ALPHABET if re.fullmatch(piece, character)}
        if piece[0] == '"':
            text = piece[1:-1].replace('\\"', '"')
            return {text} if len(text) <= most else set()
        return rules.get(piece, set())


def _joined(left: set[str], right: set[str], most: int) -> set[str]:
    return {a + b for a in left for b in right if len(a) + len(b) <= most}


def _repeated(item: set[str], quantifier: str, most: int) -> set[str]:
    least, greatest = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(quantifier, (0, None))
    if quantifier[0] == "{":
        low, comma, high = quantifier[1:-1].partition(",")
        least, greatest = int(low), (int(high) if high else None) if comma else int(low)
    power = {""}
    for _ in range(least):
        power = _joined(power, item, most)
    found = set(power)
    for _ in range(most if greatest is None else greatest - least):
        power = _joined(power, item, most)
        found |= power
    return found


def _bodies(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        name, _, body = line.partition("::=")
        yield name.strip(), body


def texts_of(text: str, *, max_length: int) -> set[str]:
    """Every text up to a length, over a small alphabet."""
    rules: dict[str, set[str]] = {}
    while True:
        found = {name: _Reader(body).alternatives(rules, max_length) for name, body in _bodies(text)}
        if found == rules:
            return rules["root"]
        rules = found
