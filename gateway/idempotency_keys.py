"""Which request a key was sent with: the digests under which answers are kept."""

import re
from hashlib import sha256
from typing import Final

from starlette.requests import Request

from gateway.errors import InvalidRequestError, RequestFault
from registry.identifiers import PrincipalId

MAX_KEY_CHARACTERS: Final = 255
_KEY: Final = re.compile(rf"[\x21-\x7e]{{1,{MAX_KEY_CHARACTERS}}}", re.ASCII)
_ASKING_HEADERS: Final = ("if-match", "if-none-match")
"""A part of what is asked."""


def read_key(request: Request) -> str | None:
    """The `Idempotency-Key` of a request.

    Raises:
        InvalidRequestError: it is no key, or there are two.
    """
    sent = request.headers.getlist("idempotency-key")
    if not sent:
        return None
    if len(sent) > 1 or _KEY.fullmatch(sent[0]) is None:
        message = f"`Idempotency-Key` is 1 to {MAX_KEY_CHARACTERS} printable characters without spaces"
        raise InvalidRequestError(RequestFault.INVALID_VALUE, message, param="idempotency-key")
    return sent[0]


def key_digest(principal: PrincipalId, key: str) -> str:
    """Keys belong to a principal of a tenant; they are stored as digests only."""
    return _digest(principal.encode(), key.encode())


def request_digest(request: Request, body: bytes) -> str:
    """What makes a request the same again: method, path, query, preconditions, and every byte of the body."""
    asked = [request.headers.get(name, "").encode() for name in _ASKING_HEADERS]
    return _digest(request.method.encode(), request.url.path.encode(), request.url.query.encode(), *asked, body)


def _digest(*parts: bytes) -> str:
    digest = sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()
