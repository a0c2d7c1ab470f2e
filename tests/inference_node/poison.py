"""One grammar with a harmless and a ruinous branch, and what the raw engine makes of it."""

import random
from dataclasses import replace

from compiler_pool.tokenizer import BoundTokenizer
from inference_node.grammar import Prototype
from inference_node.matcher import GrammarMatcher
from inference_node.metrics import NodeMetrics
from inference_node.prototype_shelf import PrototypeShelf
from policy.limits import TENANT, EngineBudget

GRAMMAR = """start: /[a-su-z]/ ROW{6,9} "." | "t" MAZE
ROW: "{\\"word\\":\\"" LINE "\\",\\"last\\":\\"" LINE "\\"}"
LINE: /[a-z]{3,8}/
MAZE: /[ab]*a[ab]{900}/
"""
"""The state of a maze remembers which of the last 900 letters were `a`: every letter is a new state."""

BUDGET: EngineBudget = replace(TENANT.engine, max_lexer_states=240)
"""Enough for any number of rows, and for some twenty letters of the maze."""


LETTERS = "".join(random.Random(0).choices("ab", k=300)).encode()
"""A way through the maze on which no state comes twice."""


def new_shelf(
    tokenizer: BoundTokenizer, metrics: NodeMetrics | None = None, *, capacity: int = 1, grammar: str = GRAMMAR
) -> PrototypeShelf:
    """A shelf of the grammar's prototypes."""
    return PrototypeShelf(tokenizer, grammar, BUDGET, capacity=capacity, metrics=metrics or NodeMetrics())


def innocent(source: PrototypeShelf | Prototype) -> GrammarMatcher:
    """A matcher in the rows."""
    return _begun(source.matcher(), b"a")


def guilty(source: PrototypeShelf | Prototype) -> GrammarMatcher:
    """A matcher in the maze: it breaks the lexer that it shares, and then its own."""
    return _begun(source.matcher(), b"t")


def _begun(matcher: GrammarMatcher, text: bytes) -> GrammarMatcher:
    assert matcher.accept_tokens(matcher.prototype.tokenizer.encode_exact(text))
    return matcher
