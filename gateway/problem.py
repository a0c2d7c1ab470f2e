"""One error answer as a value, and the parts of it that several rows of the table share."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

NO_RETRY: Mapping[str, str] = {"x-should-retry": "false"}
"""Stock clients send a 409 again unless they are told that nothing would change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """An error answer. `extensions` are the members beyond OpenAI's four; `member` is the `schemagate` extension."""

    status: int
    type: str
    code: str
    message: str
    param: str | None = None
    extensions: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    member: Any = None

    def body(self, request_id: str) -> dict[str, Any]:
        """The JSON body, also the `data:` object of a stream that had begun."""
        error: dict[str, Any] = {
            "message": self.message,
            "type": self.type,
            "param": self.param,
            "code": self.code,
            **{name: value for name, value in self.extensions.items() if value is not None},
            "request_id": request_id,
        }
        return {"error": error} if self.member is None else {"error": error, "schemagate": self.member}


def dotted(param: str, pointer: str) -> str:
    """`param` followed by a JSON Pointer in the clients' spelling: `/anyOf/0/not` is `.anyOf[0].not`."""
    path = param
    for token in pointer.split("/")[1:]:
        name = token.replace("~1", "/").replace("~0", "~")
        path += f"[{name}]" if name.isdecimal() else f".{name}" if path else name
    return path


def retry_headers(seconds: float | None) -> dict[str, str]:
    """When to ask again; nothing where that is not known."""
    if seconds is None:
        return {}
    # Whole seconds for everyone, milliseconds for the clients that read them.
    return {"Retry-After": str(max(1, math.ceil(seconds))), "retry-after-ms": str(max(1, math.ceil(seconds * 1000)))}
