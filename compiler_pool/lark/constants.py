"""Constant arrays and objects as rules, in the tokens of the engine's lexer that machines of members and items use.

One literal for the whole text would not do beside them: the lexer takes the longest token that it has begun, so that
behind `{"a":1` of the constant `{"a":1}` no other object with a number that begins with 1 could go on.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from compiler_pool.lark.grammar import LarkRules
from compiler_pool.lark.strings import literal

_PART: Final = re.compile(r'"(?:[^"\\]|\\.)*":?|[\[\]{},]|[^\[\]{},":]+')


def is_composite(text: str) -> bool:
    """Whether the text is that of an array or an object."""
    return text.startswith(("[", "{"))


def write_constants(name: str, texts: Iterable[str], rules: LarkRules) -> None:
    """Add the rule of exactly these texts, compact JSON each, and rules of its own named from it.

    What begins alike is written once, so that the engine follows no more ways than there are.
    """
    _TrieWriter(name, rules).write(name, [tuple(_tokens(text)) for text in dict.fromkeys(texts)])


def _tokens(text: str) -> Iterator[str]:
    """The text in pieces: an object's bracket or comma is one with the name after it and the colon."""
    waiting = ""
    for part in _PART.findall(text):
        if part.endswith('":') or (waiting, part) == ("{", "}"):
            yield waiting + part
            waiting = ""
            continue
        if waiting:
            yield waiting
            waiting = ""
        if part in "{,":
            waiting = part
        else:
            yield part


class _TrieWriter:
    def __init__(self, name: str, rules: LarkRules) -> None:
        self._name = name
        self._rules = rules
        self._num_branchings = 0

    def write(self, name: str, texts: Sequence[tuple[str, ...]]) -> None:
        """Add the rule of some texts; where they part, the rest of each is a rule of its own."""
        pending = [(name, texts)]
        while pending:
            at, here = pending.pop()
            by_first: dict[str, list[tuple[str, ...]]] = {}
            for tokens in here:
                by_first.setdefault(tokens[0], []).append(tokens)
            lines: list[str] = []
            for group in by_first.values():
                shared = len(_common_start(group))
                line = [literal(token) for token in group[0][:shared]]
                if len(group) > 1:
                    self._num_branchings += 1
                    rest = f"{self._name}_{self._num_branchings}"
                    line.append(self._rules.rule_name(rest))
                    pending.append((rest, [tokens[shared:] for tokens in group]))
                lines.append(" ".join(line))
            self._rules.rule(at, " | ".join(lines))


def _common_start(texts: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """The tokens with which all texts begin. No JSON text is the beginning of another one in this way."""
    low, high = min(texts), max(texts)
    same = next((at for at, (one, other) in enumerate(zip(low, high, strict=False)) if one != other), len(low))
    return low[:same]
