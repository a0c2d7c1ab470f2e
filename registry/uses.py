"""Which keywords a canonical schema uses, and where: what negotiation asks about."""

from collections.abc import Iterator

from policy.capability import KeywordUse
from registry.contract import JsonValue
from registry.pointers import join
from registry.schema_positions import subschemas


def keyword_uses(schema: JsonValue) -> Iterator[KeywordUse]:
    """Every keyword of every subschema of a canonical schema, with its canonical pointer; `$defs` is no use."""
    pending: list[tuple[str, JsonValue]] = [("", schema)]
    while pending:
        pointer, node = pending.pop()
        if not isinstance(node, dict):
            continue
        yield from (
            KeywordUse(pointer=join(pointer, keyword), keyword=keyword) for keyword in node if keyword != "$defs"
        )
        pending.extend(reversed([(join(pointer, *path), child) for path, child in subschemas(node)]))
