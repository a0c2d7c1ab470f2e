"""How long the text of a value is, without writing it: parts that a value holds many times are measured once."""

from typing import Final

from registry.contract import JsonValue

_MAX_KNOWN: Final = 100_000


class Weights:
    """Measures values that are never changed. Solvers share the parts of what they make, so a value of a few hundred
    parts in memory can be a text of gigabytes."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[JsonValue, int]] = {}

    def of(self, value: JsonValue) -> int:
        """About the characters of the value's text: no more than twice as many, if numbers have one digit."""
        match value:
            case str():
                return len(value) + 2
            case list() | dict():
                known = self._known.get(id(value))
                if known is None:
                    if len(self._known) >= _MAX_KNOWN:
                        self._known.clear()
                    # The value is kept beside its weight, so that no other one takes its place in memory.
                    known = self._known[id(value)] = (value, self._of_parts(value))
                return known[1]
            case _:
                return 1

    def _of_parts(self, value: list[JsonValue] | dict[str, JsonValue]) -> int:
        if isinstance(value, dict):
            return 2 + sum(len(name) + 4 + self.of(member) for name, member in value.items())
        return 2 + sum(1 + self.of(item) for item in value)
