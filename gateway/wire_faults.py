"""From what pydantic finds wrong to what a caller is told: a code, a path, and never the input itself."""

from collections.abc import Mapping
from typing import TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from gateway.chat.protocol import (
    AllowedToolsSent,
    ContentPart,
    CustomCallSent,
    CustomFormatSent,
    CustomSent,
    FunctionCallSent,
    FunctionSent,
    GrammarSent,
    Message,
    StreamOptions,
    TemplateOptions,
    ToolCallSent,
    ToolPicked,
    ToolSent,
)
from gateway.contract_protocol import PolicySent
from gateway.dialects.protocol import NamedSchema
from gateway.errors import InvalidRequestError, RequestFault
from gateway.fields import unknown_member
from registry.contract import JsonValue

_Model = TypeVar("_Model", bound=BaseModel)
_Loc = tuple[int | str, ...]

_OTHER_ROLES = frozenset({"function"})
_TOOL_DEPTH = len(("tools", 0, "type"))
_EMPTY_ONLY = frozenset({"audio", "function_call"})

_NESTED: Mapping[tuple[str, ...], type[BaseModel]] = {
    ("messages",): Message,
    ("messages", "content"): ContentPart,
    ("messages", "tool_calls"): ToolCallSent,
    ("messages", "tool_calls", "function"): FunctionCallSent,
    ("messages", "tool_calls", "custom"): CustomCallSent,
    ("tools",): ToolSent,
    ("tools", "function"): FunctionSent,
    ("tools", "custom"): CustomSent,
    ("tools", "custom", "format"): CustomFormatSent,
    ("tools", "custom", "format", "grammar"): GrammarSent,
    ("tool_choice", "allowed_tools"): AllowedToolsSent,
    ("tool_choice", "allowed_tools", "tools"): ToolPicked,
    ("chat_template_kwargs",): TemplateOptions,
    ("response_format", "json_schema"): NamedSchema,
    ("stream_options",): StreamOptions,
    ("policy",): PolicySent,
    ("old", "policy"): PolicySent,
    ("new", "policy"): PolicySent,
}
"""Which model stands at which path (list positions left out): the members that could have been meant."""

_CONSTRAINT_CARRIERS = frozenset({"response_format", "contract", "text", "structured_outputs", "grammar", "parameters"})
"""Objects in which any unknown member may be a lost constraint."""


def body_object(body: JsonValue) -> dict[str, JsonValue]:
    """A body that is a JSON object.

    Raises:
        InvalidRequestError: it is something else.
    """
    if not isinstance(body, dict):
        raise InvalidRequestError(RequestFault.INVALID_TYPE, "the body must be a JSON object")
    return body


def dotted_path(loc: _Loc) -> str:
    """`("messages", 0, "content")` is `messages[0].content`, as the OpenAI clients spell it."""
    path = ""
    for part in loc:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else part
    return path


def read_model(model: type[_Model], value: Mapping[str, JsonValue], *, param: str = "") -> _Model:
    """Read `value`, which stands at `param` of the body.

    Raises:
        InvalidRequestError: the first fault.
    """
    try:
        return model.model_validate(value)
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False)
        # What is known and not served says most; and a misspelt member is also a missing one.
        details = min(found, key=_says_less)
        loc: _Loc = (param, *details["loc"]) if param else details["loc"]
        fault = _fault(model, details, loc)
    try:
        raise fault  # outside the block: the pydantic error holds the input
    finally:
        del fault  # the frame is in the error's traceback: no circle that keeps the body alive


def _says_less(details: ErrorDetails) -> int:
    loc, kind = details["loc"], details["type"]
    is_unserved = kind == "literal_error" and loc[:1] == ("messages",) and loc[-1] in {"role", "type"}
    return 0 if is_unserved else 1 if kind == "extra_forbidden" else 2


def _fault(model: type[BaseModel], details: ErrorDetails, loc: _Loc) -> InvalidRequestError:
    kind, param = details["type"], dotted_path(loc)
    if kind == "extra_forbidden":
        return _unknown(model, loc, param)
    if kind == "missing":
        return InvalidRequestError(RequestFault.MISSING_PARAMETER, f"`{param}` is required", param=param)
    unsupported = _unsupported(loc, details["input"], param)
    if unsupported is not None:
        return unsupported
    fault = RequestFault.INVALID_TYPE if kind.endswith(("_type", "none_required")) else RequestFault.INVALID_VALUE
    spoken = f"`{param}`" if param else "the body"
    return InvalidRequestError(fault, f"{spoken} is refused: {_spoken(details)}", param=param or None)


def _spoken(details: ErrorDetails) -> str:
    """Pydantic's words without its own class names."""
    match details["type"]:
        case "model_type" | "model_attributes_type" | "dict_type":
            return "it should be an object"
        case "list_type":
            return "it should be a list"
        case "too_short":
            return "it should not be empty"
        case _:
            return details["msg"][:1].lower() + details["msg"][1:]


def _unknown(model: type[BaseModel], loc: _Loc, param: str) -> InvalidRequestError:
    parent = tuple(part for part in loc[:-1] if isinstance(part, str))
    nested = _NESTED.get(parent) or _model_at(model, parent)
    known = tuple(field.alias or name for name, field in nested.model_fields.items())
    if param.partition(".")[0] in _CONSTRAINT_CARRIERS:
        return unknown_member(str(loc[-1]), known=known, param=param, fault=RequestFault.UNKNOWN_CONSTRAINT)
    return unknown_member(str(loc[-1]), known=known, param=param)


def _model_at(model: type[BaseModel], parent: tuple[str, ...]) -> type[BaseModel]:
    """The model of what stands at `parent`; `model` itself where its annotations do not say."""
    at = model
    for name in parent:
        inner = _model_in(at.model_fields[name].annotation) if name in at.model_fields else None
        if inner is None:
            return model
        at = inner
    return at


def _model_in(annotation: object) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    found = (_model_in(argument) for argument in get_args(annotation))
    return next((model for model in found if model is not None), None)


def _unsupported(loc: _Loc, sent: object, param: str) -> InvalidRequestError | None:
    """Values that the API knows and this product does not serve; everything else is simply wrong."""
    served = ""
    if not loc:  # the object as a whole
        return None
    if loc[0] == "tools" and loc[-1] == "type" and len(loc) == _TOOL_DEPTH and isinstance(sent, str):
        served = "tools are of type function or custom, and nothing here runs others"
    elif loc[0] != "messages":
        return None
    elif loc[-1] == "role" and isinstance(sent, str) and sent in _OTHER_ROLES:
        served = "roles are system, developer, user, assistant and tool"
    elif loc[-1] == "type" and isinstance(sent, str):
        served = "calls are of type function or custom" if "tool_calls" in loc else "content parts are of type text"
    elif len(loc) == 3 and loc[-1] in _EMPTY_ONLY:
        served = "calls are `tool_calls`, and messages are text"
    if not served:
        return None
    return InvalidRequestError(RequestFault.UNSUPPORTED_PARAMETER, f"`{param}` is not supported: {served}", param=param)
