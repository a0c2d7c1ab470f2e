"""Members of the objects that kinds are written in: known by name, of their type, and no others."""

from collections.abc import Mapping
from difflib import get_close_matches

from policy.rejection import RejectionCode
from registry.contract import JsonValue
from registry.kinds.faults import refuse, shown
from registry.pointers import join


class Members:
    """One object at `pointer`, whose members are taken one by one; `close` refuses what nobody took."""

    def __init__(self, value: JsonValue, *, what: str, pointer: str) -> None:
        if not isinstance(value, dict):
            refuse(RejectionCode.INVALID_SCHEMA, f"{what} is an object.", pointer=pointer)
        self.what = what
        self.pointer = pointer
        self._value: Mapping[str, JsonValue] = value
        self._known: set[str] = set()

    def has(self, name: str) -> bool:
        """Whether the member is there and not null."""
        self._known.add(name)
        return self._value.get(name) is not None

    def at(self, name: str) -> str:
        """The pointer of a member."""
        return join(self.pointer, name)

    def value(self, name: str) -> JsonValue:
        """A member that must be there, of any type."""
        self._known.add(name)
        if name not in self._value:
            refuse(RejectionCode.INVALID_SCHEMA, f"{self.what} needs `{name}`.", pointer=self.pointer, keyword=name)
        return self._value[name]

    def text(self, name: str) -> str:
        """A string that must be there."""
        found = self.value(name)
        if not isinstance(found, str):
            refuse(RejectionCode.INVALID_SCHEMA, f"`{name}` is a string.", pointer=self.at(name), keyword=name)
        return found

    def optional_text(self, name: str) -> str | None:
        """A string, or nothing."""
        return self.text(name) if self.has(name) else None

    def flag(self, name: str) -> bool:
        """A boolean; absent or null is false."""
        if not self.has(name):
            return False
        found = self._value[name]
        if not isinstance(found, bool):
            refuse(RejectionCode.INVALID_SCHEMA, f"`{name}` is a boolean.", pointer=self.at(name), keyword=name)
        return found

    def count(self, name: str) -> int:
        """A whole number that must be there."""
        found = self.value(name)
        if isinstance(found, bool) or not isinstance(found, int):
            refuse(RejectionCode.INVALID_SCHEMA, f"`{name}` is a whole number.", pointer=self.at(name), keyword=name)
        return found

    def items(self, name: str) -> list[JsonValue]:
        """A list with members, which must be there."""
        found = self.value(name)
        if not isinstance(found, list) or not found:
            message = f"`{name}` is a list that is not empty."
            refuse(RejectionCode.INVALID_SCHEMA, message, pointer=self.at(name), keyword=name)
        return found

    def texts(self, name: str) -> list[str]:
        """A set of strings, sorted, none of them empty; absent or null is no string."""
        if not self.has(name):
            return []
        found = self._value[name]
        if not isinstance(found, list):
            message = f"`{name}` is a list of strings."
            refuse(RejectionCode.INVALID_SCHEMA, message, pointer=self.at(name), keyword=name)
        members: set[str] = set()
        for index, member in enumerate(found):
            if not isinstance(member, str) or not member:
                message = f"Every member of `{name}` is a string that is not empty."
                refuse(RejectionCode.INVALID_SCHEMA, message, pointer=join(self.at(name), index), keyword=name)
            members.add(member)
        return sorted(members)

    def close(self) -> None:
        """Refuse members that nobody asked for."""
        for name in self._value:
            if name not in self._known:
                close = get_close_matches(name[:64], self._known, n=1)
                message = f"{self.what} has no member {shown(name)}."
                refuse(
                    RejectionCode.UNKNOWN_KEYWORD,
                    message,
                    pointer=self.at(name),
                    keyword=name,
                    suggestion=close[0] if close else None,
                )
