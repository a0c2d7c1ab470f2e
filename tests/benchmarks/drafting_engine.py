"""A running engine with a source of drafts, and requests decoded by it with drafts or without."""

import json
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from time import perf_counter
from typing import Final

import torch
from pydantic import SecretStr
from safetensors.torch import save_file

from compiler_pool.frame import KeyRing
from compiler_pool.tokenizer import BoundTokenizer
from inference_node.cpu_runner import CpuRunner
from inference_node.drafting.loading import DraftModelLimits, load_draft_source
from inference_node.drafting.step_cost import StepCost
from inference_node.engine import TorchEngine, assemble_loop, load_engine
from inference_node.grammar import Prototype
from inference_node.metrics import NodeMetrics
from inference_node.model_config import read_model_config
from inference_node.model_weights import expected_shapes, read_weights
from inference_node.protocol import Finish, GenerateEvent, TokenEvent
from inference_node.sampling import SamplingChoice
from inference_node.sequence import DecodingSequence
from inference_node.sequence_request import SequenceRequest
from inference_node.settings import NodeSettings
from inference_node.slices import Slice
from inference_node.step_loop import StepLoop
from inference_node.step_plan import StepLimits
from policy.limits import TENANT

MAX_DRAFTS: Final = 7
MAX_ROWS: Final = 128
_PATIENCE_SECONDS: Final = 600.0


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


@dataclass(slots=True)
class CountedRunner:
    """A runner that counts its passes: what drafts save whatever else the machine does."""

    inner: CpuRunner
    num_passes: int = 0
    looks_ahead: bool = False
    reuses_logits: bool = False

    def forward(self, slices: Sequence[Slice], ahead: torch.Tensor | None = None) -> torch.Tensor:
        """As `ModelRunner` says."""
        self.num_passes += 1
        return self.inner.forward(slices, ahead)

    def read_keys_values(self, blocks: Sequence[int], num_tokens: int) -> torch.Tensor:
        """As `ModelRunner` says."""
        return self.inner.read_keys_values(blocks, num_tokens)

    def write_keys_values(self, blocks: Sequence[int], keys_values: torch.Tensor) -> None:
        """As `ModelRunner` says."""
        self.inner.write_keys_values(blocks, keys_values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoding:
    """A running loop and what its requests need."""

    loop: StepLoop
    runner: CountedRunner
    tokenizer: BoundTokenizer
    context_tokens: int


@contextmanager
def running_engine(directory: Path, *, dtype: str, context_tokens: int, max_sequences: int) -> Iterator[TorchEngine]:
    """As a node's process loads it, without drafts."""
    settings = NodeSettings(
        model_dir=directory,
        artifact_keys=SecretStr("bench:" + "00" * 32),
        device="cpu",
        dtype="bfloat16" if dtype == "bfloat16" else "float32",
        max_sequences=max_sequences,
        context_tokens=context_tokens,
        # So that the padding of rows that is measured holds for drafts as well.
        draft="prompt_lookup",
        max_drafts=MAX_DRAFTS,
    )
    ring = KeyRing.from_text(settings.artifact_keys.get_secret_value())
    engine = load_engine(settings, ring, NodeMetrics(), told)
    assert engine.loop.stop(timeout_seconds=60)
    yield engine


@contextmanager
def drafting_loop(engine: TorchEngine, source: str, *, cost: StepCost | None) -> Iterator[Decoding]:
    """Another loop over the engine's runner, with drafts of a source; `cost` as in `load_draft_source`.

    `self` is the model itself and `layers:N` its first layers, as they are: nothing was trained.
    """
    assert isinstance(engine.runner, CpuRunner)
    cache, identity = engine.runner.cache, engine.identity
    with tempfile.TemporaryDirectory() as scratch:
        setting = source
        if source == "self":
            setting = str(engine.directory)
        elif source.startswith("layers:"):
            setting = str(first_layers(engine.directory, Path(scratch) / source.replace(":", "-"), source))
        drafts = load_draft_source(
            setting,
            tokenizer=engine.tokenizer,
            runner=engine.runner,
            device=cache.device,
            dtype=cache.dtype,
            limits=DraftModelLimits(
                context_tokens=identity.context_tokens,
                max_sequences=identity.max_sequences,
                kv_budget_bytes=1 << 30,
                max_rows=MAX_ROWS,
            ),
            progress=told,
            cost=cost,
        )
        runner = CountedRunner(engine.runner)
        loop = assemble_loop(
            runner,
            engine.tokenizer,
            num_blocks=cache.num_blocks,
            limits=StepLimits(
                max_waiting=64,
                partition_share=1.0,
                max_sequences=identity.max_sequences,
                chunk_tokens=64,
                max_rows=MAX_ROWS,
                max_drafts=MAX_DRAFTS,
            ),
            num_mask_threads=2,
            device=cache.device,
            dtype=cache.dtype,
            metrics=NodeMetrics(),
            drafts=drafts,
        )
        loop.start()
        try:
            yield Decoding(loop=loop, runner=runner, tokenizer=engine.tokenizer, context_tokens=identity.context_tokens)
        finally:
            assert loop.stop(timeout_seconds=60)
        assert drafts is None or not drafts.is_off, "the source failed"


def first_layers(directory: Path, target: Path, source: str) -> Path:
    """A model of so many of the first layers, with the last norm and the head as they were."""
    num_layers = int(source.removeprefix("layers:"))
    shutil.copytree(directory, target, ignore=shutil.ignore_patterns("*.safetensors"))
    config = json.loads((directory / "config.json").read_text())
    (target / "config.json").write_text(json.dumps(config | {"num_hidden_layers": num_layers}))
    weights = read_weights(directory, read_model_config(directory))
    kept = expected_shapes(read_model_config(target))
    save_file({name: weights[name].contiguous() for name in kept}, target / "model.safetensors")
    return target


def told(line: str) -> None:
    """What loading says."""
    print(f"  {line}", flush=True)


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
