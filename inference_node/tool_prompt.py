"""Tools and their calls as chat templates take them, and as plain turns for templates that know of none."""

import json
from collections.abc import Callable, Sequence
from typing import Any, Final

from inference_node.errors import ChatTemplateError
from inference_node.protocol import ChatMessage, ToolCallTurn, ToolOffer
from inference_node.tool_dialects.hermes import NEUTRAL

_INPUT: Final = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
"""What a template is told of a tool that takes text: it knows functions only."""


class JsonText(dict[str, Any]):
    """A JSON object that is still written as it was: numbers keep their spelling."""

    def __init__(self, members: dict[str, Any], text: str) -> None:
        super().__init__(members)
        self.text = text


def template_tools(tools: Sequence[ToolOffer], translate: Callable[[str], str]) -> list[dict[str, Any]]:
    """As Hugging Face's templates expect them: OpenAI's layout."""
    return [{"type": "function", "function": _function(tool, translate)} for tool in tools]


def template_messages(messages: Sequence[ChatMessage], translate: Callable[[str], str]) -> list[dict[str, Any]]:
    """Turns with their calls, as templates that know tools expect them."""
    return [_turn(message, translate) for message in messages]


def plain_messages(messages: Sequence[ChatMessage], tools: Sequence[ToolOffer]) -> list[ChatMessage]:
    """The same conversation for a template without tools: they are told of in the system's turn, calls and results
    stand in the turns' text."""
    plain = [_plain(message) for message in messages]
    if not tools:
        return plain
    told = _told(tools)
    if plain and plain[0].role == "system":
        first = ChatMessage(role="system", content=f"{plain[0].content}\n\n{told}")
        return [first, *plain[1:]]
    return [ChatMessage(role="system", content=told), *plain]


def _function(tool: ToolOffer, translate: Callable[[str], str]) -> dict[str, Any]:
    parameters = _INPUT if tool.parameters is None else _translated(_parsed(tool.parameters), translate)
    return {"name": tool.name, "description": translate(tool.description or ""), "parameters": parameters}


def _turn(message: ChatMessage, translate: Callable[[str], str]) -> dict[str, Any]:
    turn: dict[str, Any] = {"role": message.role, "content": translate(message.content)}
    if message.tool_calls:
        turn["tool_calls"] = [_call(call, translate) for call in message.tool_calls]
    if message.tool_call_id is not None:
        turn["tool_call_id"] = translate(message.tool_call_id)
    return turn


def _call(call: ToolCallTurn, translate: Callable[[str], str]) -> dict[str, Any]:
    if call.is_custom:
        arguments: dict[str, Any] = {"input": translate(call.text)}
    else:
        arguments = JsonText(_translated(_parsed(call.text), translate), translate(call.text))
    function = {"name": call.name, "arguments": arguments}
    return {"id": translate(call.call_id), "type": "function", "function": function}


def _plain(message: ChatMessage) -> ChatMessage:
    if message.role == "tool":
        return ChatMessage(role="user", content=NEUTRAL.result_text(message.content))
    if not message.tool_calls:
        return message
    calls = [NEUTRAL.call_text(call.name, call.text, is_custom=call.is_custom) for call in message.tool_calls]
    return ChatMessage(role=message.role, content="\n".join([*([message.content] if message.content else []), *calls]))


def _told(tools: Sequence[ToolOffer]) -> str:
    lines = ["These tools can be called:", "<tools>", *map(_told_of, tools)]
    lines += ["</tools>", "To call one, write:"]
    if any(tool.parameters is not None for tool in tools):
        lines.append(NEUTRAL.call_text("NAME", "ARGUMENTS", is_custom=False))
    if any(tool.parameters is None for tool in tools):
        lines.append(NEUTRAL.call_text("NAME", "INPUT", is_custom=True))
    return "\n".join(lines)


def _told_of(tool: ToolOffer) -> str:
    told = json.dumps({"name": tool.name, "description": tool.description or ""}, ensure_ascii=False)
    return told if tool.parameters is None else f'{told[:-1]}, "parameters": {tool.parameters}}}'


def _parsed(text: str) -> dict[str, Any]:
    """What the gateway has read before, within its limits; here it only fills a template."""
    try:
        value = json.loads(text)  # noqa: TID251 - as above
    except (ValueError, RecursionError) as error:
        raise ChatTemplateError(reason="a tool's JSON cannot be read") from error
    if not isinstance(value, dict):
        raise ChatTemplateError(reason="a tool's JSON is not an object")
    return value


def _translated(value: Any, translate: Callable[[str], str]) -> Any:
    """Every text of it, names too: a special token must not come out of a schema's description either."""
    if isinstance(value, str):
        return translate(value)
    if isinstance(value, list):
        return [_translated(item, translate) for item in value]
    if isinstance(value, dict):
        return {translate(name): _translated(item, translate) for name, item in value.items()}
    return value
