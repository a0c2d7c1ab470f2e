"""What is drafted for the sequences of a step: proposed by a source, cut to what the grammar and the budget allow."""

from collections.abc import Callable, Sequence

from inference_node.drafting.source import DraftSource, DraftWant
from inference_node.running import Running
from inference_node.slices import BLOCK_TOKENS
from inference_node.step_plan import StepLimits
from inference_node.taking import Taken


class StepDrafts:
    """Used from the step loop's thread. The source is a guarded one: it raises nothing."""

    def __init__(self, source: DraftSource, *, is_free: Callable[[Running], bool], limits: StepLimits) -> None:
        self._source = source
        self._is_free = is_free
        self._limits = limits
        self._asked: set[int] = set()
        """The keys that the source holds something for."""
        self._proposed: dict[int, int] = {}
        """How many tokens were proposed for a key in this step."""

    def propose(self, running: Sequence[Running]) -> None:
        """Draft for all whose next slice is the last before a pick."""
        wanted = [one for one in running if self._can_use(one)]
        if not wanted:
            return
        proposals = self._source.propose([self._want(one) for one in wanted])
        for one, proposal in zip(wanted, proposals, strict=True):
            key = id(one)
            self._asked.add(key)
            matcher = one.sequence.matcher
            num_allowed = len(proposal) if matcher is None or not proposal else matcher.allowed_drafts(proposal)
            one.drafts = tuple(proposal[:num_allowed])
            if proposal:
                self._proposed[key] = len(proposal)
            if proposal and not num_allowed:
                self._tell(one, 0, 0)

    def observe(self, running: Running, taken: Taken) -> None:
        """What became of a sequence's drafts."""
        self._tell(running, taken.num_drafted, taken.num_accepted)

    def forget(self, running: Running) -> None:
        """It is over."""
        self._proposed.pop(id(running), None)
        if id(running) in self._asked:
            self._asked.discard(id(running))
            self._source.forget(id(running))

    def _tell(self, running: Running, num_drafted: int, num_accepted: int) -> None:
        if self._proposed.pop(id(running), None) is not None:
            self._source.observe(id(running), num_drafted, num_accepted)

    def _can_use(self, running: Running) -> bool:
        sequence, matcher = running.sequence, running.sequence.matcher
        return (
            sequence.request.may_draft
            and not sequence.request.choice.is_damped
            and running.computed is None
            and running.fill is None
            and running.repair is None
            and not sequence.is_behind
            # The prompt is done: one picked token, and what was forced after it.
            and 0 < sequence.num_pending <= BLOCK_TOKENS
            and sequence.num_computed >= len(sequence.request.prompt_ids)
            and sequence.num_left > 1
            and (matcher is None or (matcher.is_standing and not matcher.is_broken))
            and self._is_free(running)
        )

    def _want(self, running: Running) -> DraftWant:
        sequence = running.sequence
        choice = sequence.request.choice
        return DraftWant(
            key=id(running),
            token_ids=sequence.token_ids,
            num_prompt_tokens=len(sequence.request.prompt_ids),
            # The token that is picked anyway takes one of those that are left.
            max_drafts=min(self._limits.max_drafts, sequence.num_left - 1),
            seed=choice.seed,
            temperature=choice.temperature,
            top_k=choice.top_k,
            top_p=choice.top_p,
            place=sequence.num_completion_tokens,
        )
