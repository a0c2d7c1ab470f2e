"""From a parsed body of `POST /v1/responses` to what is asked, and to what of it the answer repeats."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gateway.dialects.sent import sent_contract
from gateway.errors import InvalidRequestError, RequestFault
from gateway.intent import GenerationIntent
from gateway.reasoning import ThoughtAsked, thought_asked
from gateway.responses.fields import RESPONSES_FIELDS
from gateway.responses.input import read_input
from gateway.responses.protocol import ReasoningConfig, ResponsesRequest
from gateway.responses.tools import ToolsRead, read_tools
from gateway.wire_faults import body_object, read_model
from inference_node.protocol import Sampling
from registry.contract import JsonValue

_SEED_BITS = 53
"""Of a seed that we choose: it is reported in JSON, and many clients read numbers as doubles."""

LOGPROBS = "message.output_text.logprobs"
_WITHOUT_EFFECT: Mapping[str, str] = {
    "reasoning.encrypted_content": "thoughts are told in plain text, and nothing is encrypted",
    "message.input_image.image_url": "there are no images",
    "file_search_call.results": "hosted tools are not run here",
    "web_search_call.results": "hosted tools are not run here",
    "web_search_call.action.sources": "hosted tools are not run here",
    "computer_call_output.output.image_url": "hosted tools are not run here",
    "code_interpreter_call.outputs": "hosted tools are not run here",
}
"""Members of `include` that ask for what cannot be there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Echo:
    """What the answer repeats of the request, with what stands in for what was not sent."""

    instructions: str | None
    max_output_tokens: int | None
    max_tool_calls: int | None
    metadata: Mapping[str, str]
    parallel_tool_calls: bool
    effort: str | None
    summary: str | None
    temperature: float
    top_p: float
    top_logprobs: int
    text_format: JsonValue
    verbosity: str
    tools: Sequence[Mapping[str, JsonValue]]
    tool_choice: JsonValue
    user: str | None
    safety_identifier: str | None
    prompt_cache_key: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponsesIntent:
    """One request."""

    generation: GenerationIntent
    echo: Echo


def read_responses_request(body: JsonValue) -> ResponsesIntent:
    """What a body asks for.

    Raises:
        InvalidRequestError: the first fault found, with its path.
        ContractRefusedError: a contract that was sent as JSON text is not JSON.
    """
    sent = sent_contract(body_object(body), RESPONSES_FIELDS)
    request = read_model(ResponsesRequest, sent.fields)
    if request.stream_options is not None and not request.stream:
        raise InvalidRequestError(
            RequestFault.CONFLICTING_PARAMETERS, "`stream_options` needs `stream: true`", param="stream_options"
        )
    ignored = {**sent.ignored, **_without_effect(request)}
    top_logprobs = _top_logprobs(request, ignored)
    is_parallel = request.parallel_tool_calls is not False
    tools = read_tools(request.tools or [], request.tool_choice, is_parallel=is_parallel)
    conversation = read_input(request.input, instructions=request.instructions)
    sampling = Sampling(
        temperature=1.0 if request.temperature is None else request.temperature,
        top_p=1.0 if request.top_p is None else request.top_p,
        seed=secrets.randbits(_SEED_BITS) if request.seed is None else request.seed,
    )
    generation = GenerationIntent(
        model=request.model,
        messages=conversation.messages,
        sampling=sampling,
        max_tokens=request.max_output_tokens,
        stop=tuple(request.stop),
        stream=bool(request.stream),
        include_usage=True,
        contract=sent.contract,
        toolbox=tools.toolbox,
        left_out_tools=tools.left_out,
        top_logprobs=top_logprobs,
        thought=_thought(request.reasoning),
        is_obfuscated=request.stream_options is not None and bool(request.stream_options.include_obfuscation),
        ignored={**ignored, **tools.ignored, **conversation.ignored},
    )
    return ResponsesIntent(generation=generation, echo=_echo(request, sampling, tools, is_parallel=is_parallel))


def _echo(request: ResponsesRequest, sampling: Sampling, tools: ToolsRead, *, is_parallel: bool) -> Echo:
    text, reasoning = request.text, request.reasoning or ReasoningConfig()
    return Echo(
        instructions=request.instructions,
        max_output_tokens=request.max_output_tokens,
        max_tool_calls=request.max_tool_calls,
        metadata=request.metadata or {},
        parallel_tool_calls=is_parallel,
        effort=reasoning.effort,
        summary=reasoning.summary or reasoning.generate_summary,
        temperature=sampling.temperature,
        top_p=sampling.top_p,
        top_logprobs=request.top_logprobs or 0,
        text_format={"type": "text"} if text is None or text.format is None else text.format,
        verbosity="medium" if text is None or text.verbosity is None else text.verbosity,
        tools=tools.told,
        tool_choice=tools.tool_choice,
        user=request.user,
        safety_identifier=request.safety_identifier,
        prompt_cache_key=request.prompt_cache_key,
    )


def _thought(reasoning: ReasoningConfig | None) -> ThoughtAsked | None:
    effort = None if reasoning is None else reasoning.effort
    return thought_asked(effort=effort, effort_param="reasoning.effort")


def _top_logprobs(request: ResponsesRequest, ignored: dict[str, str]) -> int | None:
    """What `include` asks for; other members of it are noted in `ignored`, or refused."""
    for position, name in enumerate(request.include or []):
        if name in _WITHOUT_EFFECT:
            ignored[f"include[{position}]"] = _WITHOUT_EFFECT[name]
        elif name != LOGPROBS:
            raise InvalidRequestError(
                RequestFault.INVALID_VALUE,
                f"`include[{position}]` is refused: nothing of that name can be included",
                param=f"include[{position}]",
            )
    if LOGPROBS in (request.include or []):
        return request.top_logprobs or 0
    if request.top_logprobs:
        ignored["top_logprobs"] = f"log probabilities are told where `include` has `{LOGPROBS}`"
    return None


def _without_effect(request: ResponsesRequest) -> dict[str, str]:
    """Fields of the wire type that change nothing, where they ask for something."""
    reasoning = request.reasoning or ReasoningConfig()
    notes = {
        "store": (request.store is True, "nothing is stored"),
        "max_tool_calls": (
            request.max_tool_calls is not None,
            "it counts calls of hosted tools, which are not run here",
        ),
        "text.verbosity": (
            request.text is not None and request.text.verbosity is not None,
            "the models served here have no verbosity control",
        ),
        "reasoning.summary": (
            (reasoning.summary or reasoning.generate_summary) is not None,
            "thoughts are told whole, and not summarised",
        ),
        "reasoning.context": (reasoning.context is not None, "earlier thoughts are not given to the model"),
        "service_tier": (request.service_tier not in (None, "auto", "default"), "there is one tier"),
        "user": (request.user is not None, "not used"),
        "safety_identifier": (request.safety_identifier is not None, "not used"),
        "prompt_cache_key": (request.prompt_cache_key is not None, "not used"),
    }
    return {name: why for name, (is_asked, why) in notes.items() if is_asked}
