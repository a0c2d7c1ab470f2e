"""What the step loop is asked to decode."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from inference_node.adapters.lease import AdapterLease
from inference_node.matcher import GrammarMatcher
from inference_node.reasoning.span import ReasoningSpan
from inference_node.sampling import SamplingChoice
from inference_node.snapshots.restored_state import RestoredState


@dataclass(frozen=True, slots=True, kw_only=True)
class SequenceRequest:
    """What to decode. `max_tokens` None: whatever the context allows. `matcher` None: unconstrained."""

    request_id: str
    prompt_ids: Sequence[int]
    choice: SamplingChoice
    max_tokens: int | None
    stop_strings: Sequence[str]
    matcher: GrammarMatcher | None
    num_top_logprobs: int | None = None
    """None: no log probabilities. With them every token is picked from a row, also where the grammar has one choice."""
    partition: str = ""
    """Whose it is, for fairness and for what may be shared of its prompt."""
    adapter: AdapterLease = field(default_factory=AdapterLease)
    """Released by the sequence's last event."""
    may_draft: bool = True
    span: ReasoningSpan | None = None
    """The thought before the answer; None: the answer begins at once."""
    restored: RestoredState | None = None
    """How far it had come elsewhere. `DecodingSequence.replay` has to be called before it is queued."""

    @property
    def prefix_salt(self) -> str:
        """What keys and values of equal tokens depend on besides, and who may learn by a shorter wait that they were
        there."""
        return f"{self.partition}\n{self.adapter.digest}"
