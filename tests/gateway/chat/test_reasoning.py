"""Thoughts in a model's own framing: the node tells them apart, and the contract is of the answer alone."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from gateway.reasoning import EFFORT_TOKENS, Effort
from inference_node.protocol import NodeFault, ReasoningReport, StopCause, TokenEvent
from tests.gateway.chat.views import CHAT, LOOKUP, VERDICT, both, node_says
from tests.gateway.twins import NODE, NodeTwin, chat, gateway_with, says, strict

THINKER = NODE.model_copy(update={"reasoning": "think"})
CLOSED = ReasoningReport(tokens=4, state="closed", num_repeated_markers=1)


def thinks(
    thought: str,
    answer: str,
    *,
    end: StopCause = "grammar_end",
    accepting: bool | None = True,
    report: ReasoningReport | None = CLOSED,
) -> NodeTwin:
    """A node that sends a thought, the tokens of its end marker, and an answer."""
    started, *tokens, finish = says(*answer, end=end, accepting=accepting)
    thoughts = [
        TokenEvent(text=text, token_ids=[1], num_forced_tokens=0, accepting=False, is_thought=True)
        for text in (*thought, "")
    ]
    ended = finish.model_copy(update={"reasoning": report})
    return NodeTwin(identity=THINKER, script=lambda _: [started, *thoughts, *tokens, ended])


async def answered(tmp_path: Path, node: NodeTwin, body: dict[str, Any]) -> httpx.Response:
    async with gateway_with(tmp_path, node=node) as world:
        return await world.client.post(CHAT, json=body)


async def test_the_answer_is_under_the_callers_own_contract_and_the_thought_under_none(tmp_path: Path) -> None:
    node = thinks('plan {"verdict":1}', '{"verdict":"</think>"}')
    answer, choice, _ = await both(tmp_path, node, strict(VERDICT, reasoning_effort="low"))
    assert choice["message"]["reasoning"] == 'plan {"verdict":1}'
    assert choice["message"]["content"] == '{"verdict":"</think>"}'
    said = answer["schemagate"]
    assert (said["completion"], said["branch"], said["composition"]) == ("complete", "answer", None)
    assert said["reasoning"] == {
        "dialect": "think", "state": "closed", "tokens": 4, "budget_tokens": 1024, "num_repeated_markers": 1,
    }  # fmt: skip
    assert answer["usage"]["completion_tokens_details"]["reasoning_tokens"] == 4
    assert said["ignored"] == {}


@pytest.mark.parametrize("effort", list(EFFORT_TOKENS))
async def test_an_effort_is_a_budget_of_tokens(tmp_path: Path, effort: Effort) -> None:
    node = thinks("x", '{"verdict":"a"}')
    await answered(tmp_path, node, strict(VERDICT, reasoning_effort=effort))
    reasoning = node.requests[0].reasoning
    assert reasoning is not None
    assert reasoning.budget_tokens == EFFORT_TOKENS[effort]


@pytest.mark.parametrize(
    ("fields", "budget_tokens"),
    [
        ({"thinking_token_budget": 7}, 7),
        ({"thinking_token_budget": 0, "reasoning_effort": "high"}, 0),
        ({"chat_template_kwargs": {"enable_thinking": True}}, None),
    ],
)
async def test_a_number_of_tokens_goes_to_the_node(
    tmp_path: Path, fields: dict[str, Any], budget_tokens: int | None
) -> None:
    node = thinks("x", "y", end="end_of_sequence", accepting=None)
    assert (await answered(tmp_path, node, chat(**fields))).status_code == 200
    reasoning = node.requests[0].reasoning
    assert reasoning is not None
    assert reasoning.budget_tokens == budget_tokens


@pytest.mark.parametrize(
    "fields", [{}, {"reasoning_effort": "none"}, {"reasoning_effort": "none", "thinking_token_budget": 0}]
)
async def test_no_thought_is_asked_for_unasked(tmp_path: Path, fields: dict[str, Any]) -> None:
    node = NodeTwin(identity=THINKER, script=lambda _: says("hi", end="end_of_sequence", accepting=None))
    answer = await answered(tmp_path, node, chat(**fields))
    assert node.requests[0].reasoning is None
    assert answer.json()["schemagate"]["reasoning"] is None


async def test_a_budget_is_refused_where_nobody_would_keep_it(tmp_path: Path) -> None:
    answer = await answered(tmp_path, node_says("x"), chat(thinking_token_budget=5))
    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == "thinking_token_budget"


async def test_an_effort_is_told_to_have_no_degrees_where_it_has_none(tmp_path: Path) -> None:
    answer = await answered(tmp_path, node_says('{"verdict":"a"}'), strict(VERDICT, reasoning_effort="high"))
    said = answer.json()["schemagate"]
    assert list(said["ignored"]) == ["reasoning_effort"]
    assert (said["reasoning"]["dialect"], said["reasoning"]["state"]) == (None, "missing")


@pytest.mark.parametrize("end", ["max_tokens", "end_of_sequence", "context_full"])
@pytest.mark.parametrize("is_constrained", [True, False])
async def test_an_unfinished_thought_is_truncated_and_never_complete(
    tmp_path: Path, end: StopCause, *, is_constrained: bool
) -> None:
    report = ReasoningReport(tokens=9, state="unfinished")
    node = thinks('{"verdict":"a"}', "", end=end, accepting=False if is_constrained else None, report=report)
    body = strict(VERDICT, reasoning_effort="low") if is_constrained else chat(reasoning_effort="low")
    answer, choice, _ = await both(tmp_path, node, body)
    assert (answer["schemagate"]["completion"], choice["finish_reason"]) == ("truncated", "length")
    assert (answer["schemagate"]["branch"], choice["message"]["content"] or "") == ("none", "")
    assert choice["message"]["reasoning"] == '{"verdict":"a"}'


async def test_a_node_that_reports_no_thought_is_not_taken_to_have_finished_one(tmp_path: Path) -> None:
    node = thinks("hm", "", end="end_of_sequence", accepting=None, report=None)
    answer = await answered(tmp_path, node, chat(reasoning_effort="low"))
    assert answer.json()["schemagate"]["completion"] == "truncated"


async def test_a_thought_that_nobody_asked_for_or_amid_the_answer_is_no_stream_of_ours(tmp_path: Path) -> None:
    unasked = await answered(tmp_path, thinks("hm", '{"verdict":"a"}'), strict(VERDICT))
    assert unasked.status_code == 502
    started, *tokens, finish = says('{"verdict":', '"a"}')
    thought = TokenEvent(text="hm", token_ids=[1], num_forced_tokens=0, accepting=False, is_thought=True)
    events = [started, tokens[0], thought, tokens[1], finish.model_copy(update={"reasoning": CLOSED})]
    node = NodeTwin(identity=THINKER, script=lambda _: events)
    amid = await answered(tmp_path, node, strict(VERDICT, reasoning_effort="low"))
    assert amid.status_code == 502


async def test_a_framing_that_the_node_cannot_read_is_a_typed_refusal_that_names_it(tmp_path: Path) -> None:
    fault = NodeFault(code="reasoning_unsupported", message="this model's thought is framed as `harmony`")
    node = NodeTwin(identity=NODE.model_copy(update={"reasoning": "harmony"}), fault=fault)
    answer = await answered(tmp_path, node, strict(VERDICT, reasoning_effort="low"))
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert (error["code"], "harmony" in error["message"]) == ("reasoning_unsupported", True)


@pytest.mark.parametrize(
    ("text", "branch"),
    [
        ('{"verdict":"a"}', "answer"),
        ('<tool_call>\n{"name": "lookup", "arguments": {"id":1}}\n</tool_call>', "calls"),
        ("<refusal>No.</refusal>", "refusal"),
    ],
)
async def test_which_branch_was_taken_is_told_with_a_thought_before_it(tmp_path: Path, text: str, branch: str) -> None:
    node = thinks("hm", text)
    body = strict(VERDICT, tools=[LOOKUP], reasoning_effort="low")
    answer, choice, _ = await both(tmp_path, node, body, serving_policy='{"allow_refusal": true}')
    said = answer["schemagate"]
    assert (said["branch"], said["reasoning"]["dialect"], said["composition"]["may_think"]) == (branch, "think", False)
    assert choice["message"]["reasoning"] == "hm"


async def test_free_words_are_the_text_branch(tmp_path: Path) -> None:
    node = NodeTwin(script=lambda _: says("hi", end="end_of_sequence", accepting=None))
    assert (await answered(tmp_path, node, chat())).json()["schemagate"]["branch"] == "text"


LIMITED = '{"max_thinking_tokens": 600}'


@pytest.mark.parametrize(
    ("fields", "budget_tokens", "ignored"),
    [
        ({"reasoning_effort": "minimal"}, 512, []),
        ({"reasoning_effort": "high"}, 600, []),
        ({"reasoning_effort": "max"}, 600, []),
        ({"thinking_token_budget": 601}, 600, ["thinking_token_budget"]),
    ],
)
async def test_a_policy_limits_every_thought_and_an_exceeded_number_is_told(
    tmp_path: Path, fields: dict[str, Any], budget_tokens: int, ignored: list[str]
) -> None:
    node = thinks("x", "y", end="end_of_sequence", accepting=None)
    async with gateway_with(tmp_path, node=node, serving_policy=LIMITED) as world:
        said = (await world.client.post(CHAT, json=chat(**fields))).json()["schemagate"]
    assert node.requests[0].reasoning is not None
    assert node.requests[0].reasoning.budget_tokens == budget_tokens
    assert (said["reasoning"]["budget_tokens"], list(said["ignored"])) == (budget_tokens, ignored)


async def test_a_limit_that_a_model_cannot_keep_is_a_refusal(tmp_path: Path) -> None:
    async with gateway_with(tmp_path, node=node_says("x"), serving_policy=LIMITED) as world:
        answer = await world.client.post(CHAT, json=chat(reasoning_effort="low"))
    assert answer.status_code == 403
    assert answer.json()["error"]["code"] == "reasoning_not_allowed"
