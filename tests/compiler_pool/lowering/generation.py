"""What a lowered contract generates, asked of the real engine byte by byte."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from llguidance import LLMatcher

from compiler_pool.lowering.lower import lower
from compiler_pool.lowering.outcome import Lowered, Refused
from compiler_pool.tokenizer import BoundTokenizer, load_tokenizer
from compiler_pool.trial import engine_limits
from policy.enforcement import EnforcementPolicy, KeywordStatus
from policy.limits import UNLIMITED, ContractLimits
from registry.parsing import parse_json
from tests.compiler_pool.tiny_tokenizer import write_tokenizer

STRICT = EnforcementPolicy()
CHECKED = EnforcementPolicy(allow_checked_after=True)


@cache
def tiny_tokenizer() -> BoundTokenizer:
    """The small tokenizer, loaded once."""
    with TemporaryDirectory() as directory:
        return load_tokenizer(write_tokenizer(Path(directory) / "tokenizer.json"))


def lowered(
    text: str, policy: EnforcementPolicy = STRICT, limits: ContractLimits = UNLIMITED.contract
) -> Lowered | Refused:
    """Lower a schema written as JSON."""
    return lower(parse_json(text, max_bytes=1 << 20, max_nesting=64), limits=limits, policy=policy)


class Contract:
    """A lowered contract with an engine that took it."""

    def __init__(self, text: str, policy: EnforcementPolicy = STRICT) -> None:
        outcome = lowered(text, policy)
        assert isinstance(outcome, Lowered), outcome
        self.report = {entry.pointer: entry.status for entry in outcome.report}
        self.grammar = outcome.grammar
        limits = engine_limits(UNLIMITED.engine)
        self._matcher = LLMatcher(tiny_tokenizer().engine, outcome.grammar, log_level=0, limits=limits)
        assert not self._matcher.is_error(), self._matcher.get_error()

    def generates(self, text: str) -> bool:
        """Whether exactly this text can be generated and ended."""
        matcher = self._matcher.deep_copy()
        data = text.encode()
        # The first 256 tokens are the bytes, in the order of their spelling in the alphabet: ids equal bytes.
        return matcher.try_consume_tokens(list(data)) == len(data) and matcher.is_accepting()


def refusal(text: str, policy: EnforcementPolicy = STRICT, limits: ContractLimits = UNLIMITED.contract) -> Refused:
    """Lower a schema that must be refused."""
    outcome = lowered(text, policy, limits)
    assert isinstance(outcome, Refused), outcome
    assert all(entry.status is not KeywordStatus.CHECKED_AFTER for entry in outcome.report) or policy == CHECKED
    return outcome
