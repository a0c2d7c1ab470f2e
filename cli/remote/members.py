"""A gateway's answer, read member by member: what is not there or of another type is an error that says so.

Members that are not asked for are ignored, so that a newer gateway may say more.
"""

from collections.abc import Mapping
from typing import NoReturn

from cli.remote.exits import CommandError, Exit
from registry.contract import JsonValue


class Members:
    """A JSON object of an answer."""

    def __init__(self, value: Mapping[str, JsonValue], *, place: str = "the answer") -> None:
        self.value = dict(value)
        self._place = place

    def text(self, name: str) -> str:
        """A string."""
        found = self.value.get(name)
        return found if isinstance(found, str) else self._unexpected(name, "a string")

    def optional_text(self, name: str) -> str | None:
        """A string or null."""
        return None if self.value.get(name) is None else self.text(name)

    def number(self, name: str) -> int:
        """A whole number."""
        found = self.value.get(name)
        if isinstance(found, int) and not isinstance(found, bool):
            return found
        return self._unexpected(name, "a whole number")

    def optional_number(self, name: str) -> int | None:
        """A whole number or null."""
        return None if self.value.get(name) is None else self.number(name)

    def flag(self, name: str) -> bool:
        """True or false."""
        found = self.value.get(name)
        return found if isinstance(found, bool) else self._unexpected(name, "true or false")

    def member(self, name: str) -> "Members":
        """An object."""
        found = self.value.get(name)
        return Members(found, place=f"`{name}`") if isinstance(found, dict) else self._unexpected(name, "an object")

    def optional_member(self, name: str) -> "Members | None":
        """An object or null."""
        return None if self.value.get(name) is None else self.member(name)

    def each(self, name: str) -> "tuple[Members, ...]":
        """A list of objects."""
        found = self.value.get(name)
        if not isinstance(found, list):
            self._unexpected(name, "a list")
        return tuple(
            Members(item, place=f"`{name}[{place}]`") if isinstance(item, dict) else self._unexpected(name, "objects")
            for place, item in enumerate(found)
        )

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of strings."""
        found = self.value.get(name)
        if not isinstance(found, list):
            self._unexpected(name, "a list")
        return tuple(item if isinstance(item, str) else self._unexpected(name, "strings") for item in found)

    def _unexpected(self, name: str, wanted: str) -> NoReturn:
        message = f"the gateway's answer cannot be read: `{name}` of {self._place} is not {wanted}"
        raise CommandError(message, exit_code=Exit.TRY_AGAIN, code="unexpected_answer")
