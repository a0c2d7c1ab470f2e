"""Terminals in the real engine: which texts it takes, byte by byte."""

from collections.abc import Callable

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
        limits = engine_limits(UNLIMITED.engine)
        self._matcher = LLMatcher(tiny_tokenizer().engine, self.grammar, log_level=0, limits=limits)
        assert not self._matcher.is_error(), (self.grammar, self._matcher.get_error())

    def takes(self, text: str) -> bool:
        """Whether exactly this text can be generated and ended."""
        matcher = self._matcher.deep_copy()
        data = text.encode()
        # The first 256 tokens are the bytes, in the order of their spelling in the alphabet: ids equal bytes.
        return matcher.try_consume_tokens(list(data)) == len(data) and matcher.is_accepting()
