"""vLLM's `structured_outputs`, and the `guided_…` fields that came before it."""

from collections.abc import Callable, Mapping
from typing import Final

from gateway.dialects import carried, grammar_texts
from gateway.dialects.carried import NOTHING, Carried
from gateway.dialects.protocol import StructuredOutputs
from gateway.dialects.response_formats import object_at
from gateway.errors import InvalidRequestError, RequestFault
from gateway.wire_faults import read_model
from registry.contract import JsonValue

_CONSTRAINTS: Final = ("json", "regex", "choice", "grammar", "json_object", "structural_tag")
_COMPACT: Final = "JSON is written without white space here"
_ENGINES: Final = frozenset({"auto", "guidance", "llguidance"})
_ENGINE_OPTIONS: Final = frozenset({"no-fallback", "disable-any-whitespace"})
"""What is done here anyway."""
_BLANK_PATTERNS: Final = frozenset(
    ("", " ?", "[ ]?", " *", "[ ]*", r"\s?", r"\s*", r"[\s]*", r"[ \t\n\r]*", r"[\n\t ]*", r"[\n ]?", r"[\n ]*")
)
"""Patterns that white space of no length matches, in the spellings that servers document as their defaults."""


def read_structured_outputs(value: JsonValue, param: str) -> Carried:
    """The one constraint of `structured_outputs`, with its options."""
    members = object_at(value, param)
    sent = read_model(StructuredOutputs, members, param=param)
    named = [name for name in _CONSTRAINTS if members.get(name) is not None and members[name] is not False]
    if not named:
        message = f"`{param}` names no constraint: send one of {', '.join(_CONSTRAINTS)}, or leave it out"
        raise InvalidRequestError(RequestFault.MISSING_PARAMETER, message, param=param)
    if len(named) > 1:
        raise carried.only_one([f"{param}.{name}" for name in named])
    place, dialect = f"{param}.{named[0]}", f"vllm.{param}.{named[0]}"
    found = _READERS[named[0]](members[named[0]], param=place, dialect=dialect)
    return Carried(contract=found.contract, strict=found.strict, notes=_layout_notes(sent, param))


def read_guided(value: JsonValue, param: str) -> Carried:
    """One of `guided_json`, `guided_regex`, `guided_choice`, `guided_grammar`."""
    return _READERS[param.removeprefix("guided_")](value, param=param, dialect=f"vllm.{param}")


def read_guided_backend(value: JsonValue, param: str) -> Carried:
    """`guided_decoding_backend`: taken where it names the engine that is here anyway.

    Raises:
        InvalidRequestError: it names another, which would be a promise about what is enforced, and how.
    """
    engine, _, options = carried.text(value, param=param).partition(":")
    if engine not in _ENGINES or not set(filter(None, options.split(","))) <= _ENGINE_OPTIONS:
        message = f"`{param}` is not the caller's choice here; leave it out, or send `auto`"
        raise InvalidRequestError(RequestFault.UNSUPPORTED_PARAMETER, message, param=param)
    return Carried(notes={param: "there is one engine"})


def read_white_space(value: JsonValue, param: str) -> Carried:
    """A pattern of the white space between the tokens of JSON: taken where it allows that there is none.

    Raises:
        InvalidRequestError: it may demand white space, and none is written here.
    """
    if not isinstance(value, str):
        raise InvalidRequestError(RequestFault.INVALID_TYPE, f"`{param}` must be a string", param=param)
    if value not in _BLANK_PATTERNS:
        message = f"`{param}` is not the caller's choice: {_COMPACT}; leave it out, or send `[ ]?`"
        raise InvalidRequestError(RequestFault.UNSUPPORTED_PARAMETER, message, param=param)
    return Carried(notes={param: _COMPACT})


def _any_object(value: JsonValue, *, param: str, dialect: str) -> Carried:
    assert value is True, "the wire type has booleans only, and false asks for nothing"
    return carried.any_object(param=param, dialect=dialect)


def _layout_notes(sent: StructuredOutputs, param: str) -> Mapping[str, str]:
    if sent.disable_additional_properties:
        place = f"{param}.disable_additional_properties"
        message = f"`{place}` would change the schema: write `additionalProperties: false` where it is meant"
        raise InvalidRequestError(RequestFault.UNSUPPORTED_PARAMETER, message, param=place)
    notes: dict[str, str] = {}
    if sent.disable_any_whitespace is not None:
        notes[f"{param}.disable_any_whitespace"] = _COMPACT
    pattern = (
        NOTHING
        if sent.whitespace_pattern is None
        else read_white_space(sent.whitespace_pattern, f"{param}.whitespace_pattern")
    )
    return {**notes, **pattern.notes}


_READERS: Final[Mapping[str, Callable[..., Carried]]] = {
    "json": carried.schema,
    "regex": carried.regex,
    "choice": carried.choice,
    "grammar": grammar_texts.told_by_text,
    "json_object": _any_object,
    "structural_tag": carried.structural_tag,
}
