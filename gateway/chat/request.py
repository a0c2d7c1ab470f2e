"""From a parsed body to what is asked: messages, tools, sampling, limits, and at most one contract."""

import secrets

from gateway.chat.fields import CHAT_FIELDS
from gateway.chat.messages import read_messages
from gateway.chat.protocol import ChatRequest, StreamOptions
from gateway.chat.tools import read_toolbox
from gateway.dialects.sent import sent_contract
from gateway.errors import InvalidRequestError, RequestFault
from gateway.intent import GenerationIntent
from gateway.reasoning import ThoughtAsked, thought_asked
from gateway.wire_faults import body_object, read_model
from inference_node.protocol import Sampling
from registry.contract import JsonValue

_SEED_BITS = 53
"""Of a seed that we choose: it is reported in JSON, and many clients read numbers as doubles."""


def read_chat_request(body: JsonValue) -> GenerationIntent:
    """What a body of `POST /v1/chat/completions` asks for.

    Raises:
        InvalidRequestError: the first fault found, with its path.
    """
    sent = sent_contract(body_object(body), CHAT_FIELDS)
    request = read_model(ChatRequest, sent.fields)
    if request.stream_options is not None and not request.stream:
        raise InvalidRequestError(
            RequestFault.CONFLICTING_PARAMETERS, "`stream_options` needs `stream: true`", param="stream_options"
        )
    options = request.stream_options or StreamOptions()
    return GenerationIntent(
        model=request.model,
        messages=read_messages(request.messages),
        sampling=Sampling(
            temperature=1.0 if request.temperature is None else request.temperature,
            top_p=1.0 if request.top_p is None else request.top_p,
            seed=secrets.randbits(_SEED_BITS) if request.seed is None else request.seed,
        ),
        max_tokens=_max_tokens(request),
        stop=tuple(request.stop),
        stream=bool(request.stream),
        include_usage=bool(options.include_usage),
        is_obfuscated=bool(options.include_obfuscation),
        contract=sent.contract,
        toolbox=read_toolbox(request),
        num_choices=request.n or 1,
        top_logprobs=_top_logprobs(request),
        thought=_thought(request),
        ignored=sent.ignored,
    )


def _top_logprobs(request: ChatRequest) -> int | None:
    if request.logprobs:
        return request.top_logprobs or 0
    if request.top_logprobs:
        raise InvalidRequestError(
            RequestFault.CONFLICTING_PARAMETERS, "`top_logprobs` needs `logprobs: true`", param="top_logprobs"
        )
    return None


def _thought(request: ChatRequest) -> ThoughtAsked | None:
    options = request.chat_template_kwargs
    return thought_asked(
        effort=request.reasoning_effort,
        effort_param="reasoning_effort",
        is_enabled=None if options is None else options.enable_thinking,
        budget_tokens=request.thinking_token_budget,
    )


def _max_tokens(request: ChatRequest) -> int | None:
    old, new = request.max_tokens, request.max_completion_tokens
    if old is not None and new is not None and old != new:
        raise InvalidRequestError(
            RequestFault.CONFLICTING_PARAMETERS,
            f"`max_tokens` is {old} and `max_completion_tokens` is {new}: send one of them",
            param="max_tokens",
        )
    return new if old is None else old
