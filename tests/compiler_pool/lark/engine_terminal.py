"""Terminals in the real engine: which texts it takes, byte by byte."""

from collections.abc import Callable

from hypothesis import reject
from llguidance import LLMatcher

from compiler_pool.form.languages import Language
from compiler_pool.lark.grammar import LarkGrammar, LarkRules
from compiler_pool.lark.strings import string_terminal
from compiler_pool.trial import engine_limits
from policy.limits import UNLIMITED
from tests.compiler_pool.tiny_tokenizer import tiny_tokenizer


class EngineTerminal:
    """A language as the engine's only terminal."""

    def __init__(self, language: Language, terminal: Callable[[Language, LarkRules], str] = string_terminal) -> None:
        rules = LarkRules()
        start = terminal(language, rules)
        self.grammar = LarkGrammar(start=start, rules=tuple(rules.entries())).text()
        self._matcher = self._built()

    def takes(self, text: str) -> bool:
        """Whether exactly this text can be generated and ended.

        A lexer that is used up fails in silence and for good, in all copies: then the text is asked of a new one. What
        uses up a new one by itself is no example: the engine ends such a sequence with an error, which is no answer.
        """
        found = self._asked(text)
        if found is None:
            self._matcher = self._built()
            found = self._asked(text)
        if found is None:
            reject()
        return found

    def _asked(self, text: str) -> bool | None:
        """None: the lexer is used up."""
        matcher = self._matcher.deep_copy()
        data = text.encode()
        # The first 256 tokens are the bytes, in the order of their spelling in the alphabet: ids equal bytes.
        is_taken = matcher.try_consume_tokens(list(data)) == len(data) and matcher.is_accepting()
        # A copy learns of a failure only when it is asked for a mask.
        matcher.compute_bitmask()
        return None if matcher.is_error() else is_taken

    def _built(self) -> LLMatcher:
        limits = engine_limits(UNLIMITED.engine)
        matcher = LLMatcher(tiny_tokenizer().engine, self.grammar, log_level=0, limits=limits)
        assert not matcher.is_error(), (self.grammar, matcher.get_error())
        return matcher
