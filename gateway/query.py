"""Query strings and precondition headers, read as strictly as bodies: what is not known is refused by name."""

import re
from collections.abc import Collection
from typing import TypeVar

from starlette.requests import Request

from gateway.errors import InvalidRequestError, RequestFault
from gateway.fields import unknown_member
from registry.store.bounds import DEFAULT_PAGE, MAX_PAGE

_Value = TypeVar("_Value", bound=str)

MAX_QUERY_CHARACTERS = 1_024
"""Of one value; cursors are the longest."""
_NUMBER = re.compile(r"[0-9]{1,18}", re.ASCII)
_ETAG = re.compile(r'"(0|[1-9][0-9]{0,17})"', re.ASCII)


class Query:
    """The parameters of one request. Every name that a route knows is said when it is made."""

    def __init__(self, request: Request, *known: str) -> None:
        self._values: dict[str, str] = {}
        for name, value in request.query_params.multi_items():
            if name not in known:
                raise unknown_member(name, known=known, param=name[:64])
            if name in self._values:
                raise _invalid(name, "it is there twice")
            if "\0" in value:
                raise _invalid(name, "it holds U+0000")
            if len(value) > MAX_QUERY_CHARACTERS:
                raise _invalid(name, f"it is longer than {MAX_QUERY_CHARACTERS} characters")
            self._values[name] = value

    def text(self, name: str) -> str | None:
        """The value; None where it is absent or empty."""
        return self._values.get(name) or None

    def choice(self, name: str, values: Collection[_Value]) -> _Value | None:
        """One of `values`."""
        text = self.text(name)
        if text is None:
            return None
        for value in values:
            if text == value:
                return value
        raise _invalid(name, f"it is one of {', '.join(values)}")

    def flag(self, name: str) -> bool:
        """`true` or `false`; false where it is absent."""
        return self.choice(name, ("true", "false")) == "true"

    def number(self, name: str, *, default: int, least: int = 0, most: int = 2**53) -> int:
        """A whole number within bounds."""
        text = self.text(name)
        if text is None:
            return default
        if _NUMBER.fullmatch(text) is None or not least <= int(text) <= most:
            raise _invalid(name, f"it is a whole number from {least} to {most}")
        return int(text)

    def page(self) -> tuple[str | None, int]:
        """`cursor` and `limit`."""
        return self.text("cursor"), self.number("limit", default=DEFAULT_PAGE, least=1, most=MAX_PAGE)


PAGE = ("cursor", "limit")


def if_match(request: Request) -> int | None:
    """The version that `If-Match` asks for; None where it asks for none."""
    sent = request.headers.get("if-match")
    if sent is None:
        return None
    found = _ETAG.fullmatch(sent.strip())
    if found is None:
        raise _invalid("if-match", 'send one version as its ETag was given, such as `"3"`')
    return int(found[1])


def must_be_new(request: Request) -> bool:
    """Whether `If-None-Match: *` asks that there be nothing yet."""
    sent = request.headers.get("if-none-match")
    if sent is None:
        return False
    if sent.strip() != "*":
        raise _invalid("if-none-match", "`*` is the only value that is read")
    if "if-match" in request.headers:
        raise InvalidRequestError(
            RequestFault.CONFLICTING_PARAMETERS,
            "`If-Match` and `If-None-Match` ask for opposites: send one of them",
            param="if-none-match",
        )
    return True


def etag(version: int) -> dict[str, str]:
    """The header that names a version."""
    return {"ETag": f'"{version}"'}


def _invalid(name: str, why: str) -> InvalidRequestError:
    return InvalidRequestError(RequestFault.INVALID_VALUE, f"`{name}` is refused: {why}", param=name)
