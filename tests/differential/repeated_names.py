"""Names that come twice in one object of a text, and names that a schema declares."""

import json

from registry.contract import JsonValue

_KEYED = ("properties", "dependentRequired", "dependentSchemas")


def repeated_names(text: bytes) -> set[str]:
    """Those that some object of the text has more than once."""
    found: set[str] = set()

    def read(members: list[tuple[str, object]]) -> dict[str, object]:
        names = [name for name, _ in members]
        found.update(name for name in names if names.count(name) > 1)
        return dict(members)

    json.loads(text, object_pairs_hook=read)
    return found


def declared_names(schema: JsonValue) -> set[str]:
    """Those that some subschema knows by name; of whatever else is in the schema, more rather than fewer."""
    found: set[str] = set()
    pending: list[JsonValue] = [schema]
    while pending:
        node = pending.pop()
        if isinstance(node, list):
            pending += node
        elif isinstance(node, dict):
            pending += node.values()
            for keyword in _KEYED:
                named = node.get(keyword)
                found |= named.keys() if isinstance(named, dict) else set()
            required = node.get("required")
            found |= {name for name in required if isinstance(name, str)} if isinstance(required, list) else set()
    return found
