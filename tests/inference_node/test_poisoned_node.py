"""Over HTTP, with a contract of which some answers break the lexer: the others come out as they would alone."""

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path

from compiler_pool.frame import seal
from compiler_pool.tokenizer import BoundTokenizer
from inference_node.client import NodeClient
from inference_node.protocol import Finish, Sampling, TokenEvent, Usage
from tests.inference_node.poison import BUDGET, GRAMMAR
from tests.inference_node.service_worlds import RING, client_of, collect, request, serving
from tests.inference_node.worlds import new_artifact


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    token_ids: tuple[int, ...]
    cause: str
    accepting: bool | None
    usage: Usage


async def stored(client: NodeClient, tokenizer: BoundTokenizer, partition: str) -> str:
    artifact = new_artifact(tokenizer.digest, GRAMMAR, tenant_partition=partition)
    artifact = replace(artifact, engine_budget=BUDGET)
    await client.put_artifact(artifact.key, seal(artifact, RING))
    return artifact.key


async def ask(client: NodeClient, key: str, seed: int) -> Answer:
    sampling = Sampling(temperature=1.0, seed=seed)
    events = await collect(client, request(artifact_key=key, sampling=sampling, max_tokens=200))
    finish = events[-1]
    assert isinstance(finish, Finish)
    return Answer(
        token_ids=tuple(token for event in events if isinstance(event, TokenEvent) for token in event.token_ids),
        cause=finish.stop_cause,
        accepting=finish.accepting,
        usage=finish.usage,
    )


async def test_whoever_answers_well_alone_answers_the_same_beside_those_who_break_the_lexer(
    tiny_directory: Path, tokenizer: BoundTokenizer
) -> None:
    seeds = range(8)
    with serving(tiny_directory) as (base_url, node):
        async with client_of(base_url) as client:
            alone = [await ask(client, await stored(client, tokenizer, f"alone {seed}"), seed) for seed in seeds]
            shared = await stored(client, tokenizer, "shared")
            together = await asyncio.gather(*(ask(client, shared, seed) for seed in seeds))
        metrics = node.metrics.render().decode()
    well = [seed for seed in seeds if alone[seed].cause == "grammar_end"]
    assert len(well) >= 2
    assert {alone[seed].cause for seed in seeds} == {"grammar_end", "grammar_failed"}
    for seed in seeds:
        if seed in well:
            assert together[seed] == alone[seed]
        else:
            assert (together[seed].cause, together[seed].accepting) == ("grammar_failed", False)
    assert 'schemagate_node_replayed_sequences_total{move="beside"}' in metrics
    assert 'schemagate_node_built_prototypes_total{reason="alone"}' in metrics
