"""A compiled grammar over llguidance: the prototype, of which every sequence's matcher is a copy.

Copies of one prototype share a lexer, its budget of states and its fate: an error in one is an error in all of them,
and those who have not looked yet are told nothing. They refuse tokens, force nothing and deny that their text is
complete, all without an error. So a prototype is asked whether it is sound before any such answer is believed.
"""

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final
from weakref import WeakSet

from compiler_pool.artifact import EngineBudget
from compiler_pool.tokenizer import BoundTokenizer
from inference_node.errors import GrammarError
from inference_node.grammar_engine import GrammarCompiler, GrammarEngine, compile_engine, first_line, is_engine_fault
from inference_node.mask_pace import MaskPace
from inference_node.matcher import GrammarMatcher
from inference_node.matcher_home import MatcherHome

_REFUSAL: Final = 'Parser Error: token "'
"""How the engine's error text begins when a token does not fit the grammar."""

_MAX_COPIES: Final = 256
"""Copies use up their prototype's lexer states for good; past this many a fresh prototype is made."""

_MAX_MASKS: Final = 20_000
"""The same by masks filled, for a few long sequences."""


@dataclass(slots=True, kw_only=True, eq=False, weakref_slot=True)
class Prototype:
    """A compiled grammar from which matchers are copied in microseconds. One tenant's partition each."""

    tokenizer: BoundTokenizer
    grammar: str
    budget: EngineBudget
    accepts_nothing: bool
    """Whether the empty text is a whole sentence."""
    is_stopped_at_start: bool
    """Whether the empty text is the only one."""
    is_broken: bool = False
    """Its lexer has failed: it makes no more copies worth having. Set by the first copy that finds out."""
    num_masks: int = 0
    known_token: int | None = None
    """A token that a copy took at the grammar's start, so that a sound lexer takes it again."""
    pace: MaskPace
    """The contract's: all its prototypes have one."""
    _compiler: GrammarCompiler
    _engine: GrammarEngine
    _witness: GrammarEngine | None = None
    """A copy that stays at the grammar's start, to be asked whether it would take the known token."""
    _num_copies: int = 0
    _copies: WeakSet[GrammarMatcher] = field(default_factory=WeakSet)

    @classmethod
    def build(
        cls,
        tokenizer: BoundTokenizer,
        grammar: str,
        budget: EngineBudget,
        *,
        pace: MaskPace | None = None,
        compiler: GrammarCompiler = compile_engine,
    ) -> "Prototype":
        """Compile. Milliseconds to hundreds of them; releases the GIL. Only for grammars the compiler accepted.

        Raises:
            GrammarError: the engine refused it.
        """
        try:
            engine = compiler(tokenizer, grammar, budget)
            error = engine.get_error() if engine.is_error() else ""
            accepts_nothing, is_stopped = engine.is_accepting(), engine.is_stopped()
        except BaseException as raised:
            if not is_engine_fault(raised):
                raise
            raise GrammarError(reason=first_line(str(raised))) from raised
        if error:
            raise GrammarError(reason=first_line(error))
        return cls(
            tokenizer=tokenizer,
            grammar=grammar,
            budget=budget,
            accepts_nothing=accepts_nothing,
            is_stopped_at_start=is_stopped,
            pace=pace or MaskPace(),
            _compiler=compiler,
            _engine=engine,
        )

    @property
    def is_worn(self) -> bool:
        """Whether so much of the shared lexer is used up that the next matcher should come from a fresh prototype."""
        return self._num_copies >= _MAX_COPIES or self.num_masks >= _MAX_MASKS

    @property
    def num_live(self) -> int:
        """Matchers that share the lexer now."""
        return len(self._copies)

    def rebuilt(self) -> "Prototype":
        """The same grammar, compiled anew, sharing nothing. Raises GrammarError."""
        return Prototype.build(self.tokenizer, self.grammar, self.budget, pace=self.pace, compiler=self._compiler)

    def matcher(self, home: MatcherHome | None = None) -> GrammarMatcher:
        """A matcher at the grammar's start. `home` is where it gets another prototype from, should this one break."""
        matcher = GrammarMatcher(
            prototype=self,
            _accepts=self.accepts_nothing,
            _is_stopped=self.is_stopped_at_start,
            _engine=self.copied_engine(),
            _home=home,
        )
        self.adopt(matcher)
        return matcher

    def adopt(self, matcher: GrammarMatcher) -> None:
        """Count a matcher among those that share the lexer, for as long as it is alive."""
        self._copies.add(matcher)

    def copied_engine(self) -> GrammarEngine:
        """The engine's own state at the grammar's start. Raises GrammarError."""
        self._num_copies += 1
        try:
            return self._engine.deep_copy()
        except BaseException as raised:
            if not is_engine_fault(raised):
                raise
            raise GrammarError(reason=first_line(str(raised))) from raised

    def set_broken(self) -> None:
        """Its lexer has failed; the contract's masks are filled one by one from now on."""
        self.is_broken = self.pace.is_apart = True

    def is_sound(self) -> bool:
        """Whether the shared lexer still works: a copy is asked something with a known answer. Half a microsecond.

        Until a token is known that the grammar can begin with, a refusal in the right words will do; 150 microseconds.
        A lexer that broke stays broken, so what a copy said before a sound answer was said by a sound lexer.
        """
        if self.is_broken:
            return False
        try:
            if self._witness is not None and self.known_token is not None:
                return self._witness.validate_tokens([self.known_token]) == 1
            return self._is_sound_by_copy()
        except BaseException as raised:
            if not is_engine_fault(raised):
                raise
            return False

    def _is_sound_by_copy(self) -> bool:
        copy = self._engine.deep_copy()
        token = _guess(self.tokenizer) if self.known_token is None else self.known_token
        if copy.consume_token(token) and not copy.is_error():
            self._witness, self.known_token = self._engine.deep_copy(), token
            return True
        return self.known_token is None and copy.get_error().startswith(_REFUSAL)


@lru_cache(maxsize=8)
def _guess(tokenizer: BoundTokenizer) -> int:
    """What many grammars begin with."""
    texts = [index for index, data in enumerate(tokenizer.token_bytes) if data and index not in tokenizer.special]
    return next((index for index in texts if tokenizer.token_bytes[index] == b"{"), texts[0])
