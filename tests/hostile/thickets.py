"""Schemas that are small, within every limit on sizes, and meant to grow where they are written out as grammars.

Each may be compiled exactly, or refused by a limit, or by the keyword that no grammar of bearable size can say.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

from tests.hostile.contract import NONE, REFUSED, TRIAL, Hostile, thicket


def hostile_thickets() -> Iterator[Hostile]:
    """All of them."""
    yield from _far_apart()
    yield from _counted()
    yield from _name_classes()
    yield from _alternations()
    yield from _graphs()
    yield from _unevaluated()
    yield from _mirrors()


def _far_apart() -> Iterator[Hostile]:
    def implications(count: int) -> Any:
        return {
            "properties": {f"p{at}": {"type": ["integer", "string"]} for at in range(2 * count)},
            "allOf": [
                {
                    "if": {"properties": {f"p{at}": {"const": at}}, "required": [f"p{at}"]},
                    "then": {"properties": {f"p{at + count}": {"type": "string"}}},
                }
                for at in range(count)
            ],
        }

    for count in (8, 14, 24):
        yield thicket(f"{count} conditions on members {count} apart", partial(implications, count))
    yield thicket(
        "50 members, any of 40 far-apart pairs",
        lambda: {
            "properties": {f"p{at}": {"type": "integer"} for at in range(50)},
            "anyOf": [{"required": [f"p{at}", f"p{(at * 17 + 23) % 50}"]} for at in range(40)],
        },
    )
    yield thicket(
        "exactly one of 40 far-apart pairs",
        lambda: {
            "properties": {f"p{at}": {"type": "integer"} for at in range(50)},
            "oneOf": [{"required": [f"p{at}", f"p{(at * 17 + 23) % 50}"]} for at in range(40)],
        },
    )
    yield thicket(
        "30 names in a ring, half of them, and values that depend",
        lambda: {
            "properties": {f"p{at}": {"type": "integer"} for at in range(30)},
            "minProperties": 15,
            "maxProperties": 20,
            "dependentSchemas": {f"p{at}": {"properties": {f"p{(at + 11) % 30}": {"minimum": at}}} for at in range(30)},
        },
    )
    yield thicket(
        "40 sums of two members at least",
        lambda: {
            "properties": {f"p{at}": {"type": "boolean"} for at in range(40)},
            "allOf": [
                {
                    "anyOf": [
                        {"properties": {f"p{at}": {"const": True}}},
                        {"properties": {f"p{39 - at}": {"const": True}}},
                    ]
                }
                for at in range(20)
            ],
        },
    )


def _counted() -> Iterator[Hostile]:
    def contains(count: int, least: int) -> Any:
        each = [{"contains": {"type": "integer", "minimum": 10 * at}, "minContains": least} for at in range(count)]
        return {"type": "array", "allOf": each}

    yield thicket("5 counts of 10 over nested ranges", lambda: contains(5, 10))
    yield thicket("12 counts of 2 over nested ranges", lambda: contains(12, 2))
    yield thicket(
        "8 counts from above over ranges that overlap",
        lambda: {
            "type": "array",
            "allOf": [{"contains": {"minimum": at, "maximum": at + 4}, "maxContains": 3} for at in range(8)],
        },
    )
    yield thicket(
        "items 500 to 5,000 with two counts",
        lambda: {
            "type": "array",
            "minItems": 500,
            "maxItems": 5_000,
            "items": {"type": "integer"},
            "contains": {"minimum": 5},
            "minContains": 200,
            "maxContains": 900,
        },
    )
    yield thicket(
        "10,000 items at most, and three of a kind",
        lambda: {"type": "array", "maxItems": 10_000, "contains": {"const": 1}, "minContains": 3},
    )
    yield thicket(
        "a tuple of 100, and 50 of a kind",
        lambda: {
            "type": "array",
            "prefixItems": [{"type": "integer", "minimum": at} for at in range(100)],
            "contains": {"type": "integer", "multipleOf": 3},
            "minContains": 50,
        },
    )
    yield thicket(
        "30 distinct ones out of 60",
        lambda: {"type": "array", "items": {"enum": list(range(60))}, "uniqueItems": True, "minItems": 30},
    )
    yield thicket(
        "distinct lists of distinct ones",
        lambda: {
            "type": "array",
            "uniqueItems": True,
            "items": {"type": "array", "items": {"enum": [1, 2, 3]}, "uniqueItems": True},
        },
    )

    def nested(depth: int) -> Any:
        built: Any = {"const": 1}
        for _ in range(depth):
            built = {"type": "array", "contains": built, "minContains": 2, "maxContains": 3}
        return built

    yield thicket("counts within counts, 8 deep", lambda: nested(8))
    yield thicket("not of counts within counts", lambda: {"not": nested(6)})


def _name_classes() -> Iterator[Hostile]:
    yield thicket(
        "8 patterns of names with power sets",
        lambda: {
            "patternProperties": {f"^(a|b)*a(a|b){{{at + 2}}}$": {"maxLength": at} for at in range(8)},
            "additionalProperties": False,
        },
    )
    yield thicket(
        "names under four patterns and a length",
        lambda: {
            "propertyNames": {"allOf": [{"pattern": f"{each}.*{each}"} for each in "abcd"], "maxLength": 200},
            "minProperties": 3,
        },
    )
    yield thicket(
        "names that must not be what patterns say",
        lambda: {
            "propertyNames": {"not": {"anyOf": [{"pattern": f"x.{{{at}}}y"} for at in range(8)]}},
            "patternProperties": {f"z{at}": {"type": "null"} for at in range(8)},
        },
    )
    yield thicket(
        "100 names within 8 patterns",
        lambda: {
            "properties": {f"p{at}": {"type": "integer"} for at in range(100)},
            "patternProperties": {f"{at}": {"minimum": at} for at in range(8)},
        },
    )


def _alternations() -> Iterator[Hostile]:
    yield thicket(
        "any of 400 objects that begin alike",
        lambda: {
            "anyOf": [
                {"properties": {"kind": {"const": f"k{at}"}, "v": {"type": "integer"}}, "required": ["kind"]}
                for at in range(400)
            ]
        },
    )
    yield thicket(
        "one of 100 kinds with members of their own",
        lambda: {
            "oneOf": [
                {
                    "properties": {"kind": {"const": f"k{at}"}, f"v{at}": {"type": "integer"}},
                    "required": ["kind", f"v{at}"],
                    "additionalProperties": False,
                }
                for at in range(100)
            ]
        },
    )
    yield thicket(
        "not of a thousand texts", lambda: {"type": "string", "not": {"enum": [f"t{at}" for at in range(1000)]}}
    )
    yield thicket("not of 100 objects", lambda: {"not": {"enum": [{"a": at, "b": [at]} for at in range(100)]}})
    yield thicket(
        "not of a large object",
        lambda: {"not": {"properties": {f"p{at}": {"type": "string", "minLength": at} for at in range(100)}}},
    )
    yield thicket(
        "any of 300 patterns",
        lambda: {"type": "string", "anyOf": [{"pattern": f"^a{at}[b-d]*x"} for at in range(300)]},
        REFUSED,
        TRIAL,
    )
    yield thicket(
        "exactly one of 30 patterns",
        lambda: {"type": "string", "oneOf": [{"pattern": f"x.{{{at}}}y"} for at in range(30)]},
        REFUSED,
        TRIAL,
    )
    yield thicket(
        "exactly one of 40 lengths",
        lambda: {"type": "string", "oneOf": [{"minLength": at} for at in range(40)]},
    )


def _graphs() -> Iterator[Hostile]:
    def rings(sizes: tuple[int, ...]) -> Any:
        definitions = {
            f"r{size}_{at}": {
                "type": "object",
                "properties": {"n": {"$ref": f"#/$defs/r{size}_{(at + 1) % size}"}, f"v{size}": {"maximum": at}},
            }
            for size in sizes
            for at in range(size)
        }
        return {"allOf": [{"$ref": f"#/$defs/r{size}_0"} for size in sizes], "$defs": definitions}

    yield thicket("rings of 2, 3, 5 and 7 together", lambda: rings((2, 3, 5, 7)))
    yield thicket("rings of 11, 13 and 17 together", lambda: rings((11, 13, 17)))
    yield thicket(
        "rings of 19, 23 and 29, and one of them not",
        lambda: {
            "allOf": [rings((19, 23))["allOf"][0], {"not": {"$ref": "#/$defs/r23_0"}}],
            "$defs": rings((19, 23))["$defs"],
        },
    )
    yield thicket(
        "150 subschemas, each referring to four",
        lambda: {
            "$ref": "#/$defs/d0",
            "$defs": {
                f"d{at}": {
                    "type": "object",
                    "properties": {f"m{n}": {"$ref": f"#/$defs/d{(at * 7 + n * 31 + 1) % 150}"} for n in range(4)},
                }
                for at in range(150)
            },
        },
    )
    yield thicket(
        "a recursive union of everything and its opposite",
        lambda: {
            "$ref": "#/$defs/a",
            "$defs": {
                "a": {"anyOf": [{"type": "array", "items": {"$ref": "#/$defs/b"}}, {"type": "integer"}]},
                "b": {"oneOf": [{"type": "array", "contains": {"$ref": "#/$defs/a"}}, {"not": {"$ref": "#/$defs/a"}}]},
            },
        },
        NONE,
    )


def _unevaluated() -> Iterator[Hostile]:
    yield thicket(
        "no unevaluated members beside 20 conditions",
        lambda: {
            "type": "object",
            "unevaluatedProperties": False,
            "allOf": [
                {
                    "if": {"properties": {f"a{at}": {"const": 1}}, "required": [f"a{at}"]},
                    "then": {"properties": {f"b{at}": True}},
                    "else": {"properties": {f"c{at}": True}},
                }
                for at in range(20)
            ],
        },
    )
    yield thicket(
        "unevaluated items beside 6 searches",
        lambda: {
            "type": "array",
            "unevaluatedItems": {"type": "null"},
            "allOf": [{"contains": {"minimum": at, "maximum": at + 2}} for at in range(6)],
        },
    )
    yield thicket(
        "unevaluated within unevaluated, 12 deep",
        lambda: _unevaluated_tower(12),
        NONE,
    )


def _unevaluated_tower(depth: int) -> Any:
    built: Any = {"properties": {"z": True}}
    for at in range(depth):
        built = {
            "anyOf": [built, {"patternProperties": {f"^p{at}": True}}],
            "unevaluatedProperties": {"type": "integer"},
        }
    return built


def _mirrors() -> Iterator[Hostile]:
    """Each subschema stands in the one before it as it is and turned round: they double as texts, not as graphs."""

    def parity(count: int, *, is_flat: bool) -> Any:
        definitions: dict[str, Any] = {f"d{count}": True if is_flat else {"required": ["z"]}}
        for at in range(count):
            inner = {"$ref": f"#/$defs/d{at + 1}"}
            definitions[f"d{at}"] = {"if": {"required": [f"a{at}"]}, "then": inner, "else": {"not": inner}}
        return {"$ref": "#/$defs/d0", "$defs": definitions}

    yield thicket("the parity of 6 members", lambda: parity(6, is_flat=False))
    yield thicket("the parity of 14 members", lambda: parity(14, is_flat=False))
    yield thicket("the parity of 9 members, of which nothing is left", lambda: parity(9, is_flat=True), NONE)
    yield thicket(
        "exactly one of what is exactly one of what is",
        lambda: {
            "$ref": "#/$defs/d0",
            "$defs": {
                **{f"d{at}": {"oneOf": [{"$ref": f"#/$defs/d{at + 1}"}, {"required": [f"a{at}"]}]} for at in range(13)},
                "d13": {"required": ["z"]},
            },
        },
    )
    yield thicket(
        "unevaluated members of 9 levels that refer to each other",
        lambda: {
            "$ref": "#/$defs/d0",
            "$defs": {
                **{
                    f"d{at}": {
                        "anyOf": [{"$ref": f"#/$defs/d{at + 1}"}, {"patternProperties": {f"^p{at}": True}}],
                        "unevaluatedProperties": {"type": "integer"},
                    }
                    for at in range(9)
                },
                "d9": {"properties": {"z": True}},
            },
        },
        NONE,
    )
