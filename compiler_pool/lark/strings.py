"""Terminals of strings: one expression over the whole text, quotes included, with the engine's `&`, `~` and `|`."""

import json
from dataclasses import dataclass
from typing import Final

from compiler_pool.form.languages import EVERY_STRING, Among, Both, Either, Except, Language, Lengths, Matching
from compiler_pool.form.spelling import spell_characters
from compiler_pool.lark.expressions import NOTHING, literal_expression, plain, spelled
from compiler_pool.lark.grammar import LarkRules
from registry.pattern_syntax import ANY, PatternNode, Repeat

_LITERALS: Final = json.JSONEncoder(ensure_ascii=True)


def string_terminal(language: Language, rules: LarkRules) -> str:
    """The name of the terminal of JSON strings whose contents are in the language."""
    return rules.terminal(_IN_QUOTES.body(language, rules))


def name_terminal(language: Language, rules: LarkRules) -> str:
    """The name of the terminal of member names in the language, the colon included."""
    return rules.terminal(_BEFORE_COLON.body(language, rules))


def raw_terminal(language: Language, rules: LarkRules) -> str:
    """The name of the terminal of the texts themselves, neither quoted nor escaped."""
    return rules.terminal(_AS_IS.body(language, rules))


def literal(text: str) -> str:
    """The Lark literal of exactly this output text."""
    return _LITERALS.encode(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Writing:
    """How the texts of a language stand in the output."""

    before: str
    after: str
    is_json: bool

    def body(self, language: Language, rules: LarkRules) -> str:
        """The body of a terminal."""
        match language:
            case Both(parts=()):
                return self._expression(self._text(Lengths()))
            case Among(texts=texts) if texts:
                return self._listed(texts)
            case Matching() | Among() | Lengths():
                return self._expression(self._text(language))
            case Both(parts=parts):
                return self._conjunction(parts, rules)
            case Either(parts=parts):
                return self._disjunction(parts, rules)
            case Except():
                return self._conjunction((language,), rules)

    def _conjunction(self, parts: tuple[Language, ...], rules: LarkRules) -> str:
        kept = [self._operand(part, rules) for part in parts if not isinstance(part, Except)]
        avoided = [f"~{self._operand(part.part, rules)}" for part in parts if isinstance(part, Except)]
        return " & ".join((*(kept or [self._operand(EVERY_STRING, rules)]), *avoided))

    def _disjunction(self, parts: tuple[Language, ...], rules: LarkRules) -> str:
        """Parts that are plain expressions are one expression together."""
        texts = [self._text(part) for part in parts if isinstance(part, Matching | Among | Lengths)]
        others = [self._operand(part, rules) for part in parts if not isinstance(part, Matching | Among | Lengths)]
        return " | ".join((*([self._expression("|".join(texts))] if texts or not others else []), *others))

    def _operand(self, language: Language, rules: LarkRules) -> str:
        if language == EVERY_STRING:
            # Written once: an engine takes its time to read an expression, each time that it is there.
            return rules.terminal(self.body(language, rules))
        body = self.body(language, rules)
        is_alone = isinstance(language, Matching | Lengths) or (isinstance(language, Among) and len(language.texts) < 2)
        return body if is_alone else f"({body})"

    def _listed(self, texts: tuple[str, ...]) -> str:
        """Literals: much quicker to read than one expression."""
        spell = spell_characters if self.is_json else str
        return " | ".join(literal(f"{self.before}{spell(text)}{self.after}") for text in texts)

    def _text(self, language: Matching | Among | Lengths) -> str:
        match language:
            case Matching(tree=tree):
                return self._tree(tree)
            case Among(texts=texts):
                spell = spell_characters if self.is_json else str
                return "|".join(literal_expression(spell(text)) for text in texts) if texts else NOTHING
            case Lengths(minimum=minimum, maximum=maximum):
                return self._tree(Repeat(node=ANY, minimum=minimum, maximum=maximum))

    def _tree(self, tree: PatternNode) -> str:
        return spelled(tree) if self.is_json else plain(tree)

    def _expression(self, text: str) -> str:
        before, after = literal_expression(self.before), literal_expression(self.after)
        return f"/{before}(?:{text}){after}/"


_IN_QUOTES: Final = _Writing(before='"', after='"', is_json=True)
_BEFORE_COLON: Final = _Writing(before='"', after='":', is_json=True)
_AS_IS: Final = _Writing(before="", after="", is_json=False)
