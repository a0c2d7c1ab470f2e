"""A smaller schema, and fewer values, of which the same is still true."""

from collections.abc import Callable, Iterator

from registry.contract import JsonValue


def shrunk(
    schema: JsonValue, values: list[JsonValue], is_alike: Callable[[JsonValue, list[JsonValue]], bool]
) -> tuple[JsonValue, list[JsonValue]]:
    """Leave out one part after another as long as it stays alike."""
    for value in values:
        if is_alike(schema, [value]):
            values = [value]
            break
    found = True
    while found:
        found = False
        for smaller in _smaller(schema):
            if is_alike(smaller, values):
                schema, found = smaller, True
                break
    return schema, values


def _smaller(value: JsonValue) -> Iterator[JsonValue]:
    """Texts with one part less; large parts go first."""
    match value:
        case dict():
            for name in value:
                yield {key: inner for key, inner in value.items() if key != name}
            for name, inner in value.items():
                if isinstance(inner, dict):
                    yield from ({**value, name: below} for below in (True, False) if inner)
                yield from ({**value, name: below} for below in _smaller(inner))
        case list():
            for at in range(len(value)):
                yield value[:at] + value[at + 1 :]
            for at, inner in enumerate(value):
                if isinstance(inner, dict):
                    yield from ([*value[:at], below, *value[at + 1 :]] for below in (True, False) if inner)
                yield from ([*value[:at], below, *value[at + 1 :]] for below in _smaller(inner))
        case _:
            return
