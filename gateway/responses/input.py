"""From `input` and `instructions` to the turns that the model is given."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar, assert_never

from gateway.errors import InvalidRequestError, RequestFault
from gateway.protocol import Sent
from gateway.responses.input_protocol import (
    CustomToolCallItem,
    CustomToolCallOutputItem,
    FunctionCallItem,
    FunctionCallOutputItem,
    InputItem,
    InputText,
    MessageItem,
    OutputRefusal,
    OutputText,
    ReasoningItem,
)
from gateway.wire_faults import read_model
from inference_node.protocol import ChatMessage, ToolCallTurn
from policy.limits import TENANT
from registry.contract import JsonValue
from registry.errors import ContractRejectedError
from registry.parsing import parse_json

_Model = TypeVar("_Model", bound=Sent)

_ITEMS: Mapping[str, type[InputItem]] = {
    "message": MessageItem,
    "function_call": FunctionCallItem,
    "function_call_output": FunctionCallOutputItem,
    "custom_tool_call": CustomToolCallItem,
    "custom_tool_call_output": CustomToolCallOutputItem,
    "reasoning": ReasoningItem,
}
_ROLES = frozenset({"user", "assistant", "system", "developer"})
_MAX_ARGUMENTS_BYTES = 1024 * 1024
_MAX_SHOWN_CHARACTERS = 64

IGNORED_THOUGHT = "earlier thoughts are not given to the model"


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """The turns, and what of the input has no effect."""

    messages: tuple[ChatMessage, ...]
    ignored: Mapping[str, str]


def read_input(value: JsonValue, *, instructions: str | None) -> Conversation:
    """The conversation so far.

    Raises:
        InvalidRequestError: the first fault found, with its path.
    """
    turns = _Turns()
    if instructions is not None:
        turns.say("system", instructions)
    if isinstance(value, str):
        turns.take(MessageItem(role="user", content=value), "input")
    elif isinstance(value, list):
        for position, item in enumerate(value):
            turns.take(_item(item, f"input[{position}]"), f"input[{position}]")
    else:
        raise InvalidRequestError(
            RequestFault.INVALID_TYPE, "`input` must be a string or a list of items", param="input"
        )
    if not turns.has_input:
        raise InvalidRequestError(
            RequestFault.INVALID_VALUE, "`input` has no item that the model could answer", param="input"
        )
    return Conversation(messages=tuple(turns.finished()), ignored=turns.ignored)


def discriminated(value: JsonValue, kinds: Mapping[str, type[_Model]], *, param: str, served: str) -> _Model:
    """The member of a list that its `type` says it is.

    Raises:
        InvalidRequestError: it has none, or one that is not served; or what it says is wrong.
    """
    if not isinstance(value, dict):
        raise InvalidRequestError(RequestFault.INVALID_TYPE, f"`{param}` must be an object", param=param)
    kind = value.get("type")
    if kind is None:
        raise InvalidRequestError(RequestFault.MISSING_PARAMETER, f"`{param}.type` is required", param=f"{param}.type")
    if not isinstance(kind, str):
        raise InvalidRequestError(RequestFault.INVALID_TYPE, f"`{param}.type` must be a string", param=f"{param}.type")
    model = kinds.get(kind)
    if model is None:
        raise InvalidRequestError(
            RequestFault.UNSUPPORTED_PARAMETER,
            f"`{param}` is of type `{kind[:_MAX_SHOWN_CHARACTERS]}`, which is not supported: {served}",
            param=f"{param}.type",
        )
    return read_model(model, value, param=param)


def _item(value: JsonValue, param: str) -> InputItem:
    if isinstance(value, dict) and value.get("type") is None and value.get("role") in _ROLES:
        return read_model(MessageItem, {**value, "type": "message"}, param=param)
    return discriminated(value, _ITEMS, param=param, served=f"nothing is stored here, and items are {_listed(_ITEMS)}")


def _listed(kinds: Mapping[str, object]) -> str:
    return ", ".join(f"`{kind}`" for kind in kinds)


@dataclass(slots=True, kw_only=True)
class _OpenTurn:
    """A turn of the assistant, to which calls may yet be added."""

    content: str
    calls: list[ToolCallTurn] = field(default_factory=list)


class _Turns:
    """Turns in their order. The calls of one answer, and the words before them, are one turn."""

    def __init__(self) -> None:
        self.has_input = False
        self.ignored: dict[str, str] = {}
        self._messages: list[ChatMessage] = []
        self._open: _OpenTurn | None = None
        self._unanswered: dict[str, bool] = {}
        self._called: set[str] = set()

    def say(self, role: str, text: str) -> None:
        """A message. The assistant's stays open for calls."""
        self._close()
        match role:
            case "assistant":
                self._open = _OpenTurn(content=text)
            case "user":
                self._messages.append(ChatMessage(role="user", content=text))
            case _:
                self._messages.append(ChatMessage(role="system", content=text))

    def take(self, item: InputItem, param: str) -> None:
        """One item of the input."""
        self.has_input = True
        match item:
            case MessageItem():
                self.say(item.role, _content(item, param))
            case FunctionCallItem():
                _check_arguments(item.arguments, f"{param}.arguments")
                self._call(item.call_id, item.name, item.arguments, param, is_custom=False)
            case CustomToolCallItem():
                self._call(item.call_id, item.name, item.input, param, is_custom=True)
            case FunctionCallOutputItem():
                self._answer(item.call_id, _said(item.output, f"{param}.output"), param, is_custom=False)
            case CustomToolCallOutputItem():
                self._answer(item.call_id, _said(item.output, f"{param}.output"), param, is_custom=True)
            case ReasoningItem():
                self.ignored["input.reasoning"] = IGNORED_THOUGHT
            case _:
                assert_never(item)

    def finished(self) -> list[ChatMessage]:
        """All turns."""
        self._close()
        return self._messages

    def _close(self) -> None:
        if self._open is not None:
            turn = self._open
            self._messages.append(ChatMessage(role="assistant", content=turn.content, tool_calls=turn.calls))
            self._open = None

    def _call(self, call_id: str, name: str, text: str, param: str, *, is_custom: bool) -> None:
        if call_id in self._called:
            raise InvalidRequestError(
                RequestFault.INVALID_VALUE, "an earlier call has the same `call_id`", param=f"{param}.call_id"
            )
        self._called.add(call_id)
        self._unanswered[call_id] = is_custom
        if self._open is None:
            self._open = _OpenTurn(content="")
        self._open.calls.append(ToolCallTurn(call_id=call_id, name=name, text=text, is_custom=is_custom))

    def _answer(self, call_id: str, text: str, param: str, *, is_custom: bool) -> None:
        if self._unanswered.pop(call_id, None) is not is_custom:
            raise InvalidRequestError(
                RequestFault.INVALID_VALUE,
                "no earlier call of this kind that has no output yet has this `call_id`",
                param=f"{param}.call_id",
            )
        self._close()
        self._messages.append(ChatMessage(role="tool", content=text, tool_call_id=call_id))


def _content(item: MessageItem, param: str) -> str:
    if item.role != "assistant":
        return _said(item.content, f"{param}.content")
    param = f"{param}.content"
    if isinstance(item.content, str):
        return item.content
    kinds: Mapping[str, type[InputText | OutputText | OutputRefusal]] = {
        "output_text": OutputText,
        "refusal": OutputRefusal,
        "input_text": InputText,
    }
    texts: list[str] = []
    for position, value in enumerate(_parts(item.content, param)):
        part = discriminated(
            value, kinds, param=f"{param}[{position}]", served="an assistant's parts are `output_text` and `refusal`"
        )
        texts.append(part.refusal if isinstance(part, OutputRefusal) else part.text)
    return "".join(texts)


def _said(value: JsonValue, param: str) -> str:
    """What a user or a tool said: a string, or parts of text."""
    if isinstance(value, str):
        return value
    return "".join(
        discriminated(
            part, {"input_text": InputText}, param=f"{param}[{position}]", served="parts are of type `input_text`"
        ).text
        for position, part in enumerate(_parts(value, param))
    )


def _parts(value: JsonValue, param: str) -> list[JsonValue]:
    if not isinstance(value, list):
        raise InvalidRequestError(
            RequestFault.INVALID_TYPE, f"`{param}` must be a string or a list of parts", param=param
        )
    return value


def _check_arguments(text: str, param: str) -> None:
    """The model is shown them as an object; what is none would be shown as something that it never said."""
    try:
        value = parse_json(text, max_bytes=_MAX_ARGUMENTS_BYTES, max_nesting=TENANT.contract.max_nesting)
    except ContractRejectedError as error:
        raise InvalidRequestError(
            RequestFault.INVALID_VALUE, f"`{param}` is not JSON: {error.rejections[0].message}", param=param
        ) from None
    if not isinstance(value, dict):
        raise InvalidRequestError(RequestFault.INVALID_VALUE, f"`{param}` must be the text of an object", param=param)
