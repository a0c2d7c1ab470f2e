"""Which keywords a canonical schema uses, and where: what negotiation asks about."""

from collections.abc import Iterator

from policy.capability import KeywordUse
from registry.contract import JsonValue
from registry.pointers import join
from registry.survey import SchemaObject, subschemas

_IDLE_VALUES = (True, False, 0, {}, [])


def keyword_uses(schema: JsonValue) -> Iterator[KeywordUse]:
    """Every keyword of every subschema of a canonical schema, with its canonical pointer; `$defs` is no use."""
    pending: list[tuple[str, JsonValue]] = [("", schema)]
    while pending:
        pointer, node = pending.pop()
        if not isinstance(node, dict):
            continue
        for keyword, value in node.items():
            if keyword != "$defs":
                yield KeywordUse(
                    pointer=join(pointer, keyword), keyword=keyword, may_be_idle=_may_be_idle(keyword, value, node)
                )
        pending.extend(reversed([(join(pointer, *path), child) for path, child in subschemas(node)]))


def _may_be_idle(keyword: str, value: JsonValue, schema: SchemaObject) -> bool:
    """Generous: whatever looks as if it might restrict nothing is left to the lowering."""
    match keyword:
        case "uniqueItems":
            return value is False
        case "contains" | "minContains":
            return schema.get("minContains") == 0
        case "if" | "then" | "else":
            branches = [schema.get(name, True) for name in ("then", "else")]
            return all(branch in _IDLE_VALUES for branch in branches) or schema.get("if") in _IDLE_VALUES
        case "dependentRequired" | "dependentSchemas":
            return isinstance(value, dict) and all(member in _IDLE_VALUES for member in value.values())
        case _:
            return value in _IDLE_VALUES
