"""A request in the words of OpenAI's API: everything that is sent to a backend is written here."""

import json
from typing import Any, Final

from gateway.backends.events import UpstreamRequest
from gateway.backends.settings import OpenAIBackendSettings
from inference_node.protocol import ChatMessage, ToolCallTurn
from policy.serving_plan import Capability
from registry.contract import JsonValue
from registry.text import canonical_json

_SEED_BITS: Final = 31
"""Some servers keep seeds in 32 bits with a sign and refuse longer ones: the lower bits go there."""


def spelled(settings: OpenAIBackendSettings, model: str, request: UpstreamRequest) -> bytes:
    """The body of `POST …/chat/completions`."""
    body: dict[str, Any] = {
        "model": model,
        "messages": [_message(message) for message in request.messages],
        "temperature": request.sampling.temperature,
        "top_p": request.sampling.top_p,
        "seed": request.sampling.seed & ((1 << _SEED_BITS) - 1),
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if request.max_tokens is not None:
        body[settings.max_tokens_field] = request.max_tokens
    if request.stop:
        body["stop"] = list(request.stop)
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    if request.response_format is not None:
        # Of exact numbers, which no double may touch.
        text = f'{text[:-1]},"response_format":{canonical_json(request.response_format)}}}'
    return text.encode()


def format_hint(able: Capability, schema: JsonValue) -> JsonValue:
    """The `response_format` that a server of this capability is given for a contract that is a schema."""
    match able:
        case Capability.JSON_SCHEMA:
            return {"type": "json_schema", "json_schema": {"name": "contract", "schema": schema, "strict": True}}
        case Capability.JSON_OBJECT:
            return {"type": "json_object"}
        case Capability.NONE | Capability.GRAMMAR:
            return None


def _message(message: ChatMessage) -> dict[str, Any]:
    spoken: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        spoken["tool_calls"] = [_call(call) for call in message.tool_calls]
        spoken["content"] = message.content or None
    if message.tool_call_id is not None:
        spoken["tool_call_id"] = message.tool_call_id
    return spoken


def _call(call: ToolCallTurn) -> dict[str, Any]:
    if call.is_custom:
        return {"id": call.call_id, "type": "custom", "custom": {"name": call.name, "input": call.text}}
    return {"id": call.call_id, "type": "function", "function": {"name": call.name, "arguments": call.text}}
