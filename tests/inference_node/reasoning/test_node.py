"""Thoughts over HTTP: whose template knows of them, whose does not, and whose cannot be read."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from compiler_pool.tokenizer import BoundTokenizer
from inference_node.errors import NodeFaultError
from inference_node.protocol import Finish, GenerateEvent, ReasoningSpan, Sampling, TokenEvent
from tests.inference_node.model_worlds import tiny_config, write_model
from tests.inference_node.reasoning.test_prompts import ALWAYS, SWITCHED
from tests.inference_node.service_worlds import OBJECT, client_of, collect, request, serving, store


def with_template(directory: Path, model_directory: Path, template: str) -> Path:
    model = write_model(directory / "thinker", model_directory, tiny_config())
    config = json.loads((model / "tokenizer_config.json").read_text()) | {"chat_template": template}
    (model / "tokenizer_config.json").write_text(json.dumps(config))
    return model


@pytest.fixture(scope="module", params=[SWITCHED, ALWAYS], ids=["switched", "always"])
def thinker_url(
    request: pytest.FixtureRequest, model_directory: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    with serving(with_template(tmp_path_factory.mktemp("think"), model_directory, request.param)) as (base_url, _):
        yield base_url


def split(events: list[GenerateEvent]) -> tuple[str, str, Finish]:
    tokens = [event for event in events if isinstance(event, TokenEvent)]
    finish = events[-1]
    assert isinstance(finish, Finish)
    assert finish.usage.completion_tokens == sum(len(event.token_ids) for event in tokens)
    thought = "".join(event.text for event in tokens if event.is_thought)
    return thought, "".join(event.text for event in tokens if not event.is_thought), finish


@pytest.mark.parametrize("budget_tokens", [0, 7])
async def test_a_budget_is_kept_and_the_contract_holds_after_it(
    thinker_url: str, tokenizer: BoundTokenizer, budget_tokens: int
) -> None:
    async with client_of(thinker_url) as client:
        assert (await client.identity()).reasoning == "think"
        key = await store(client, tokenizer, OBJECT)
        ask = request(artifact_key=key, reasoning=ReasoningSpan(budget_tokens=budget_tokens), max_tokens=64)
        thought, answer, finish = split(await collect(client, ask))
    assert re.fullmatch(r'\{"a":[0-9]{1,4}\}', answer)
    assert finish.reasoning is not None
    assert (finish.accepting, finish.reasoning.state) == (True, "budget")
    assert bool(thought) is (budget_tokens > 0)


async def test_without_a_wish_the_answer_begins_at_once(thinker_url: str, tokenizer: BoundTokenizer) -> None:
    async with client_of(thinker_url) as client:
        key = await store(client, tokenizer, OBJECT)
        thought, answer, finish = split(await collect(client, request(artifact_key=key, max_tokens=64)))
    assert (thought, finish.reasoning, finish.accepting) == ("", None, True)
    assert answer.startswith('{"a":')


async def test_a_thought_without_a_budget_may_take_all_tokens_and_is_told_so(thinker_url: str) -> None:
    ask = request(reasoning=ReasoningSpan(), max_tokens=12, sampling=Sampling(temperature=0.0, seed=1))
    async with client_of(thinker_url) as client:
        _, answer, finish = split(await collect(client, ask))
    assert finish.reasoning is not None
    assert (answer, finish.reasoning.state) == ("", "unfinished")
    assert finish.stop_cause in {"max_tokens", "end_of_sequence"}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "knows of no thought"),
        ({"template": "<|start|>assistant<|channel|>final<|message|>{{ messages[0].content }}"}, "`harmony`"),
    ],
    ids=["none", "harmony"],
)
async def test_where_no_thought_can_be_read_a_wish_for_one_is_refused_by_name(
    changes: dict[str, Any], said: str, model_directory: Path, tiny_directory: Path, tmp_path: Path
) -> None:
    directory = with_template(tmp_path, model_directory, changes["template"]) if changes else tiny_directory
    with serving(directory) as (base_url, _):
        async with client_of(base_url) as client:
            with pytest.raises(NodeFaultError, match=said) as caught:
                await collect(client, request(reasoning=ReasoningSpan()))
            identity = await client.identity()
    assert (caught.value.status, caught.value.fault.code) == (400, "reasoning_unsupported")
    assert identity.reasoning == ("harmony" if changes else None)
