"""Many allowed requests speak of what is there and ask for what can be done: otherwise nearly all would end at a name
that nobody has, or at a schema that is none. Which do is decided by the lengths of what was made, so a seed tells all.

Requests that are not allowed are left as they were made, so that they stay so.
"""

import os
import re
from pathlib import Path
from typing import Any

import schemathesis

from tests.extended.described_api import KNOWN, STATUSES

_KEY = re.compile(r"[!-~]{1,255}")
SCHEMA = {"type": "object"}
CARRIED: tuple[tuple[str, Any], ...] = (
    ("contract", "invoice@prod"),
    ("contract", {"kind": "choice", "definition": ["{}", "x"]}),
    ("response_format", {"type": "json_schema", "json_schema": {"name": "a", "schema": SCHEMA}}),
    ("response_format", {"type": "json_object"}),
    ("guided_json", SCHEMA),
    ("structured_outputs", {"regex": "[{][}]"}),
    ("grammar", 'root ::= "{}"'),
)
CARRIERS = frozenset(
    {
        *("contract", "response_format", "text", "structured_outputs", "guided_json", "guided_regex", "guided_choice"),
        *("guided_grammar", "json_schema", "regex", "ebnf", "structural_tag", "grammar", "parameters"),
        *("guided_decoding_backend", "guided_whitespace_pattern"),
    }
)
SELDOM = frozenset({"tools", "tool_choice", "max_tokens", "stream_options", "functions", "function_call", "include"})
"""Each is refused in most company."""


@schemathesis.hook
def before_call(_context: schemathesis.HookContext, case: schemathesis.Case[Any], _kwargs: dict[str, Any]) -> None:
    """Names that are there in place of every second one, and what can be done in place of every second body."""
    key = case.headers.get("Idempotency-Key")
    if isinstance(key, str) and _KEY.fullmatch(key):
        # Under one key all but the first request would only be told so.
        case.headers["Idempotency-Key"] = f"{key[:200]}{case.id}"
    if case.meta is not None and case.meta.generation.mode is schemathesis.GenerationMode.POSITIVE:
        case.path_parameters = {name: _known(name, value) for name, value in case.path_parameters.items()}
        case.body = _possible(case.body)


@schemathesis.hook
def after_call(
    _context: schemathesis.HookContext, case: schemathesis.Case[Any], response: schemathesis.Response
) -> None:
    """Write down how it ended."""
    with Path(os.environ[STATUSES]).open("a") as file:
        file.write(f"{case.operation.label}\t{response.status_code}\n")


def _possible(body: Any) -> Any:
    size = len(str(body))
    if not isinstance(body, dict) or size % 2:
        return body
    if isinstance(body.get("model"), str) and ("messages" in body or "input" in body):
        return _generation(body, size)
    if isinstance(body.get("schemaType"), str):
        return {"schema": '{"type": "object"}', "schemaType": "JSON"}
    if isinstance(body.get("compatibility"), str) and len(body) == 1:
        return {"compatibility": ("NONE", "BACKWARD", "FULL")[size % 3]}
    if isinstance(body.get("name"), str) and body.keys() & {"kind", "schema", "definition"}:
        rest = {name: value for name, value in body.items() if name not in {"definition", "dialect"}}
        return rest | {"name": _contract_name(body["name"]), "kind": "json_schema", "schema": SCHEMA}
    if body.keys() >= {"old", "new"}:
        return {"old": "invoice@1", "new": {"schema": SCHEMA}}
    if isinstance(body.get("revision"), int):
        return body | {"revision": 1 + size % 4 // 2}
    return body


def _generation(body: dict[str, Any], size: int) -> dict[str, Any]:
    name, value = CARRIED[size // 2 % len(CARRIED)]
    kept = {each: body[each] for each in body if each not in CARRIERS | SELDOM}
    said: Any = {"input": "hi"} if "input" in body else {"messages": [{"role": "user", "content": "hi"}]}
    if name == "response_format" and "input" in body:
        name, value = "text", {"format": {"type": "json_object"}}
    made: dict[str, Any] = kept | said | {"model": KNOWN["model"], name: value}
    return made


def _contract_name(name: str) -> str:
    return name if name.isascii() and name.isalnum() and name.islower() else f"made-{len(name) % 7}"


def _known(name: str, value: Any) -> Any:
    return KNOWN[name] if name in KNOWN and len(str(value)) % 2 else value
