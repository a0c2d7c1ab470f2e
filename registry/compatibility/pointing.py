"""Where a canonical schema speaks of a place in a document."""

from typing import Final

from registry.contract import JsonValue
from registry.errors import UnsupportedPatternError
from registry.pattern_program import pattern_program
from registry.pointers import join, tokens_of

_MAX_FOLLOWED: Final = 64
"""References and `allOf`s on the way to one place."""


def schema_pointer(schema: JsonValue, document_pointer: str, keyword: str) -> str:
    """The pointer of the deepest subschema that surely speaks of the place, and of the keyword where it stands there.

    Alternatives are not entered: which of them counts is not for a pointer to say.
    """
    at = _Place(schema)
    tokens = tokens_of(document_pointer)
    # A member's name is refused by what speaks of the object that the member is in.
    for token in tokens[:-1] if keyword == "propertyNames" else tokens:
        if not at.enter(token):
            return at.pointer
    return at.with_keyword(keyword)


class _Place:
    def __init__(self, root: JsonValue) -> None:
        self._root = root
        self.pointer, self._schema = self._followed("", root)

    def _followed(self, pointer: str, schema: JsonValue) -> tuple[str, JsonValue]:
        for _ in range(_MAX_FOLLOWED):
            target = schema.get("$ref") if isinstance(schema, dict) else None
            if not isinstance(target, str) or not isinstance(self._root, dict):
                break
            definitions = self._root.get("$defs")
            name = target.removeprefix("#/$defs/")
            if not isinstance(definitions, dict) or name not in definitions:
                break
            pointer, schema = join("/$defs", name), definitions[name]
        return pointer, schema

    def _parts(self) -> list[tuple[str, JsonValue]]:
        """The subschema and those of its `allOf`s, breadth first."""
        found = [(self.pointer, self._schema)]
        for pointer, schema in found:
            branches = schema.get("allOf") if isinstance(schema, dict) else None
            if isinstance(branches, list) and len(found) < _MAX_FOLLOWED:
                found += [self._followed(join(pointer, "allOf", i), branch) for i, branch in enumerate(branches)]
        return found

    def with_keyword(self, keyword: str) -> str:
        """The keyword's own place, if it is here."""
        for pointer, schema in self._parts():
            if isinstance(schema, dict) and keyword in schema:
                return join(pointer, keyword)
        return self.pointer

    def enter(self, token: str) -> bool:
        """Go to what speaks of a member or an item; false where nothing surely does."""
        for pointer, schema in self._parts():
            if isinstance(schema, dict):
                found = _child(schema, token)
                if found is not None:
                    path, child = found
                    self.pointer, self._schema = self._followed(join(pointer, *path), child)
                    return True
        return False


def _child(schema: dict[str, JsonValue], token: str) -> tuple[tuple[str | int, ...], JsonValue] | None:
    named, patterns, prefix = (schema.get(k) for k in ("properties", "patternProperties", "prefixItems"))
    if isinstance(named, dict) and token in named:
        return ("properties", token), named[token]
    for pattern, child in patterns.items() if isinstance(patterns, dict) else ():
        if _finds(pattern, token):
            return ("patternProperties", pattern), child
    if token.isascii() and token.isdigit():
        index = int(token) if len(token) < 10 else 1 << 30
        if isinstance(prefix, list) and index < len(prefix):
            return ("prefixItems", index), prefix[index]
        if "items" in schema:
            return ("items",), schema["items"]
    for keyword in ("additionalProperties", "unevaluatedProperties", "unevaluatedItems"):
        if keyword in schema:
            return (keyword,), schema[keyword]
    return None


def _finds(pattern: str, text: str) -> bool:
    try:
        return pattern_program(pattern).search(text) is not None
    except UnsupportedPatternError:
        return False
