"""From turns as they are sent to turns as a node takes them; a history that no conversation can have is refused."""

from collections.abc import Sequence
from typing import Final

from gateway.chat.protocol import ContentPart, Message, ToolCallSent
from gateway.errors import InvalidRequestError, RequestFault
from inference_node.protocol import ChatMessage, ToolCallTurn
from policy.limits import TENANT
from registry.errors import ContractRejectedError
from registry.parsing import parse_json

_MAX_ARGUMENTS_BYTES: Final = 1024 * 1024
_OF_ONE_ROLE: Final = {"tool_calls": "assistant", "refusal": "assistant", "tool_call_id": "tool"}


def read_messages(messages: Sequence[Message]) -> tuple[ChatMessage, ...]:
    """All turns.

    Raises:
        InvalidRequestError: a turn lacks what its role needs or has what it cannot have, or a result has no call.
    """
    calls: dict[str, bool] = {}
    return tuple(_turn(message, calls, f"messages[{index}]") for index, message in enumerate(messages))


def _turn(message: Message, calls: dict[str, bool], param: str) -> ChatMessage:
    for name, role in _OF_ONE_ROLE.items():
        if getattr(message, name) and message.role != role:
            raise _wrong(f"{param}.{name}", f"only turns of the role `{role}` have it")
    match message.role:
        case "assistant":
            return _assistant(message, calls, param)
        case "tool":
            return _result(message, calls, param)
        case "developer" | "system":
            return ChatMessage(role="system", content=_content(message, param))
        case "user":
            return ChatMessage(role="user", content=_content(message, param))


def _assistant(message: Message, calls: dict[str, bool], param: str) -> ChatMessage:
    turns = [_call(call, calls, f"{param}.tool_calls[{index}]") for index, call in enumerate(message.tool_calls or ())]
    if not message.content and message.refusal is None and not turns:
        raise _silent(message, param)
    content = _parts(message, message.content or (), param)
    return ChatMessage(role="assistant", content=content or message.refusal or "", tool_calls=turns)


def _call(call: ToolCallSent, calls: dict[str, bool], param: str) -> ToolCallTurn:
    other = "custom" if call.type == "function" else "function"
    if getattr(call, other) is not None:
        raise _wrong(f"{param}.{other}", f"the call is of type `{call.type}`")
    if call.id in calls:
        raise _wrong(f"{param}.id", "an earlier call has the same one")
    is_custom = call.type == "custom"
    calls[call.id] = is_custom
    if call.function is not None:
        _check_arguments(call.function.arguments, f"{param}.function.arguments")
        return ToolCallTurn(call_id=call.id, name=call.function.name, text=call.function.arguments)
    if call.custom is not None:
        return ToolCallTurn(call_id=call.id, name=call.custom.name, text=call.custom.input, is_custom=True)
    raise InvalidRequestError(
        RequestFault.MISSING_PARAMETER, f"`{param}.{call.type}` is required", param=f"{param}.{call.type}"
    )


def _result(message: Message, calls: dict[str, bool], param: str) -> ChatMessage:
    if message.tool_call_id is None:
        raise InvalidRequestError(
            RequestFault.MISSING_PARAMETER, f"`{param}.tool_call_id` is required", param=f"{param}.tool_call_id"
        )
    if message.tool_call_id not in calls:
        raise _wrong(f"{param}.tool_call_id", "no earlier turn has made a call with this id")
    return ChatMessage(role="tool", content=_content(message, param), tool_call_id=message.tool_call_id)


def _content(message: Message, param: str) -> str:
    if "content" not in message.model_fields_set:
        raise InvalidRequestError(
            RequestFault.MISSING_PARAMETER, f"`{param}.content` is required", param=f"{param}.content"
        )
    if message.content is None:
        fault = f"`{param}.content` must be a string or a list of text parts"
        raise InvalidRequestError(RequestFault.INVALID_TYPE, fault, param=f"{param}.content")
    return _parts(message, message.content, param)


def _parts(message: Message, parts: Sequence[ContentPart], param: str) -> str:
    return "".join(_part(message, part, f"{param}.content[{index}]") for index, part in enumerate(parts))


def _part(message: Message, part: ContentPart, place: str) -> str:
    if part.type == "refusal" and message.role != "assistant":
        raise InvalidRequestError(
            RequestFault.UNSUPPORTED_PARAMETER,
            f"`{place}.type` is not supported: content parts are of type text",
            param=f"{place}.type",
        )
    text, other = (part.text, "refusal") if part.type == "text" else (part.refusal, "text")
    if getattr(part, other) is not None:
        raise _wrong(f"{place}.{other}", f"the part is of type `{part.type}`")
    if text is None:
        raise InvalidRequestError(
            RequestFault.MISSING_PARAMETER, f"`{place}.{part.type}` is required", param=f"{place}.{part.type}"
        )
    return text


def _check_arguments(text: str, param: str) -> None:
    """The model is shown them as an object; what is none would be shown as something that it never said."""
    try:
        value = parse_json(text, max_bytes=_MAX_ARGUMENTS_BYTES, max_nesting=TENANT.contract.max_nesting)
    except ContractRejectedError as error:
        raise _wrong(param, f"it is not the text of a JSON object: {error.rejections[0].message}") from None
    if not isinstance(value, dict):
        raise _wrong(param, "it is not the text of a JSON object")


def _silent(message: Message, param: str) -> InvalidRequestError:
    fault = RequestFault.INVALID_TYPE if "content" in message.model_fields_set else RequestFault.MISSING_PARAMETER
    return InvalidRequestError(
        fault, f"`{param}.content` is needed where a turn has no calls and no refusal", param=f"{param}.content"
    )


def _wrong(param: str, why: str) -> InvalidRequestError:
    return InvalidRequestError(RequestFault.INVALID_VALUE, f"`{param}` is refused: {why}", param=param)
