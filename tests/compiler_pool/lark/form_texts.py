"""What a schema's form generates once it is written as Lark, asked of the real engine byte by byte."""

from random import Random

from llguidance import LLMatcher

from compiler_pool.form.maker import Maker
from compiler_pool.form.pruning import pruned
from compiler_pool.form.spending import ExpansionSpending
from compiler_pool.lark.writer import write_form
from compiler_pool.trial import engine_limits
from policy.enforcement import EnforcementPolicy
from policy.limits import TENANT, UNLIMITED
from registry.algebra.budgeting import SolverBudget
from registry.algebra.terms import Terms
from registry.contract import JsonValue
from registry.json_schema import read_json_schema
from registry.parsing import parse_json
from registry.text import canonical_json
from tests.compiler_pool.tiny_tokenizer import tiny_tokenizer

_SOLVING = SolverBudget(max_steps=20_000)
_CLOSING = frozenset(b']}"')


def parsed(text: str) -> JsonValue:
    """A small JSON text as a value."""
    return parse_json(text, max_bytes=1 << 20, max_nesting=64)


class FormTexts:
    """The texts of a schema, under the limits of a tenant, as an engine takes them that was made from the grammar."""

    def __init__(self, schema: str) -> None:
        contract = read_json_schema(parsed(schema), limits=UNLIMITED.contract, policy=EnforcementPolicy())
        terms = Terms()
        [self._root] = terms.read(parsed(contract.text))
        self._maker = Maker(terms, spending=ExpansionSpending(TENANT.expansion), solving=_SOLVING)
        form = pruned(self._maker.form(self._root))
        self.inabilities = {(one.keyword, one.reason) for one in self._maker.inabilities}
        self.grammar = None if form is None else write_form(form, max_digits=15).text()
        self._matcher = None if self.grammar is None else matcher_of(self.grammar)

    def allows(self, value: JsonValue) -> bool:
        """Whether the schema allows the value, as the algebra has it."""
        held = self._maker.truth.allows(self._root, value)
        assert held is not None
        return held

    def generates(self, value: JsonValue) -> bool:
        """Whether the compact text of a value can be generated and ended."""
        return self._matcher is not None and generates(self._matcher, canonical_json(value))

    def walk(self, random: Random, *, longest: int = 60) -> str | None:
        """A text made of random allowed tokens, in a hurry to close after `longest`; None where it did not close.

        It fails where no token is allowed though the text is not at an end.
        """
        assert self._matcher is not None
        return walk(self._matcher, random, longest=longest)


def matcher_of(grammar: str) -> LLMatcher:
    """The engine on a grammar, within a tenant's limits."""
    matcher = LLMatcher(tiny_tokenizer().engine, grammar, log_level=0, limits=engine_limits(TENANT.engine))
    assert not matcher.is_error(), matcher.get_error()
    return matcher


def generates(matcher: LLMatcher, text: str) -> bool:
    """Whether exactly this text can be generated and ended."""
    current, data = matcher.deep_copy(), text.encode()
    # The first 256 tokens are the bytes: ids equal bytes.
    return bool(current.try_consume_tokens(list(data)) == len(data) and current.is_accepting())


def walk(matcher: LLMatcher, random: Random, *, longest: int) -> str | None:
    """See `FormTexts.walk`."""
    current, engine, data = matcher.deep_copy(), tiny_tokenizer().engine, b""
    for step in range(3 * longest):
        mask = current.compute_bitmask()
        assert not current.is_error(), current.get_error()
        allowed = [token for token in range(len(mask) * 8) if mask[token >> 3] >> (token & 7) & 1]
        allowed = [token for token in allowed if token not in tiny_tokenizer().end_ids]
        if current.is_accepting() and (not allowed or random.random() < 0.5):
            return data.decode()
        assert allowed, f"a dead end behind {data!r}"
        closing = [token for token in allowed if token in _CLOSING] if step > longest else []
        token = random.choice(closing or [token for token in allowed if 0x20 <= token < 0x7F] or allowed)
        data += bytes([token]) if token < 0x100 else engine.decode_bytes([token])
        assert current.consume_token(token)
    return None
