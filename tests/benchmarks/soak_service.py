"""A part of the soak through the node's HTTP service, with the client that a gateway uses."""

import asyncio
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from compiler_pool.frame import seal
from compiler_pool.tokenizer import BoundTokenizer
from inference_node.client import NodeClient
from inference_node.errors import NodeFaultError
from inference_node.model_config import read_model_config
from inference_node.node import Node
from inference_node.protocol import (
    ChatMessage,
    Finish,
    GenerateEvent,
    GenerateRequest,
    PrefixRequest,
    Sampling,
    TokenEvent,
)
from tests.benchmarks.soak_asks import Ask, SoakContract, ask
from tests.benchmarks.soak_judging import SoakJudge, Told, Wish, shape_fault
from tests.benchmarks.soak_ledger import bank_faults, loop_faults
from tests.benchmarks.soak_loops import PARTITIONS
from tests.inference_node.adapters.adapter_worlds import new_adapter
from tests.inference_node.service_worlds import RING, client_of, serving
from tests.inference_node.worlds import eventually, new_artifact

_SYSTEM = "You answer with one JSON value and nothing else, and count what there is to be counted. " * 2
_AT_ONCE = 12
_PATIENCE_SECONDS = 60.0


@dataclass(slots=True, kw_only=True)
class SoakService:
    """A node that serves, and what was sent to it."""

    base_url: str
    node: Node
    directory: Path
    tokenizer: BoundTokenizer
    contracts: Sequence[SoakContract]
    judge: SoakJudge
    num_own_rows: int
    num_numbers: int
    num_requests: int = 0
    num_restored: int = 0
    num_left: int = 0

    def round(self, draw: random.Random, *, seconds: float) -> list[str]:
        """Requests for so long, and what was wrong with them or with the node after them."""
        return asyncio.run(self._round(draw, seconds))

    async def _round(self, draw: random.Random, seconds: float) -> list[str]:
        faults: list[str] = []
        async with client_of(self.base_url) as client:
            keys = {one.name: await self._put(client, one) for one in self.contracts}
            base = (await client.adapters()).base_digest
            config = read_model_config(self.directory)
            made = [new_adapter(config, seed=seed, base_digest=base) for seed in range(2)]
            for digest, body in made:
                await client.put_adapter(digest, body)
            adapters = [digest for digest, _ in made]
            prefix = PrefixRequest(
                messages=[ChatMessage(role="system", content=_SYSTEM)], partition=draw.choice(PARTITIONS)
            )
            pinned = await client.pin_prefix("soak", prefix)
            ends_at = asyncio.get_running_loop().time() + seconds

            async def worker(seed: int) -> None:
                own = random.Random(seed)
                while asyncio.get_running_loop().time() < ends_at:
                    async with asyncio.timeout(_PATIENCE_SECONDS):
                        faults.extend(await self._one(client, own, keys, adapters))

            await asyncio.gather(*(worker(draw.getrandbits(32)) for _ in range(_AT_ONCE)))
            await client.unpin_prefix(pinned.name)
            if draw.random() < 0.5:
                for digest in adapters:
                    await client.remove_adapter(digest)
        return [*faults, *self._idle_faults()]

    async def _one(
        self, client: NodeClient, draw: random.Random, keys: dict[str, str], adapters: Sequence[str]
    ) -> list[str]:
        asked = ask(draw.randrange(self.num_numbers), self.tokenizer, self.contracts, max_tokens=48, num_adapters=2)
        request = self._request(asked, draw, keys, adapters)
        wish, told = Wish(), Told()
        leaves_after = draw.randint(0, 20) if draw.random() < 0.15 else None
        saves_after = draw.randint(0, 15) if draw.random() < 0.2 else None
        self.num_requests += 1
        try:
            events, data = await self._read(client, request, told, wish, at=(leaves_after, saves_after))
        except NodeFaultError as error:
            return [] if error.fault.code == "overloaded" else [f"refused: {error.fault}"]
        if wish.is_cancelled:  # it left
            self.num_left += 1
            return []
        fault = shape_fault(events)
        if fault is None and data:
            async with client.restore(data, request_id=f"{request.request_id} again") as stream:
                again = [event async for event in stream]
            self.num_restored += 1
            fault = shape_fault(again)
            for event in again:
                told.add(event)
            wish.is_saved = False
        return [fault] if fault is not None else self.judge.faults("service", asked, told, wish)

    async def _read(
        self,
        client: NodeClient,
        request: GenerateRequest,
        told: Told,
        wish: Wish,
        *,
        at: tuple[int | None, int | None],
    ) -> tuple[list[GenerateEvent], bytes]:
        events: list[GenerateEvent] = []
        data = b""
        leaves_after, saves_after = at
        async with client.generate(request) as stream:
            async for event in stream:
                events.append(event)
                told.add(event)
                count = len(told.token_ids)
                if isinstance(event, Finish):
                    break
                if leaves_after is not None and count >= leaves_after:
                    wish.is_cancelled = True
                    break
                if isinstance(event, TokenEvent) and saves_after is not None and count >= saves_after and not data:
                    with suppress(NodeFaultError):  # it is over
                        data = await client.save(request.request_id)
                        wish.is_saved = True
        return events, data

    def _request(
        self, asked: Ask, draw: random.Random, keys: dict[str, str], adapters: Sequence[str]
    ) -> GenerateRequest:
        return GenerateRequest(
            request_id=f"soak/{self.num_requests}",
            messages=[
                *([ChatMessage(role="system", content=_SYSTEM)] if asked.number % 2 else []),
                ChatMessage(role="user", content=asked.prompt_text),
            ],
            artifact_key=None if asked.contract is None else keys[asked.contract.name],
            sampling=Sampling(
                temperature=asked.choice.temperature,
                top_p=asked.choice.top_p,
                top_k=asked.choice.top_k,
                seed=asked.choice.seed,
                repetition_damping=asked.choice.damping,
            ),
            max_tokens=asked.max_tokens,
            stop=list(asked.stop),
            top_logprobs=asked.num_top_logprobs,
            partition=draw.choice(PARTITIONS),
            adapter=None if asked.adapter is None else adapters[asked.adapter],
            drafts=draw.random() < 0.7,
        )

    async def _put(self, client: NodeClient, contract: SoakContract) -> str:
        digest = "sha256:" + sha256(contract.name.encode()).hexdigest()
        artifact = new_artifact(self.tokenizer.digest, contract.grammar, contract_digest=digest)
        artifact = replace(artifact, engine_budget=contract.budget)
        await client.put_artifact(artifact.key, seal(artifact, RING))
        return artifact.key

    def _idle_faults(self) -> list[str]:
        engine = self.node._engine
        assert engine is not None
        loop = engine.loop
        eventually(lambda: loop._is_idle and not self.node._num_open)

        def look() -> list[str]:
            return loop_faults(loop, loop._seating.rows, loop._masks, num_own_rows=self.num_own_rows)

        # What was cancelled last may have a mask that is still being filled.
        eventually(lambda: not loop._seating._held)
        return [f"service: {fault}" for fault in [*loop.between_steps(look).result(60), *bank_faults(engine.adapters)]]


@contextmanager
def soak_service(
    directory: Path,
    tokenizer: BoundTokenizer,
    contracts: Sequence[SoakContract],
    judge: SoakJudge,
    *,
    num_numbers: int,
) -> Iterator[SoakService]:
    """A node with drafts, and with fewer blocks than its sequences would like."""
    settings = {"draft": "prompt_lookup", "max_sequences": 6, "kv_budget_bytes": 1 << 20, "context_tokens": 448}
    with serving(directory, **settings, num_threads=1) as (base_url, node):
        engine = node._engine
        assert engine is not None, node.not_ready_reason
        yield SoakService(
            base_url=base_url,
            node=node,
            directory=directory,
            tokenizer=tokenizer,
            contracts=contracts,
            judge=judge,
            num_own_rows=len(engine.loop._seating.rows._taken),
            num_numbers=num_numbers,
        )
