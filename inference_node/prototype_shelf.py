"""One artifact's prototypes: several, so that masks of one contract are filled side by side and fail apart.

A lexer is behind a mutex, so sequences gain from a second thread only on a second prototype; and it fails for all who
share it. New sequences go to the sound prototype that fewest use. Nothing is shared between shelves, and an artifact's
key names its tenant's partition: no tenant's contract shares a lexer with another's, unless it is governed.
"""

from threading import Lock

from compiler_pool.artifact import EngineBudget
from compiler_pool.tokenizer import BoundTokenizer
from inference_node.grammar import Prototype
from inference_node.mask_pace import MaskPace
from inference_node.matcher import GrammarMatcher
from inference_node.matcher_home import Move
from inference_node.metrics import NodeMetrics, PrototypeReason


class PrototypeShelf:
    """Safe from any thread. What it gives may have to be compiled first: milliseconds to hundreds of them."""

    def __init__(
        self, tokenizer: BoundTokenizer, grammar: str, budget: EngineBudget, *, capacity: int, metrics: NodeMetrics
    ) -> None:
        self._tokenizer = tokenizer
        self._grammar = grammar
        self._budget = budget
        self._capacity = capacity
        self._metrics = metrics
        self._pace = MaskPace()
        self._prototypes: list[Prototype] = []
        self._num_lost = 0
        """Broken ones that were taken away and not replaced yet."""
        self._lock = Lock()
        self._building = Lock()
        """Held while a prototype for the shelf is compiled. Nobody waits for it who can take another."""

    @property
    def num_prototypes(self) -> int:
        """On the shelf; those that were taken off it live on while sequences use them."""
        with self._lock:
            return len(self._prototypes)

    def stock(self) -> None:
        """Have at least one sound prototype. Raises GrammarError."""
        self._chosen()

    def drop_spares(self) -> int:
        """Keep one prototype, and say how many went; those that sequences use live on until they end."""
        with self._lock:
            num_before = len(self._prototypes)
            del self._prototypes[1:]
            return num_before - len(self._prototypes)

    def matcher(self) -> GrammarMatcher:
        """A matcher at the grammar's start. Raises GrammarError."""
        return self._chosen().matcher(home=self)

    def prototype_for(self, move: Move) -> Prototype:
        """Where a broken matcher goes. Raises GrammarError."""
        self._metrics.sequence_moved(move.value)
        return self._chosen() if move is Move.BESIDE else self._built("alone")

    def _chosen(self) -> Prototype:
        """The sound prototype that fewest use, after a new one was built if one is wanted and nobody builds."""
        while True:
            with self._lock:
                best = self._best()
            if best is not None and not self._is_short(best):
                return best
            if not self._building.acquire(blocking=best is None):
                if best is not None:
                    return best
                continue
            try:
                with self._lock:
                    if self._best() is not best:  # while this thread waited
                        continue
                    reason = self._reason(best)
                built = self._built(reason)
                with self._lock:
                    self._prototypes = [kept for kept in self._prototypes if kept is not best or not kept.is_worn]
                    self._prototypes.append(built)
                    self._num_lost = max(0, self._num_lost - 1)
                return built
            finally:
                self._building.release()

    def _best(self) -> Prototype | None:
        """The sound one that fewest use, worn ones last. Takes the broken ones away."""
        sound = [prototype for prototype in self._prototypes if not prototype.is_broken]
        self._num_lost += len(self._prototypes) - len(sound)
        self._prototypes = sound
        return min(sound, key=lambda prototype: (prototype.is_worn, prototype.num_live), default=None)

    def _is_short(self, best: Prototype) -> bool:
        return best.is_worn or (best.num_live > 0 and len(self._prototypes) < self._capacity)

    def _reason(self, best: Prototype | None) -> PrototypeReason:
        if best is not None and best.is_worn:
            return "worn"
        if self._num_lost:
            return "broken"
        return "first" if best is None else "spread"

    def _built(self, reason: PrototypeReason) -> Prototype:
        prototype = Prototype.build(self._tokenizer, self._grammar, self._budget, pace=self._pace)
        self._metrics.prototype_built(reason, prototype)
        return prototype
