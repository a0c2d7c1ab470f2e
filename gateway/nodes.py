"""Inference nodes: who is there, which of them may serve a request, and how one is opened.

A node serves a request only if its tokenizer digest is the one that the contract was compiled for. Before a node's
first event nothing has been decoded, so another node may be tried; after it, never.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Protocol

import structlog

from compiler_pool.artifact import ArtifactKey, TokenizerDigest
from gateway.backends.events import UpstreamEvent
from gateway.errors import BackendError, ModelNotFoundError, NodeLostError, NodeRefusedError, NoNodeError
from gateway.stages import Stage, StageClock
from inference_node.client import NodeClient
from inference_node.errors import NodeFaultError, NodeUnavailableError
from inference_node.protocol import GenerateEvent, GenerateRequest, NodeIdentity, Started
from inference_node.tool_dialects.choosing import TOOL_DIALECTS
from policy.serving_plan import Capability

_log = structlog.get_logger(__name__)

IDENTITY_SECONDS = 3.0
"""How long a node may take to say who it is."""
_MAX_SILENT_POLLS = 2
"""A node that is busy may be late once; a node that refuses the connection is down at once."""
_RETRY_SECONDS = 1.0
_ANOTHER_NODE_MAY = frozenset({"overloaded", "draining", "not_ready", "tokenizer_mismatch", "artifact_required"})
"""`artifact_required` gets this far only from a node that was given the artifact and does not keep it."""
_MAX_PUTS = 2
"""A node may lose an artifact to others' before it is used; one that loses it twice is too short of memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOffer:
    """A model that can be asked for now, and for which tokenizer contracts have to be compiled."""

    model: str
    tokenizer_digest: TokenizerDigest | None
    """None where the backend decodes under no grammar: nothing is compiled for it."""
    context_tokens: int
    engine: str
    engine_version: str
    capability: Capability = Capability.GRAMMAR
    reasoning: str | None = None
    """How the model frames a thought before its answer; None: it has no framing of its own."""
    tool_dialect: str = "neutral"
    """How the model spells calls of tools."""

    @property
    def compiled_for(self) -> TokenizerDigest:
        """The tokenizer of an offer whose capability is `GRAMMAR`."""
        assert self.tokenizer_digest is not None, "nothing is compiled for a backend without a grammar"
        return self.tokenizer_digest


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedArtifact:
    """What a node needs to decode under a contract: the frame, under its key."""

    key: ArtifactKey
    frame: bytes


class Server(Protocol):
    """Who decodes, as answers tell it."""

    @property
    def model(self) -> str:
        """What callers ask for."""
        ...

    @property
    def engine(self) -> str:
        """What decodes."""
        ...

    @property
    def engine_version(self) -> str:
        """Which of it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenSequence:
    """A sequence that holds its place on a node, or an answer of another backend. `events` goes on after `started`."""

    identity: Server
    started: Started
    events: AsyncIterator[GenerateEvent | UpstreamEvent]


@dataclass(slots=True, kw_only=True, eq=False)
class Node:
    """What is known of one node. `identity` is its last answer; `is_live` whether it still holds."""

    client: NodeClient
    identity: NodeIdentity | None = None
    is_live: bool = False
    num_open: int = 0
    num_silent: int = 0
    why_down: str = "not asked yet"
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def refresh(self) -> None:
        """Ask the node who it is."""
        async with self._lock:
            try:
                async with asyncio.timeout(IDENTITY_SECONDS):
                    identity = await self.client.identity()
            except TimeoutError:
                self.num_silent += 1
                if self.num_silent >= _MAX_SILENT_POLLS:
                    self.mark_down("does not answer")
            except NodeUnavailableError as error:
                self.mark_down(error.reason)
            except NodeFaultError as error:
                self.mark_down(error.fault.code)
            else:
                if identity.tool_dialect not in TOOL_DIALECTS:
                    self.mark_down("its spelling of tool calls is not known to this gateway")
                    return
                self.num_silent = 0
                if not self.is_live:
                    _log.info("node is live", node=self.client.base_url, model=identity.model)
                self.identity, self.is_live, self.why_down = identity, True, ""

    def mark_down(self, why: str) -> None:
        """Take no further requests there until it answers again."""
        if self.is_live:
            _log.warning("node is down", node=self.client.base_url, why=why)
        self.is_live, self.why_down = False, why


class NodeDirectory:
    """All nodes. Calling order: `refresh` now and then; `offer`, then `open` for each request."""

    def __init__(self, clients: Sequence[NodeClient]) -> None:
        self.nodes = tuple(Node(client=client) for client in clients)

    async def refresh(self) -> None:
        """Ask every node at once."""
        async with asyncio.TaskGroup() as group:
            for node in self.nodes:
                group.create_task(node.refresh())

    def offers(self) -> tuple[ModelOffer, ...]:
        """One offer a model, of its first live node."""
        offers: dict[str, ModelOffer] = {}
        for node in self.nodes:
            if node.is_live and node.identity is not None:
                offers.setdefault(node.identity.model, _offer(node.identity))
        return tuple(offers.values())

    @property
    def known_models(self) -> frozenset[str]:
        """The models of all nodes that have ever said who they are."""
        return frozenset(node.identity.model for node in self.nodes if node.identity is not None)

    def offer(self, model: str, compilable: frozenset[str] | None = None) -> ModelOffer:
        """The offer of `model`, preferring a tokenizer in `compilable`.

        Raises:
            ModelNotFoundError: every node has been heard, and none serves it.
            NoNodeError: it may exist, but no live node serves it.
        """
        known = [node for node in self.nodes if node.identity is not None and node.identity.model == model]
        live = [node.identity for node in known if node.is_live and node.identity is not None]
        if live:
            preferred = [each for each in live if compilable is not None and each.tokenizer_digest in compilable]
            return _offer((preferred or live)[0])
        if not known and all(node.identity is not None for node in self.nodes):
            raise ModelNotFoundError(model, offered=tuple(offer.model for offer in self.offers()))
        raise NoNodeError("no inference node serves this model now; ask again", retry_after_seconds=_RETRY_SECONDS)

    @asynccontextmanager
    async def open(
        self, offer: ModelOffer, request: GenerateRequest, artifact: SignedArtifact | None, clock: StageClock
    ) -> AsyncIterator[OpenSequence]:
        """Begin to decode on the least busy node that may; leaving the block ends the sequence.

        Waiting for the node's first event is decoding (the node may queue); handing it an artifact is routing.

        Raises:
            NoNodeError: no live node has this model with this tokenizer.
            NodeRefusedError: a node refused, and no other may do better.
            NodeLostError: the last node that could be tried went away before its first event.
        """
        failure: BackendError = NoNodeError(
            "no inference node serves this model now; ask again", retry_after_seconds=_RETRY_SECONDS
        )
        with clock.time(Stage.ROUTE):
            candidates = self._candidates(offer)
        for node in candidates:
            async with AsyncExitStack() as stack:
                node.num_open += 1
                stack.callback(_closed, node)
                try:
                    opened = await _begin(node, request, artifact, stack, clock)
                except NodeUnavailableError as error:
                    node.mark_down(error.reason)
                    failure = NodeLostError()
                    continue
                except NodeFaultError as error:
                    failure = NodeRefusedError(error.fault)
                    if error.fault.code in _ANOTHER_NODE_MAY:
                        continue
                    raise failure from error
                yield opened
                return
        raise failure

    def _candidates(self, offer: ModelOffer) -> list[Node]:
        able = [
            node
            for node in self.nodes
            if node.is_live
            and node.identity is not None
            and node.identity.model == offer.model
            and node.identity.tokenizer_digest == offer.tokenizer_digest
            # What the answer is read by: another spelling would be taken for words.
            and (node.identity.reasoning, node.identity.tool_dialect) == (offer.reasoning, offer.tool_dialect)
        ]
        return sorted(able, key=lambda node: node.num_open)


async def _begin(
    node: Node, request: GenerateRequest, artifact: SignedArtifact | None, stack: AsyncExitStack, clock: StageClock
) -> OpenSequence:
    for _ in range(_MAX_PUTS):
        try:
            with clock.time(Stage.DECODE):
                return await _first_event(node, request, stack)
        except NodeFaultError as error:
            if error.fault.code != "artifact_required" or artifact is None:
                raise
        with clock.time(Stage.ROUTE):
            await node.client.put_artifact(artifact.key, artifact.frame)
    with clock.time(Stage.DECODE):
        return await _first_event(node, request, stack)


async def _first_event(node: Node, request: GenerateRequest, stack: AsyncExitStack) -> OpenSequence:
    events = await stack.enter_async_context(node.client.generate(request))
    started = await anext(events, None)
    if not isinstance(started, Started):
        raise NodeUnavailableError(base_url=node.client.base_url, reason="the first event is not `started`")
    assert node.identity is not None
    return OpenSequence(identity=node.identity, started=started, events=_watched(node, events))


async def _watched(node: Node, events: AsyncIterator[GenerateEvent]) -> AsyncIterator[GenerateEvent]:
    try:
        async for event in events:
            yield event
    except NodeUnavailableError as error:
        node.mark_down(error.reason)
        raise


def _closed(node: Node) -> None:
    node.num_open -= 1


def _offer(identity: NodeIdentity) -> ModelOffer:
    return ModelOffer(
        model=identity.model,
        tokenizer_digest=TokenizerDigest(identity.tokenizer_digest),
        context_tokens=identity.context_tokens,
        engine=identity.engine,
        engine_version=identity.engine_version,
        reasoning=identity.reasoning,
        tool_dialect=identity.tool_dialect,
    )
