"""A running loop for tests: the real engine over whatever model it is given."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Condition
from typing import Any

import torch

from compiler_pool.artifact import Artifact, ArtifactAddress, TokenizerDigest
from compiler_pool.tokenizer import BoundTokenizer
from inference_node.cpu_runner import CpuRunner
from inference_node.decoder import Decoder
from inference_node.drafting.source import DraftSource
from inference_node.engine import assemble_loop
from inference_node.grammar import Prototype
from inference_node.matcher import GrammarMatcher
from inference_node.metrics import NodeMetrics
from inference_node.model_runner import ModelRunner
from inference_node.protocol import Finish, GenerateEvent, Started, TokenEvent
from inference_node.sampling import SamplingChoice
from inference_node.sequence import DecodingSequence
from inference_node.sequence_request import SequenceRequest
from inference_node.step_loop import StepLoop
from inference_node.step_plan import StepLimits
from policy.limits import TENANT, EngineBudget
from registry.contract import ContractDigest
from tests.inference_node.model_worlds import new_cache

DEADLINE_SECONDS = 60.0


@dataclass(slots=True)
class Collector:
    """A sink that keeps what it gets and lets a test wait for the end."""

    events: list[GenerateEvent] = field(default_factory=list)
    _changed: Condition = field(default_factory=Condition)

    def put(self, event: GenerateEvent) -> None:
        with self._changed:
            self.events.append(event)
            self._changed.notify_all()

    def finish(self) -> Finish:
        """Wait for the last event."""
        with self._changed:
            assert self._changed.wait_for(
                lambda: bool(self.events) and isinstance(self.events[-1], Finish), DEADLINE_SECONDS
            ), "no finish event"
            last = self.events[-1]
            assert isinstance(last, Finish)
            return last

    def wait_for_tokens(self, count: int) -> None:
        """Wait until so many tokens have come."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.token_ids) >= count, DEADLINE_SECONDS), "too few tokens"

    @property
    def text(self) -> str:
        return "".join(event.text for event in self.events if isinstance(event, TokenEvent))

    @property
    def token_ids(self) -> list[int]:
        return [token for event in self.events if isinstance(event, TokenEvent) for token in event.token_ids]

    @property
    def is_well_formed(self) -> bool:
        """Started, then tokens, then one finish."""
        kinds = [type(event) for event in self.events]
        return kinds[0] is Started and kinds[-1] is Finish and set(kinds[1:-1]) <= {TokenEvent}


def on_cpu(decoder: Decoder, *, num_blocks: int = 256) -> CpuRunner:
    """A decoder with an empty cache, as the step loop asks for it."""
    return CpuRunner(decoder, new_cache(decoder, num_blocks=num_blocks))


@contextmanager
def running_loop(
    runner: ModelRunner,
    tokenizer: BoundTokenizer,
    *,
    max_sequences: int = 8,
    max_waiting: int = 64,
    chunk_tokens: int = 64,
    max_rows: int = 128,
    num_blocks: int = 256,
    partition_share: float = 1.0,
    num_mask_threads: int = 2,
    max_drafts: int = 4,
    drafts: DraftSource | None = None,
) -> Iterator[StepLoop]:
    """A step loop that is stopped at the end."""
    loop = assemble_loop(
        runner,
        tokenizer,
        num_blocks=num_blocks,
        limits=StepLimits(
            max_waiting=max_waiting,
            partition_share=partition_share,
            max_sequences=max_sequences,
            chunk_tokens=chunk_tokens,
            max_rows=max_rows,
            max_drafts=max_drafts if drafts is not None else 0,
        ),
        num_mask_threads=num_mask_threads,
        device=torch.device("cpu"),
        dtype=torch.float32,
        metrics=NodeMetrics(),
        drafts=drafts,
    )
    loop.start()
    try:
        yield loop
    finally:
        assert loop.stop(timeout_seconds=DEADLINE_SECONDS)


def new_sequence(
    tokenizer: BoundTokenizer,
    collector: Collector,
    prompt: str | Sequence[int],
    *,
    grammar: str | GrammarMatcher | None = None,
    budget: EngineBudget = TENANT.engine,
    temperature: float = 0.0,
    top_p: float = 1.0,
    seed: int = 0,
    max_tokens: int | None = 32,
    stop: Sequence[str] = (),
    context_tokens: int = 512,
    num_top_logprobs: int | None = None,
    top_k: int = 0,
    damping: float = 0.0,
    partition: str = "",
    request_id: str = "test",
) -> DecodingSequence:
    """A sequence over a prompt's own tokens, without a template."""
    matcher = Prototype.build(tokenizer, grammar, budget).matcher() if isinstance(grammar, str) else grammar
    prompt_ids = tokenizer.encode_exact(prompt.encode()) if isinstance(prompt, str) else list(prompt)
    request = SequenceRequest(
        request_id=request_id,
        prompt_ids=prompt_ids,
        choice=SamplingChoice(temperature=temperature, top_p=top_p, seed=seed, top_k=top_k, damping=damping),
        max_tokens=max_tokens,
        stop_strings=stop,
        matcher=matcher,
        num_top_logprobs=num_top_logprobs,
        partition=partition,
    )
    return DecodingSequence(request, tokenizer, collector, context_tokens=context_tokens)


def new_artifact(tokenizer_digest: str, grammar: str, **changes: Any) -> Artifact:
    """An artifact as the compiler would make it."""
    address = {
        "contract_digest": ContractDigest("sha256:" + "0" * 64),
        "tokenizer_digest": TokenizerDigest(tokenizer_digest),
        "engine": "llguidance",
        "engine_version": "1.9.1",
        "lowering_version": "test",
        "policy_digest": "0" * 64,
        "limits": "tenant",
        "tenant_partition": "test",
    } | changes
    return Artifact(
        address=ArtifactAddress(**address),
        grammar=grammar,
        engine_budget=TENANT.engine,
        report=(),
        compile_ms=1.0,
        cpu_ms=1.0,
    )


def eventually(condition: Any, *, seconds: float = DEADLINE_SECONDS) -> None:
    """Poll until it is so."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.01)
