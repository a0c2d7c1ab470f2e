"""Every top-level field of a Chat Completions request that we know, and what becomes of the ones we do not.

A field is used, accepted without effect, or refused by name; a field that could be a constraint is never ignored,
because a server that drops it answers 200 to a request it did not serve.
"""

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass

from gateway.errors import InvalidRequestError, RequestFault
from registry.contract import JsonValue

USED = frozenset(
    {
        "messages", "model", "response_format", "contract", "temperature", "top_p", "seed", "stop", "stream",
        "stream_options", "max_tokens", "max_completion_tokens",
    }
)  # fmt: skip
"""Read by `gateway.chat.protocol.ChatRequest`."""

ACCEPTED: Mapping[str, str] = {
    "user": "not used",
    "metadata": "not kept",
    "store": "nothing is stored, whatever it says",
    "service_tier": "there is one tier",
    "safety_identifier": "not used",
    "prompt_cache_key": "not used",
    "prompt_cache_options": "not used",
    "prompt_cache_retention": "not used",
    "parallel_tool_calls": "there are no tools to call",
    "reasoning_effort": "the models served here have no reasoning control",
    "verbosity": "the models served here have no verbosity control",
}
"""Cannot change what a correct answer is; taken for the sake of stock clients, with the effect stated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsupported:
    """A field of the API that is not served. `neutral` are the values that ask for nothing; null always is one."""

    neutral: tuple[JsonValue, ...] = ()
    instead: str = ""


UNSUPPORTED: Mapping[str, Unsupported] = {
    "tools": Unsupported(neutral=([],), instead="tools are not served here"),
    "tool_choice": Unsupported(neutral=("none", "auto"), instead="tools are not served here"),
    "functions": Unsupported(neutral=([],), instead="functions are not served here"),
    "function_call": Unsupported(neutral=("none", "auto"), instead="functions are not served here"),
    "n": Unsupported(neutral=(1,), instead="send one request for each answer"),
    "logprobs": Unsupported(neutral=(False,), instead="log probabilities are not returned"),
    "top_logprobs": Unsupported(neutral=(0,), instead="log probabilities are not returned"),
    "logit_bias": Unsupported(neutral=({},), instead="constrain the output with `response_format`"),
    "frequency_penalty": Unsupported(neutral=(0,), instead="penalties are not served"),
    "presence_penalty": Unsupported(neutral=(0,), instead="penalties are not served"),
    "modalities": Unsupported(neutral=(["text"],), instead="answers are text"),
    "audio": Unsupported(instead="answers are text"),
    "prediction": Unsupported(instead="predicted outputs are not served"),
    "moderation": Unsupported(instead="moderation is not served"),
    "web_search_options": Unsupported(instead="web search is not served"),
}

_USE_SCHEMA = 'use `response_format: {"type": "json_schema", "json_schema": {"name": …, "schema": …}}`'
_NO_KIND = "register a contract of this kind and send its name as `contract`"

CONSTRAINT_LIKE: Mapping[str, str] = {
    "guided_json": _USE_SCHEMA,
    "guided_regex": f'{_NO_KIND}; a `{{"type": "string", "pattern": …}}` schema says the same of a JSON string',
    "guided_choice": f"{_NO_KIND}; an `enum` says the same of a JSON value",
    "guided_grammar": _NO_KIND,
    "guided_decoding_backend": "the engine is not the caller's choice",
    "guided_whitespace_pattern": "white space is policy here",
    "structured_outputs": _USE_SCHEMA,
    "structural_tag": _NO_KIND,
    "grammar": _NO_KIND,
    "ebnf": _NO_KIND,
    "gbnf": _NO_KIND,
    "lark": _NO_KIND,
    "regex": f'{_NO_KIND}; a `{{"type": "string", "pattern": …}}` schema says the same of a JSON string',
    "pattern": f'{_NO_KIND}; a `{{"type": "string", "pattern": …}}` schema says the same of a JSON string',
    "choice": f"{_NO_KIND}; an `enum` says the same of a JSON value",
    "choices": f"{_NO_KIND}; an `enum` says the same of a JSON value",
    "json_schema": _USE_SCHEMA,
    "schema": _USE_SCHEMA,
    "json": _USE_SCHEMA,
    "json_object": 'use `response_format: {"type": "json_object"}`',
    "json_mode": 'use `response_format: {"type": "json_object"}`',
    "format": _USE_SCHEMA,
    "text": _USE_SCHEMA,
    "response_schema": _USE_SCHEMA,
    "response_model": _USE_SCHEMA,
    "output_schema": _USE_SCHEMA,
    "output_format": _USE_SCHEMA,
    "output_config": _USE_SCHEMA,
    "constraints": _USE_SCHEMA,
}
"""How other servers spell a constraint."""

_LOOKS_LIKE_CONSTRAINT = re.compile(
    r"guid|gramm|regex|schema|struct|ebnf|gbnf|lark|constrain|choice|json|pattern|format|contract|valid", re.ASCII
)
_CARRIERS = ("response_format", "contract")
_KNOWN = (*sorted(USED), *ACCEPTED, *UNSUPPORTED)
_MAX_SHOWN_CHARACTERS = 64


def screen_fields(body: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """The fields that are used, and nothing else.

    Raises:
        InvalidRequestError: a field is unsupported and asks for something, looks like a constraint, or is unknown.
    """
    used: dict[str, JsonValue] = {}
    for name, value in body.items():
        if name in USED:
            used[name] = value
        elif name in UNSUPPORTED:
            _refuse_unless_neutral(name, value)
        elif name not in ACCEPTED:
            raise _unknown(name)
    return used


def unknown_member(name: str, *, known: tuple[str, ...], param: str) -> InvalidRequestError:
    """The refusal of an unknown member of a nested object, with what was probably meant."""
    close = difflib.get_close_matches(name[:_MAX_SHOWN_CHARACTERS], known, n=1)
    meant = f"; did you mean `{close[0]}`?" if close else ""
    return InvalidRequestError(
        RequestFault.UNKNOWN_PARAMETER,
        f"`{param}` is not known{meant}",
        param=param,
        suggestion=close[0] if close else None,
    )


def _refuse_unless_neutral(name: str, value: JsonValue) -> None:
    rule = UNSUPPORTED[name]
    # `True == 1` in Python, and a caller who sends `n: true` did not send 1.
    if value is None or any(value == neutral and type(value) is type(neutral) for neutral in rule.neutral):
        return
    raise InvalidRequestError(
        RequestFault.UNSUPPORTED_PARAMETER, f"`{name}` is not supported: {rule.instead}", param=name
    )


def _unknown(name: str) -> InvalidRequestError:
    shown = name[:_MAX_SHOWN_CHARACTERS]
    close = difflib.get_close_matches(shown, _KNOWN, n=1, cutoff=0.75)
    meant = f"did you mean `{close[0]}`?" if close else ""
    suggestion = close[0] if close else None
    instead = CONSTRAINT_LIKE.get(name)
    if instead is not None or suggestion in _CARRIERS or _LOOKS_LIKE_CONSTRAINT.search(shown.lower()):
        advice = instead or meant or _USE_SCHEMA
        message = f"`{shown}` looks like a constraint and is not one that is known here; it is not ignored: {advice}"
        return InvalidRequestError(RequestFault.UNKNOWN_CONSTRAINT, message, param=shown, suggestion=suggestion)
    message = f"`{shown}` is not a parameter of this API" + (f"; {meant}" if meant else "")
    return InvalidRequestError(RequestFault.UNKNOWN_PARAMETER, message, param=shown, suggestion=suggestion)
