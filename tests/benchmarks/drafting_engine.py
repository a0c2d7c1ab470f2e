"""A running engine with a source of drafts, and requests decoded by it with drafts or without."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from time import perf_counter
from typing import Self

from pydantic import SecretStr

from compiler_pool.frame import KeyRing
from compiler_pool.tokenizer import BoundTokenizer
from inference_node.engine import TorchEngine, load_engine
from inference_node.grammar import Prototype
from inference_node.metrics import NodeMetrics
from inference_node.protocol import Finish, GenerateEvent, TokenEvent
from inference_node.sampling import SamplingChoice
from inference_node.sequence import DecodingSequence, SequenceRequest
from inference_node.settings import NodeSettings
from inference_node.step_loop import StepLoop
from policy.limits import TENANT

_PATIENCE_SECONDS = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request; `grammar` None: unconstrained."""

    prompt_ids: Sequence[int]
    grammar: str | None
    choice: SamplingChoice
    max_tokens: int


@dataclass(slots=True)
class Answer:
    """What came. A sink that waits for the end."""

    token_ids: list[int] = field(default_factory=list)
    text: str = ""
    finish: Finish | None = None
    _ended: Event = field(default_factory=Event)

    def put(self, event: GenerateEvent) -> None:
        match event:
            case TokenEvent():
                self.token_ids += event.token_ids
                self.text += event.text
            case Finish():
                self.finish = event
                self._ended.set()

    def ended(self) -> Finish:
        """Wait for it."""
        assert self._ended.wait(_PATIENCE_SECONDS), "a sequence does not end"
        assert self.finish is not None
        return self.finish


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoding:
    """A running loop and what its requests need."""

    loop: StepLoop
    tokenizer: BoundTokenizer
    context_tokens: int

    @classmethod
    def by(cls, engine: TorchEngine) -> Self:
        """The loop of an engine."""
        return cls(loop=engine.loop, tokenizer=engine.tokenizer, context_tokens=engine.identity.context_tokens)


@contextmanager
def running_engine(
    directory: Path, *, draft: str, dtype: str, max_sequences: int, context_tokens: int, max_drafts: int = 7
) -> Iterator[TorchEngine]:
    """As a node's process loads it."""
    settings = NodeSettings(
        model_dir=directory,
        artifact_keys=SecretStr("bench:" + "00" * 32),
        device="cpu",
        dtype="bfloat16" if dtype == "bfloat16" else "float32",
        max_sequences=max_sequences,
        context_tokens=context_tokens,
        draft=draft,
        max_drafts=max_drafts,
    )
    ring = KeyRing.from_text(settings.artifact_keys.get_secret_value())
    engine = load_engine(settings, ring, NodeMetrics(), lambda line: print(f"  {line}", flush=True))
    try:
        yield engine
    finally:
        assert engine.loop.stop(timeout_seconds=60)


def decode(engine: Decoding, asked: Sequence[Asked], *, batch: int, drafts: bool) -> tuple[list[Answer], float]:
    """The answers in order, so many at a time, and the seconds that decoding them took."""
    grammars = {one.grammar for one in asked if one.grammar is not None}
    prototypes = {grammar: Prototype.build(engine.tokenizer, grammar, TENANT.engine) for grammar in sorted(grammars)}
    answers: list[Answer] = []
    started = perf_counter()
    for first in range(0, len(asked), batch):
        group = [_submitted(engine, one, prototypes, drafts=drafts) for one in asked[first : first + batch]]
        for answer in group:
            answer.ended()
        answers += group
    return answers, perf_counter() - started


def _submitted(engine: Decoding, one: Asked, prototypes: dict[str, Prototype], *, drafts: bool) -> Answer:
    answer = Answer()
    request = SequenceRequest(
        request_id="benchmark",
        prompt_ids=one.prompt_ids,
        choice=one.choice,
        max_tokens=one.max_tokens,
        stop_strings=(),
        matcher=None if one.grammar is None else prototypes[one.grammar].matcher(),
        may_draft=drafts,
    )
    sequence = DecodingSequence(request, engine.tokenizer, answer, context_tokens=engine.context_tokens)
    engine.loop.submit(sequence)
    return answer
