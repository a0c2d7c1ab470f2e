"""Half of the requests speak of what is there: otherwise nearly all would end at a name that nobody has."""

from typing import Any

import schemathesis

from tests.extended.described_api import KNOWN


@schemathesis.hook
def map_path_parameters(_context: schemathesis.HookContext, parameters: dict[str, Any] | None) -> dict[str, Any] | None:
    """Names that are there, in place of every second one."""
    return None if parameters is None else {name: _known(name, value) for name, value in parameters.items()}


@schemathesis.hook
def map_body(_context: schemathesis.HookContext, body: Any) -> Any:
    """The model that is there, in place of every second one."""
    if isinstance(body, dict) and isinstance(body.get("model"), str):
        return body | {"model": _known("model", body["model"])}
    return body


def _known(name: str, value: Any) -> Any:
    return KNOWN[name] if name in KNOWN and len(str(value)) % 2 else value
