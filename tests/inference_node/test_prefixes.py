from collections.abc import Awaitable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer

from inference_node.client import NodeClient
from inference_node.errors import ChatTemplateError, NodeFaultError
from inference_node.prefixes import beginning_ids
from inference_node.prompt import PromptEncoder
from inference_node.protocol import ChatMessage, Finish, PrefixRequest, ToolOffer
from tests.inference_node.model_worlds import tiny_config, write_model
from tests.inference_node.service_worlds import client_of, collect, request, serving

PERSONA = ChatMessage(role="system", content="You are the keeper of a lighthouse, and you answer briefly. " * 3)
PLAIN = "{% for m in messages %}[{{ m.role }}] {{ m.content }}\n{% endfor %}[assistant]"
ALTERNATING = (
    "{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('turns must alternate') }}{% endif %}[{{ m.role }}] {{ m.content }}\n{% endfor %}[assistant]"
)
LAST_TURN_DIFFERS = (
    "{% for m in messages %}{% if loop.last %}(last) {% endif %}[{{ m.role }}] {{ m.content }}\n{% endfor %}[assistant]"
)


@pytest.fixture(scope="module")
def node_url(tiny_directory: Path) -> Iterator[str]:
    with serving(tiny_directory) as (base_url, _):
        yield base_url


@pytest.fixture(scope="module")
def narrow_directory(model_directory: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Keys and values of a token are 1,536 bytes, so a mebibyte is 42 blocks: a context of 512 tokens, and ten more."""
    directory = tmp_path_factory.mktemp("narrow") / "narrow"
    return write_model(directory, model_directory, tiny_config(num_hidden_layers=6))


def prefix(**changes: Any) -> PrefixRequest:
    members: dict[str, Any] = {"messages": [PERSONA]}
    return PrefixRequest(**(members | changes))


def encoder(model_directory: Path, template: str) -> PromptEncoder:
    tokenizer = Tokenizer.from_file(str(model_directory / "tokenizer.json"))
    return PromptEncoder(template=template, tokenizer=tokenizer, special_texts={})


async def cached_tokens(client: NodeClient, *messages: ChatMessage, partition: str = "") -> int:
    last = (await collect(client, request(messages=list(messages), partition=partition)))[-1]
    assert isinstance(last, Finish)
    return last.decoding.cached_prompt_tokens


async def refused(call: Awaitable[object]) -> NodeFaultError:
    with pytest.raises(NodeFaultError) as caught:
        await call
    return caught.value


def turns(*contents: str) -> list[ChatMessage]:
    return [
        ChatMessage(role="user" if place % 2 == 0 else "assistant", content=content)
        for place, content in enumerate(contents)
    ]


@pytest.mark.parametrize("template", [PLAIN, ALTERNATING, LAST_TURN_DIFFERS])
@pytest.mark.parametrize("contents", [("Good morning",), ("Good morning", "And to you"), ("a", "b", "c")])
def test_a_beginning_is_what_every_longer_prompt_begins_with(
    contents: tuple[str, ...], template: str, model_directory: Path
) -> None:
    prompts = encoder(model_directory, template)
    messages = turns(*contents)
    ids = beginning_ids(prompts, messages, [])
    longer = [*contents, "How is the light?", "Bright."]
    for num_turns in range(len(contents), len(longer) + 1):
        try:
            encoded = prompts.encode(turns(*longer[:num_turns]))
        except ChatTemplateError:
            continue
        assert encoded[: len(ids)] == ids
    num_own = len(prompts._tokenizer.encode(f"[user] {contents[0]}").ids)
    if template != LAST_TURN_DIFFERS:
        assert len(ids) >= num_own


def test_a_template_that_refuses_every_prompt_has_no_beginnings(model_directory: Path) -> None:
    prompts = encoder(model_directory, "{{ raise_exception('never') }}")
    with pytest.raises(ChatTemplateError, match="never"):
        beginning_ids(prompts, turns("a"), [])


def test_tools_are_a_part_of_the_beginning(model_directory: Path) -> None:
    prompts = encoder(model_directory, PLAIN)
    with_tool = beginning_ids(prompts, [PERSONA], [ToolOffer(name="fog_horn", parameters="{}")])
    assert with_tool != beginning_ids(prompts, [PERSONA], [])
    assert "fog_horn" in prompts._tokenizer.decode(with_tool)


async def test_a_pinned_prefix_is_found_by_whoever_may_and_by_nobody_else(node_url: str) -> None:
    ask = ChatMessage(role="user", content="Who built it?")
    async with client_of(node_url) as client:
        pinned = await client.pin_prefix("keeper", prefix(partition="ours"))
        assert (pinned.name, pinned.partition, pinned.adapter) == ("keeper", "ours", None)
        assert 32 <= pinned.pinned_tokens <= pinned.prompt_tokens
        assert pinned.pinned_tokens % 16 == 0
        assert await cached_tokens(client, PERSONA, ask, partition="ours") == pinned.pinned_tokens
        assert await cached_tokens(client, PERSONA, ask, partition="theirs") == 0
        assert (await client.pinned_prefixes()).prefixes == [pinned]
        assert await client.unpin_prefix("keeper") == pinned
        assert (await client.pinned_prefixes()).prefixes == []
        error = await refused(client.unpin_prefix("keeper"))
    assert (error.status, error.fault.code) == (404, "prefix_not_found")


async def test_what_is_pinned_stays_when_everything_else_has_to_go(narrow_directory: Path) -> None:
    other = ChatMessage(role="system", content="You mend nets by the harbour wall, and talk a lot. " * 4)
    with serving(narrow_directory, max_sequences=1, kv_budget_bytes=1 << 20) as (base_url, _):
        async with client_of(base_url) as client:
            pinned = await client.pin_prefix("keeper", prefix())
            assert await cached_tokens(client, other) == 0
            assert await cached_tokens(client, other) > 0
            for number in range(6):
                await cached_tokens(client, ChatMessage(role="user", content=f"{number} waves " * 90))
            assert await cached_tokens(client, other) == 0
            assert await cached_tokens(client, PERSONA, other) == pinned.pinned_tokens


async def test_a_name_is_pinned_once_and_again_means_instead(node_url: str) -> None:
    other = ChatMessage(role="system", content="You mend nets by the harbour wall, and talk a lot. " * 4)
    async with client_of(node_url) as client:
        first = await client.pin_prefix("one", prefix())
        second = await client.pin_prefix("one", prefix(messages=[other]))
        assert first != second
        assert (await client.pinned_prefixes()).prefixes == [second]
        await client.unpin_prefix("one")


async def test_what_cannot_be_pinned_is_refused_by_name_and_number(node_url: str) -> None:
    long = ChatMessage(role="user", content="one two " * 400)
    async with client_of(node_url) as client:
        for name in ("a/b", "a b", "x" * 65, "é"):
            assert (await refused(client.pin_prefix(name, prefix()))).fault.code == "malformed_request"
        error = await refused(client.pin_prefix("long", prefix(messages=[long])))
        assert (error.status, error.fault.code, error.fault.limit) == (400, "context_length_exceeded", 511)
        error = await refused(client.pin_prefix("adapted", prefix(adapter="sha256:none")))
        assert (error.status, error.fault.code) == (409, "adapter_required")
        assert (await client.pinned_prefixes()).prefixes == []


async def test_pins_leave_room_for_a_whole_context(narrow_directory: Path) -> None:
    with serving(narrow_directory, max_sequences=1, kv_budget_bytes=1 << 20) as (base_url, node):
        assert node._engine is not None
        pool = node._engine.loop.pool
        async with client_of(base_url) as client:
            refusals: list[NodeFaultError] = []
            for number in range(8):
                messages = [ChatMessage(role="system", content=f"{number} boats " * 20)]
                try:
                    await client.pin_prefix(f"p{number}", prefix(messages=messages))
                except NodeFaultError as error:
                    refusals.append(error)
            assert {(error.status, error.fault.code) for error in refusals} == {(409, "prefix_limit")}
            assert all((error.fault.observed or 0) > (error.fault.limit or 0) for error in refusals)
            assert 0 < pool.counts().num_pinned <= pool.num_blocks - 512 // 16
            whole = await collect(client, request(messages=turns("one two " * 100), max_tokens=None))
        assert isinstance(whole[-1], Finish)
        assert whole[-1].stop_cause in {"context_full", "end_of_sequence"}
