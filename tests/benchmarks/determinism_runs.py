"""What `determinism` runs: prompts under contracts, and a node of its own for each way of running them."""

import asyncio
import json
import random
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from compiler_pool.compiler import CompiledContract, compile_contract
from compiler_pool.frame import KeyRing, seal
from compiler_pool.tokenizer import BoundTokenizer, load_tokenizer
from inference_node.errors import RefusedRequestError
from inference_node.node import Node
from inference_node.opening import OpenStream
from inference_node.protocol import ChatMessage, Finish, GenerateEvent, GenerateRequest, Sampling, TokenEvent
from inference_node.settings import NodeSettings
from inference_node.snapshots.protocol import KeysValuesChoice
from policy.enforcement import EnforcementPolicy
from policy.limits import TENANT
from registry.json_schema import read_json_schema
from registry.parsing import parse_json
from tests.inference_node.worlds import new_artifact

KEYS: Final = "bench:" + "5e" * 32
CONTEXT_TOKENS: Final = 384

TOPICS: Final = (
    "a lighthouse", "two brothers", "the first snow", "an old map", "a slow train", "the fish market", "bees in June",
    "a broken clock", "the night shift", "a letter from Lisbon",
)  # fmt: skip
FRAMINGS: Final = (
    "Describe {}.",
    "You are given notes on {}. Fill in the record, and leave nothing out. Notes: it was late, it was cold, 3 of 12.",
    "Here is what is known about {}: it is 27 years old, weighs 1450 kg, costs 99 EUR and opens at 08:30 on weekdays; "
    "the keeper is Maria Silva, born 1961-04-12, telephone +351 21 340 0000; the second keeper is unknown. " * 2,
    "Return JSON about {}.",
    "Continue, as if nothing had happened, the story of {}. " + "It went on, and nobody stopped to ask why. " * 6,
)  # fmt: skip
SCHEMAS: Final[tuple[Mapping[str, Any] | None, ...]] = (
    None,
    {
        "type": "object",
        "properties": {
            "name": {"type": "string", "maxLength": 24},
            "age": {"type": "integer", "minimum": 0, "maximum": 150},
            "alive": {"type": "boolean"},
        },
        "required": ["name", "age", "alive"],
        "additionalProperties": False,
    },
    {"enum": ["red", "green", "blue", "ultraviolet", "none of these"]},
    {"type": "array", "items": {"type": "integer", "minimum": -99, "maximum": 9999}, "minItems": 3, "maxItems": 8},
    {
        "type": "object",
        "properties": {
            "title": {"type": "string", "minLength": 3, "maxLength": 40},
            "place": {
                "type": "object",
                "properties": {"city": {"type": "string", "maxLength": 16}, "open": {"type": "boolean"}},
                "required": ["city"],
                "additionalProperties": False,
            },
            "tags": {"type": "array", "items": {"enum": ["sea", "land", "air"]}, "maxItems": 3},
        },
        "required": ["title", "place"],
        "additionalProperties": False,
    },
    {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2} [a-z]{3,12}$"},
    {
        "oneOf": [
            {
                "type": "object",
                "properties": {"kind": {"const": "price"}, "amount": {"type": "number", "minimum": 0}},
                "required": ["kind", "amount"],
                "additionalProperties": False,
            },
            {
                "type": "object",
                "properties": {"kind": {"const": "note"}, "text": {"type": "string", "maxLength": 60}},
                "required": ["kind", "text"],
                "additionalProperties": False,
            },
        ]
    },
)
SAMPLINGS: Final[tuple[Mapping[str, Any], ...]] = (
    {"temperature": 0},
    {"temperature": 1.0},
    {"temperature": 0.7, "top_p": 0.9},
    {"temperature": 0, "repetition_damping": 1.0},
    {"temperature": 1.2, "top_k": 40},
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Variation:
    """One way of running the same requests; `order` shuffles them by a seed, `pause_seconds` lies between arrivals."""

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    order: int | None = None
    pause_seconds: float = 0.0
    has_drafts: bool = False
    is_apart: bool = False
    """Each request in a partition of its own, which shares no prompt with others."""


@dataclass(slots=True, kw_only=True)
class Said:
    """What came of one request."""

    token_ids: list[int] = field(default_factory=list)
    text: str = ""
    finish: Finish | None = None

    def add(self, event: GenerateEvent) -> None:
        if isinstance(event, TokenEvent):
            self.token_ids += event.token_ids
            self.text += event.text
        elif isinstance(event, Finish):
            self.finish = event

    def outcome(self) -> dict[str, Any]:
        """All that has to be equal."""
        assert self.finish is not None
        return {
            "token_ids": self.token_ids,
            "text": self.text,
            "stop_cause": self.finish.stop_cause,
            "accepting": self.finish.accepting,
            "usage": self.finish.usage.model_dump(),
        }


class Workload:
    """The requests, and the artifacts that they need."""

    def __init__(self, directory: Path, *, num_requests: int, max_tokens: int) -> None:
        self.tokenizer: Final[BoundTokenizer] = load_tokenizer(directory)
        self.frames: Final = [self._frame(number) for number in range(len(SCHEMAS))]
        self.requests: Final = [self._request(number, max_tokens) for number in range(num_requests)]

    def _frame(self, number: int) -> tuple[str, bytes] | None:
        schema = SCHEMAS[number]
        if schema is None:
            return None
        policy = EnforcementPolicy()
        parsed = parse_json(json.dumps(schema), max_bytes=1 << 16, max_nesting=32)
        text = read_json_schema(parsed, limits=TENANT.contract, policy=policy).text
        compiled = compile_contract("json_schema", text, tokenizer=self.tokenizer, policy=policy, limits=TENANT)
        assert isinstance(compiled, CompiledContract), f"contract {number} was refused: {compiled}"
        artifact = new_artifact(self.tokenizer.digest, compiled.grammar, lowering_version=f"contract {number}")
        return artifact.key, seal(artifact, KeyRing.from_text(KEYS))

    def _request(self, number: int, max_tokens: int) -> GenerateRequest:
        frame = self.frames[number % len(self.frames)]
        framing = FRAMINGS[number // len(TOPICS) % len(FRAMINGS)]
        content = framing.replace("{}", TOPICS[number % len(TOPICS)])
        return GenerateRequest(
            request_id=f"request {number}",
            messages=[ChatMessage(role="user", content=content)],
            artifact_key=None if frame is None else frame[0],
            sampling=Sampling.model_validate({"seed": number, **SAMPLINGS[number % len(SAMPLINGS)]}),
            max_tokens=max_tokens,
        )


@asynccontextmanager
async def node_of(directory: Path, workload: Workload, settings: Mapping[str, Any]) -> AsyncIterator[Node]:
    """A node that can serve the workload."""
    members = {"context_tokens": CONTEXT_TOKENS, "max_waiting": 1000, "partition_share": 1.0, **settings}
    node = Node(NodeSettings.model_validate({"artifact_keys": KEYS, "model_dir": directory, **members}))
    node.start_loading()
    try:
        await asyncio.to_thread(_wait_for, node)
        assert node.not_ready_reason is None, node.not_ready_reason
        for frame in workload.frames:
            if frame is not None:
                await node.put_artifact(*frame)
        yield node
    finally:
        await asyncio.to_thread(node.stop)


async def run(directory: Path, workload: Workload, variation: Variation) -> list[Said]:
    """All requests, in the variation's order and company."""
    said = [Said() for _ in workload.requests]
    numbers = list(range(len(said)))
    if variation.order is not None:
        random.Random(variation.order).shuffle(numbers)
    async with node_of(directory, workload, variation.settings) as node, asyncio.TaskGroup() as tasks:
        for number in numbers:
            partition = f"{number}" if variation.is_apart else ""
            changes = {"drafts": variation.has_drafts, "partition": partition}
            request = workload.requests[number].model_copy(update=changes)
            stream = await node.open_stream(request)
            tasks.create_task(_read(node, stream, said[number]))
            await asyncio.sleep(variation.pause_seconds)
    return said


async def save(
    directory: Path, workload: Workload, settings: Mapping[str, Any], choice: KeysValuesChoice
) -> tuple[list[Said], dict[int, bytes]]:
    """All requests, each taken out once it has sent a few tokens; what was said, and those that were out in time."""
    said = [Said() for _ in workload.requests]
    kept: dict[int, bytes] = {}
    async with node_of(directory, workload, settings) as node:

        async def one(number: int) -> None:
            stream = await node.open_stream(workload.requests[number])
            wanted = 1 + number % 7
            while said[number].finish is None:
                for event in await stream.outbox.next_events():
                    said[number].add(event)
                if said[number].finish is None and len(said[number].token_ids) >= wanted:
                    wanted = 1 << 30
                    # Where it has come to its end meanwhile there is nobody to save.
                    with suppress(RefusedRequestError):
                        kept[number] = await node.save(workload.requests[number].request_id, choice)
            node.close_stream(stream)

        await _all(one, range(len(said)))
    return said, kept


async def resume(
    directory: Path, workload: Workload, settings: Mapping[str, Any], kept: Mapping[int, bytes]
) -> dict[int, Said]:
    """All sequences that were saved, together."""
    said: dict[int, Said] = {}
    async with node_of(directory, workload, settings) as node:

        async def one(number: int) -> None:
            stream = await node.restore_stream(kept[number], request_id=None)
            said[number] = Said()
            await _read(node, stream, said[number])

        await _all(one, sorted(kept))
    return said


def _wait_for(node: Node) -> None:
    while node.not_ready_reason == "the model is loading":
        time.sleep(0.05)


async def _all(one: Callable[[int], Coroutine[None, None, None]], numbers: Sequence[int]) -> None:
    async with asyncio.TaskGroup() as tasks:
        for number in numbers:
            tasks.create_task(one(number))


async def _read(node: Node, stream: OpenStream, said: Said) -> None:
    while said.finish is None:
        for event in await stream.outbox.next_events():
            said.add(event)
    node.close_stream(stream)
