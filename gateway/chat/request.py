"""From a parsed body to what is asked: messages, sampling, limits, and at most one contract."""

import secrets

from gateway.chat.fields import CHAT_FIELDS
from gateway.chat.protocol import ChatRequest, Message, StreamOptions
from gateway.dialects.sent import sent_contract
from gateway.errors import InvalidRequestError, RequestFault
from gateway.intent import GenerationIntent
from gateway.wire_faults import body_object, read_model
from inference_node.protocol import ChatMessage, Sampling
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
        messages=tuple(_message(message) for message in request.messages),
        sampling=Sampling(
            temperature=1.0 if request.temperature is None else request.temperature,
            top_p=1.0 if request.top_p is None else request.top_p,
            seed=secrets.randbits(_SEED_BITS) if request.seed is None else request.seed,
        ),
        max_tokens=_max_tokens(request),
        stop=tuple(request.stop),
        stream=bool(request.stream),
        include_usage=bool(options.include_usage),
        contract=sent.contract,
        ignored=sent.ignored,
    )


def _message(message: Message) -> ChatMessage:
    role = message.role if message.role != "developer" else "system"
    return ChatMessage(role=role, content="".join(part.text for part in message.content))


def _max_tokens(request: ChatRequest) -> int | None:
    old, new = request.max_tokens, request.max_completion_tokens
    if old is not None and new is not None and old != new:
        raise InvalidRequestError(
            RequestFault.CONFLICTING_PARAMETERS,
            f"`max_tokens` is {old} and `max_completion_tokens` is {new}: send one of them",
            param="max_tokens",
        )
    return new if old is None else old
