"""What a contract of any kind generates, asked of the real engine byte by byte; and what the judge says of it."""

import random
from collections.abc import Iterator

from llguidance import LLMatcher

from compiler_pool.kinds.kind_grammar import kind_grammar
from compiler_pool.lowering.outcome import Lowered, Refused
from compiler_pool.trial import engine_limits
from gateway.validation.kinds.judges import prepare_judge
from gateway.validation.verdict import Unjudged, Valid
from policy.enforcement import EnforcementPolicy
from policy.limits import UNLIMITED, LimitClass
from registry.contract import ContractKind, JsonValue
from registry.reading import read_contract
from tests.compiler_pool.tiny_tokenizer import tiny_tokenizer

POLICY = EnforcementPolicy()


def lowered(kind: str, value: JsonValue, limits: LimitClass = UNLIMITED) -> tuple[str, Lowered | Refused]:
    """The canonical text of a contract, and what it is lowered to."""
    contract = read_contract(ContractKind(kind), value, limits=limits.contract, policy=POLICY)
    return contract.text, kind_grammar(ContractKind(kind), contract.text, limits=limits, policy=POLICY)


class Generation:
    """An accepted contract, with engine and judge."""

    def __init__(self, kind: str, value: JsonValue) -> None:
        text, outcome = lowered(kind, value)
        assert isinstance(outcome, Lowered), outcome
        self.grammar = outcome.grammar
        self.report = {(entry.pointer, entry.keyword): entry.status for entry in outcome.report}
        limits = engine_limits(UNLIMITED.engine)
        self._prototype = LLMatcher(tiny_tokenizer().engine, outcome.grammar, log_level=0, limits=limits)
        assert not self._prototype.is_error(), self._prototype.get_error()
        judge = prepare_judge(ContractKind(kind), text)
        assert not isinstance(judge, Unjudged), judge
        self._judge = judge

    def generates(self, text: str) -> bool:
        """Whether exactly this text can be generated and ended."""
        matcher = self._prototype.deep_copy()
        data = list(text.encode())  # the first 256 tokens are the bytes
        return bool(matcher.try_consume_tokens(data) == len(data) and matcher.is_accepting())

    def judges(self, text: str) -> bool:
        """Whether the judge holds it for valid; that it has no verdict is a failure."""
        verdict = self._judge.judge(text.encode())
        assert not isinstance(verdict, Unjudged), verdict
        return isinstance(verdict, Valid)

    def disagreements(self, texts: Iterator[str] | list[str]) -> list[tuple[str, bool]]:
        """Texts of which engine and judge say different things, with what the engine says."""
        return [(text, is_made) for text in texts if (is_made := self.generates(text)) is not self.judges(text)]

    def walk(self, seed: int, most: int = 80) -> str | None:
        """A text by random steps through the masks; `None` if it is not over after `most` of them."""
        tokenizer, chooser = tiny_tokenizer(), random.Random(seed)
        matcher, data = self._prototype.deep_copy(), b""
        for _ in range(most):
            mask = matcher.compute_logit_bias()
            allowed = [token for token, bias in enumerate(mask) if bias]
            assert allowed, f"a dead end after {data!r}"
            ends = [token for token in allowed if token in tokenizer.end_ids]
            if ends and chooser.random() < 0.3:
                break
            texts = [token for token in allowed if token not in ends]
            if not texts:
                break
            token = chooser.choice(texts)
            assert matcher.consume_token(token), f"the mask offers {token} after {data!r}"
            data += tokenizer.token_bytes[token]
        if not matcher.is_accepting():
            return None
        return data.decode(errors="strict")


def codes(kind: str, value: JsonValue, limits: LimitClass = UNLIMITED) -> list[tuple[str, str]]:
    """Codes and canonical pointers of a lowering that refuses."""
    _, outcome = lowered(kind, value, limits)
    assert isinstance(outcome, Refused), outcome
    return [(rejection.code.value, rejection.pointer) for rejection in outcome.rejections]
