"""What llguidance accepts: the judge of whether a canonical text means what its author wrote."""

import json
from functools import cache
from typing import Any

from llguidance import LLMatcher, LLTokenizer

from tests.compiler_pool.tiny_tokenizer import tokenizer_document


@cache
def _tokenizer() -> Any:
    return LLTokenizer(json.dumps(tokenizer_document()), eos_token=[271, 269])


class Acceptor:
    """One grammar, asked about many texts, byte by byte."""

    def __init__(self, lark: str) -> None:
        self._prototype = LLMatcher(_tokenizer(), LLMatcher.grammar_from_lark(lark), log_level=0)
        self.error: str = self._prototype.get_error()

    def accepts(self, text: str) -> bool:
        assert not self.error, self.error
        matcher = self._prototype.deep_copy()
        data = list(text.encode())
        return bool(matcher.try_consume_tokens(data) == len(data) and matcher.is_accepting())
