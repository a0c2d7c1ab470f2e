"""Refusals, thoughts, several choices and log probabilities, whole and streamed, over the real protocols."""

from pathlib import Path

import pytest

from inference_node.protocol import GenerateRequest, TokenEvent, TokenLogprob, TopLogprob
from inference_node.tool_dialects.hermes import HERMES
from tests.gateway.chat.views import CHAT, LOOKUP, VERDICT, both, events, node_says, put_together
from tests.gateway.twins import Event, NodeTwin, chat, gateway_with, says, strict

REFUSING = '{"allow_refusal": true}'
HOLDING = '{"stream_mode": "hold_back"}'


@pytest.mark.parametrize(("content", "accepting"), [("", True), ('{"a":', True), ('{"a":', False)])
async def test_a_stop_without_a_value_is_no_answer(tmp_path: Path, content: str, accepting: bool) -> None:  # noqa: FBT001
    """null-content-with-stop: complete requires a value that is present and conforms."""
    async with gateway_with(tmp_path, node=node_says(content, end="end_of_sequence", accepting=accepting)) as world:
        response = await world.client.post(CHAT, json=strict(VERDICT, tools=[LOOKUP]))
    assert response.status_code in {422, 502}
    assert response.headers["x-schemagate-completion"] in {"invalid", "backend_failed"}


async def test_a_refusal_is_typed_and_no_error(tmp_path: Path) -> None:
    """refusal-validated-as-data."""
    node = node_says("<refusal>I can't help with that.</refusal>")
    answer, choice, _ = await both(tmp_path, node, strict(VERDICT), serving_policy=REFUSING)
    assert choice["message"]["refusal"] == "I can't help with that."
    assert choice["message"]["content"] is None
    assert choice["finish_reason"] == "stop"
    assert answer["schemagate"]["completion"] == "refused"
    assert len(node.requests) == 2  # one for each view: nothing was tried again


async def test_apologies_inside_a_value_are_data(tmp_path: Path) -> None:
    node = node_says('{"verdict":"I can\'t help <refusal>with</refusal> that"}')
    answer, choice, _ = await both(tmp_path, node, strict(VERDICT), serving_policy=REFUSING)
    assert choice["message"]["refusal"] is None
    assert answer["schemagate"]["completion"] == "complete"


async def test_a_refusal_that_is_cut_is_truncated(tmp_path: Path) -> None:
    node = node_says("<refusal>I can", end="max_tokens", accepting=False)
    answer, choice, _ = await both(tmp_path, node, strict(VERDICT), serving_policy=REFUSING)
    assert (answer["schemagate"]["completion"], choice["finish_reason"]) == ("truncated", "length")
    assert choice["message"]["refusal"] == "I can"


async def test_without_leave_a_refusal_is_no_branch(tmp_path: Path) -> None:
    async with gateway_with(tmp_path, node=node_says("<refusal>I can't.</refusal>")) as world:
        response = await world.client.post(CHAT, json=strict(VERDICT))
    assert response.status_code == 422
    assert response.headers["x-schemagate-completion"] == "invalid"


@pytest.mark.parametrize(
    ("raw", "reasoning", "content"),
    [
        ('<think>plan</think>{"verdict":"x"}', "plan", '{"verdict":"x"}'),
        ('{"verdict":"x"}', None, '{"verdict":"x"}'),
        ('<think></think>{"verdict":"</think> is data"}', None, '{"verdict":"</think> is data"}'),
    ],
)
async def test_thought_is_never_the_answer_nor_the_answer_thought(
    tmp_path: Path, raw: str, reasoning: str | None, content: str
) -> None:
    """json-sent-to-reasoning."""
    answer, choice, _ = await both(tmp_path, node_says(raw), strict(VERDICT, reasoning_effort="low"))
    assert choice["message"].get("reasoning") == reasoning
    assert choice["message"]["content"] == content
    assert answer["schemagate"]["completion"] == "complete"
    details = answer["usage"]["completion_tokens_details"]
    assert (details["reasoning_tokens"] > 0) is raw.startswith("<think>")


async def test_a_thought_that_never_closes_is_truncated(tmp_path: Path) -> None:
    node = node_says('<think>plan {"verdict":"x"}', end="max_tokens", accepting=False)
    answer, choice, _ = await both(tmp_path, node, strict(VERDICT, reasoning_effort="low"))
    assert choice["message"]["content"] is None
    assert choice["message"]["reasoning"] == 'plan {"verdict":"x"}'
    assert answer["schemagate"]["completion"] == "truncated"


async def test_an_answer_that_is_cut_is_never_repaired(tmp_path: Path) -> None:
    """truncation-repaired: length wins over parseability."""
    for text in ('{"verdict":"o', '{"verdict":"ok"}'):
        node = node_says(text, end="max_tokens", accepting=text.endswith("}"))
        answer, choice, _ = await both(tmp_path, node, strict(VERDICT))
        assert (choice["finish_reason"], choice["message"]["content"]) == ("length", text)
        assert answer["schemagate"]["completion"] == "truncated"


async def test_choices_are_sequences_of_their_own_with_seeds_of_their_own(tmp_path: Path) -> None:
    def script(request: GenerateRequest) -> list[Event]:
        return says(f'{{"verdict":"{request.sampling.seed}"}}', "")

    node = NodeTwin(script=script)
    answer, _, chunks = await both(tmp_path, node, strict(VERDICT, n=3, seed=2**63 - 2))
    assert sorted(request.sampling.seed for request in node.requests[:3]) == [0, 2**63 - 2, 2**63 - 1]
    contents = [choice["message"]["content"] for choice in answer["choices"]]
    assert contents == [f'{{"verdict":"{seed}"}}' for seed in (2**63 - 2, 2**63 - 1, 0)]
    assert [choice["index"] for choice in answer["choices"]] == [0, 1, 2]
    assert answer["usage"]["prompt_tokens"] == 5
    assert answer["usage"]["completion_tokens"] == 6
    assert [choice["completion"] for choice in answer["schemagate"]["choices"]] == ["complete"] * 3
    assert "schemagate" in chunks[-1]
    assert [chunk["choices"][0]["index"] for chunk in chunks[-3:]] == [0, 1, 2]


async def test_one_choice_that_fails_is_the_requests_failure(tmp_path: Path) -> None:
    def script(request: GenerateRequest) -> list[Event]:
        return says('{"verdict":"ok"}' if request.sampling.seed == 1 else '{"verdict":1}')

    async with gateway_with(tmp_path, node=NodeTwin(script=script)) as world:
        response = await world.client.post(CHAT, json=strict(VERDICT, n=2))
        streamed = events(await world.client.post(CHAT, json=strict(VERDICT, n=2, stream=True)))
    assert response.status_code == 422
    assert streamed[-1]["error"]["code"] == "output_failed_validation"
    assert not [chunk for chunk in streamed if chunk.get("choices") and chunk["choices"][0]["finish_reason"]]


async def test_the_least_finished_choice_names_the_request(tmp_path: Path) -> None:
    def script(request: GenerateRequest) -> list[Event]:
        if request.sampling.seed == 1:
            return says('{"verdict":"ok"}')
        return says('{"verdict":', end="max_tokens", accepting=False)

    answer, _, _ = await both(tmp_path, NodeTwin(script=script), strict(VERDICT, n=2))
    assert [choice["finish_reason"] for choice in answer["choices"]] == ["stop", "length"]
    assert answer["schemagate"]["completion"] == "truncated"


async def test_log_probabilities_are_told_whole_and_streamed(tmp_path: Path) -> None:
    other = TopLogprob(text="n", token_bytes=[110], logprob=-1.5)

    def script(request: GenerateRequest) -> list[Event]:
        assert request.top_logprobs == 1
        first, *middle, last = says('"', "y", '"')
        told: list[Event] = []
        for event in middle:
            assert isinstance(event, TokenEvent)
            logprob = TokenLogprob(text=event.text, token_bytes=[*event.text.encode()], logprob=-0.5, top=[other])
            told.append(event.model_copy(update={"logprobs": [logprob]}))
        return [first, *told, last]

    body = strict({"type": "string"}, logprobs=True, top_logprobs=1)
    _, choice, chunks = await both(tmp_path, NodeTwin(script=script), body)
    told = choice["logprobs"]["content"]
    assert [token["token"] for token in told] == ['"', "y", '"']
    assert told[1] == {
        "token": "y",
        "bytes": [121],
        "logprob": -0.5,
        "top_logprobs": [{"token": "n", "bytes": [110], "logprob": -1.5}],
    }
    assert choice["logprobs"]["refusal"] is None
    streamed = [chunk["choices"][0]["logprobs"] for chunk in chunks]
    assert [token for logprobs in streamed if logprobs for token in logprobs["content"]] == told


async def test_where_answers_are_held_back_nothing_is_sent_that_was_not_judged(tmp_path: Path) -> None:
    bad = node_says(HERMES.call_text("lookup", '{"id":"x"}', is_custom=False))
    async with gateway_with(tmp_path, node=bad, serving_policy=HOLDING) as world:
        body = strict(VERDICT, tools=[LOOKUP], reasoning_effort="low", stream=True)
        chunks = events(await world.client.post(CHAT, json=body))
        assert put_together([chunk for chunk in chunks if "choices" in chunk])[0]["tool_calls"] == []
        assert chunks[-1]["error"]["code"] == "output_failed_validation"
    good = node_says("<think>plan</think>" + HERMES.call_text("lookup", '{"id":7}', is_custom=False))
    _, choice, _ = await both(
        tmp_path, good, strict(VERDICT, tools=[LOOKUP], reasoning_effort="low"), serving_policy=HOLDING
    )
    assert choice["message"]["tool_calls"][0]["function"]["arguments"] == '{"id":7}'


async def test_chunks_are_padded_where_that_is_asked_for(tmp_path: Path) -> None:
    body = strict(VERDICT, stream=True, stream_options={"include_obfuscation": True})
    async with gateway_with(tmp_path, node=node_says('{"verdict":"ok"}', size=1)) as world:
        response = await world.client.post(CHAT, json=body)
    sizes = {len(block.encode()) + 2 for block in response.text.split("\n\n")[:-2]}
    assert {size % 64 for size in sizes} == {0}


async def test_a_thought_before_free_text_that_never_ends_is_cut(tmp_path: Path) -> None:
    node = node_says("<think>and so on", end="end_of_sequence", accepting=None)
    answer, choice, _ = await both(tmp_path, node, chat(reasoning_effort="low"))
    assert choice["message"]["content"] is None
    assert choice["message"]["reasoning"] == "and so on"
    assert (answer["schemagate"]["completion"], choice["finish_reason"]) == ("truncated", "length")
