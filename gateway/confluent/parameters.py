"""Query parameters of the façade, read strictly: what is not understood is refused, not taken for a default."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from starlette.datastructures import QueryParams

from gateway.confluent.errors import SHOWN_CHARACTERS, ConfluentError, Fault
from registry.identifiers import RevisionNumber
from registry.store.subjects import Standing

MAX_LISTED: Final = 10_000
"""Members of one list. A longer one has to be asked for in pages: it is never cut in silence."""

Item = TypeVar("Item")

_INTEGER: Final = re.compile(r"-?[0-9]{1,10}", re.ASCII)
_MAX_NUMBER: Final = 2**31 - 1
"""Confluent's versions and ids are Java's integers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A part of a list. `limit` is None where the whole of it was asked for."""

    offset: int = 0
    limit: int | None = None

    def rows(self, max_listed: int = MAX_LISTED) -> int:
        """How many to read: one more than may be answered where a list that is too long has to be noticed."""
        return max_listed + 1 if self.limit is None else min(self.limit, max_listed)

    def complete(self, found: Sequence[Item], max_listed: int = MAX_LISTED) -> list[Item]:
        """What was read, unless the whole list was asked for and is longer than one answer may be.

        Raises:
            ConfluentError: it is.
        """
        if self.limit is None and len(found) > max_listed:
            message = f"There are more than {max_listed}; ask for a part of them with offset and limit."
            raise ConfluentError(Fault.NOT_PERMITTED, message)
        return list(found)

    def part(self, whole: Sequence[Item]) -> list[Item]:
        """The part of a list that is here already. Raises as `complete` does."""
        return self.complete(whole[self.offset :][: self.rows()])


def read_flag(query: QueryParams, name: str, *spellings: str, default: bool = False) -> bool:
    """A boolean as Java, Python or a person writes it."""
    for spelling in (name, *spellings):
        text = query.get(spelling)
        if text is not None:
            match text.lower():
                case "true":
                    return True
                case "false" | "":
                    return False
            raise ConfluentError(Fault.MALFORMED, f"The parameter '{name}' is 'true' or 'false'.")
    return default


def read_standing(query: QueryParams) -> Standing:
    """`deletedOnly` counts before `deleted`. Clients differ in how they spell it."""
    if read_flag(query, "deletedOnly", "deleted_only"):
        return Standing.RETIRED
    return Standing.ANY if read_flag(query, "deleted") else Standing.LIVE


def read_window(query: QueryParams) -> Window:
    """`offset` and `limit`; a negative limit asks for everything, as Confluent's does."""
    offset, limit = _integer(query, "offset", 0), _integer(query, "limit", -1)
    if offset < 0:
        raise ConfluentError(Fault.MALFORMED, "The parameter 'offset' is 0 or more.")
    return Window(offset=offset, limit=None if limit < 0 else limit)


def refuse_formats(query: QueryParams) -> None:
    """A schema is given out as it was registered and in no other spelling."""
    for name in ("format", "referenceFormat", "reference_format"):
        text = query.get(name, "")
        if text.lower() not in {"", "default"}:
            message = (
                f"The {name} '{text[:SHOWN_CHARACTERS]}' is not served; a schema is given out as it was registered."
            )
            raise ConfluentError(Fault.NOT_PERMITTED, message)


def read_version(text: str) -> RevisionNumber | None:
    """A version of a path; None for the latest, which is spelled `latest` or `-1`."""
    if text.lower() in {"latest", "-1"}:
        return None
    if _INTEGER.fullmatch(text) and 1 <= int(text) <= _MAX_NUMBER:
        return RevisionNumber(int(text))
    message = (
        f"The specified version '{text[:SHOWN_CHARACTERS]}' is not a valid version id. Allowed values are between "
        f'[1, 2^31-1] and the string "latest"'
    )
    raise ConfluentError(Fault.INVALID_VERSION, message)


def read_id(text: str) -> int | None:
    """A schema id of a path; None for what can be none."""
    return int(text) if _INTEGER.fullmatch(text) and 1 <= int(text) <= _MAX_NUMBER else None


def _integer(query: QueryParams, name: str, default: int) -> int:
    text = query.get(name)
    if text is None or text == "":
        return default
    if _INTEGER.fullmatch(text) is None or abs(int(text)) > _MAX_NUMBER:
        raise ConfluentError(Fault.MALFORMED, f"The parameter '{name}' is a whole number.")
    return int(text)
