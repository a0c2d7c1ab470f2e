"""Schemas that are meant to do harm by size, depth, products, references, patterns, numbers and broken text."""

from collections.abc import Iterator
from typing import Any

from tests.hostile.contract import INVALID, KEYWORD, LIMIT, NONE, OK, REFUSED, REGEX, TRIAL, Hostile, schema, text


def hostile_schemas() -> Iterator[Hostile]:
    """All of them."""
    yield from _products()
    yield from _sizes()
    yield from _references()
    yield from _patterns()
    yield from _numbers()
    yield from _presence()
    yield from _arrays()
    yield from _characters()
    yield from _texts()


def _member(at: int) -> dict[str, Any]:
    return {"properties": {f"p{at}": {"type": "integer"}, f"q{at}": {"type": "string"}}, "required": [f"p{at}"]}


def _products() -> Iterator[Hostile]:
    def any_of_products(count: int) -> Any:
        pair = [{"anyOf": [_member(2 * at), _member(2 * at + 1)]} for at in range(count)]
        return {"type": "object", "allOf": pair}

    yield schema("2^10 anyOf product", lambda: any_of_products(10), OK, LIMIT)
    yield schema("2^30 anyOf product", lambda: any_of_products(30), OK, LIMIT)
    yield schema("oneOf of 30 overlapping objects", lambda: {"oneOf": [_member(at) for at in range(30)]}, OK, LIMIT)
    yield schema(
        "oneOf inside oneOf inside oneOf",
        lambda: {"oneOf": [{"oneOf": [{"oneOf": [_member(100 * i + 10 * j + k) for k in range(5)]} for j in range(5)]}
                           for i in range(5)]},
        OK, LIMIT,
    )  # fmt: skip
    yield schema(
        "not around a product",
        lambda: {"not": any_of_products(12)},
        OK, LIMIT,
    )  # fmt: skip

    def tower(depth: int) -> Any:
        built: Any = {"type": "string"}
        for _ in range(depth):
            built = {"not": built}
        return built

    yield schema("a tower of 24 nots", lambda: tower(24), OK, LIMIT)
    yield text("a tower of 5,000 nots", '{"not":' * 5_000 + "true" + "}" * 5_000, LIMIT, "invalid_json")
    yield schema(
        "20 if/then over one another",
        lambda: {"allOf": [{"if": {"required": [f"a{at}"]}, "then": {"required": [f"b{at}"]}} for at in range(20)]},
        OK, LIMIT,
    )  # fmt: skip

    def doubling(levels: int) -> Any:
        definitions = {
            f"d{at}": {"properties": {"l": {"$ref": f"#/$defs/d{at + 1}"}, "r": {"$ref": f"#/$defs/d{at + 1}"}}}
            for at in range(levels)
        }
        return {"$ref": "#/$defs/d0", "$defs": {**definitions, f"d{levels}": {"type": "null"}}}

    yield schema("26 doublings by reference", lambda: doubling(26), OK, LIMIT)

    def in_place(levels: int) -> Any:
        definitions = {
            f"d{at}": {"anyOf": [{"$ref": f"#/$defs/d{at + 1}"}, {"allOf": [{"$ref": f"#/$defs/d{at + 1}"}]}]}
            for at in range(levels)
        }
        return {"$ref": "#/$defs/d0", "$defs": {**definitions, f"d{levels}": {"required": ["x"]}}}

    yield schema("20 doublings in place", lambda: in_place(20), OK, LIMIT)
    yield schema(
        "100 branches that differ in one of 100 members",
        lambda: {"oneOf": [{"properties": {f"m{at}": {"const": at}}} for at in range(100)]},
        OK, LIMIT,
    )  # fmt: skip


def _sizes() -> Iterator[Hostile]:
    yield schema("10^6 enum members", lambda: {"enum": list(range(1_000_000))}, LIMIT)
    yield schema("10^4 enum members", lambda: {"enum": [f"v{at}" for at in range(10_000)]}, OK, LIMIT)
    yield schema("10^4 object constants", lambda: {"enum": [{"a": at} for at in range(10_000)]}, LIMIT)
    yield schema("a constant of 1 MiB", lambda: {"const": "x" * (1 << 20)}, LIMIT)
    yield schema("a name of 1 MiB", lambda: {"properties": {"x" * (1 << 20): True}}, LIMIT)
    yield schema(
        "600 optional properties",
        lambda: {"type": "object", "properties": {f"p{at}": {"type": "null"} for at in range(600)}},
        LIMIT, OK,
    )  # fmt: skip
    yield schema(
        "500 optional properties and minProperties",
        lambda: {"properties": {f"p{at}": True for at in range(500)}, "minProperties": 250},
        LIMIT,
    )  # fmt: skip
    yield schema("required alone, 5,000 names", lambda: {"required": [f"r{at}" for at in range(5_000)]}, LIMIT)
    yield text(
        "JSON nested 50,000 deep", '{"properties":{"a":' * 50_000 + "true" + "}}" * 50_000, LIMIT, "invalid_json"
    )
    yield schema("properties nested 200 deep", lambda: _nested(200), LIMIT)
    yield schema(
        "an enum of one array nested 30 deep, 100 times",
        lambda: {"enum": [[at, _array(25)] for at in range(100)]},
        OK, LIMIT,
    )  # fmt: skip


def _nested(depth: int) -> Any:
    built: Any = True
    for _ in range(depth):
        built = {"properties": {"a": built}}
    return built


def _array(depth: int) -> Any:
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


def _references() -> Iterator[Hostile]:
    def chain(length: int) -> Any:
        links = {f"d{at}": {"$ref": f"#/$defs/d{at + 1}"} for at in range(length)}
        return {"$ref": "#/$defs/d0", "$defs": {**links, f"d{length}": {"type": "null"}}}

    yield schema("a chain of 10,000 references", lambda: chain(10_000), OK, LIMIT)
    yield schema("a chain of 25 references", lambda: chain(25), OK, LIMIT)
    yield schema("a reference to itself", lambda: {"$ref": "#"}, "unguarded_ref_cycle", NONE)
    yield schema(
        "two references to each other",
        lambda: {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
        "unguarded_ref_cycle", NONE,
    )  # fmt: skip
    yield schema(
        "not of itself", lambda: {"not": {"$ref": "#"}}, "unguarded_ref_cycle", NONE, KEYWORD,
    )  # fmt: skip
    yield schema(
        "recursion without a base",
        lambda: {"type": "object", "properties": {"next": {"$ref": "#"}}, "required": ["next"]},
        NONE, LIMIT,
    )  # fmt: skip
    yield schema(
        "recursion through minItems",
        lambda: {"type": "array", "items": {"$ref": "#"}, "minItems": 1},
        NONE, LIMIT,
    )  # fmt: skip
    yield schema(
        "recursion that doubles and needs both",
        lambda: {
            "type": "object",
            "properties": {"l": {"$ref": "#"}, "r": {"$ref": "#"}},
            "anyOf": [{"required": ["l", "r"]}, {"properties": {"l": False}, "minProperties": 1}],
        },
        OK, LIMIT, KEYWORD, NONE,
    )  # fmt: skip
    yield schema("a remote reference", lambda: {"$ref": "http://169.254.169.254/latest"}, "remote_reference")
    yield schema("a file reference", lambda: {"$ref": "file:///etc/passwd"}, "remote_reference")
    yield schema("a reference to a non-schema", lambda: {"$ref": "#/required", "required": ["a"]},
                  "unresolved_reference", INVALID)  # fmt: skip
    yield schema("colliding $id", lambda: {"allOf": [{"$id": "x:a", "type": "null"}, {"$id": "x:a"}]}, INVALID)
    yield schema("colliding $anchor", lambda: {"allOf": [{"$anchor": "a"}, {"$anchor": "a"}]}, INVALID)
    yield schema(
        "x-guidance at the root", lambda: {"x-guidance": {"lenient": True}, "not": {}}, "reserved_keyword", NONE,
    )  # fmt: skip


def _patterns() -> Iterator[Hostile]:
    def pattern(name: str, text: str, *verdicts: str) -> Hostile:
        return schema(name, lambda: {"type": "string", "pattern": text}, *verdicts)

    yield pattern("60,000 parentheses", "(" * 30_000 + "a" + ")" * 30_000, LIMIT, REGEX)
    yield pattern("nested counted repeats", "^((a{1,30}){1,30}){1,30}$", LIMIT, OK)
    yield pattern("repeats of a thousand in a thousand", "^(?:[a-z]{1,1000}){1,1000}$", LIMIT)
    yield pattern("ReDoS: (a+)+", "^(a+)+$", OK)
    yield pattern("ReDoS: (a|a)*", "^(a|a)*b$", OK)
    yield pattern("ReDoS: (.*a){12}", "^(.*a){12}$", OK, TRIAL, LIMIT)
    yield pattern("a power set of states", "(a|b)*a(a|b){14}$", OK, TRIAL, LIMIT, REFUSED)
    yield pattern("look-ahead", "^(?=.*[A-Z])(?=.*[0-9]).{8,}$", REGEX, OK)
    yield pattern("a back-reference", r"^(a+)\1$", REGEX)
    yield pattern("an inline flag", "(?i)abc", REGEX)
    yield pattern("a class operator", "[a-z&&[^aeiou]]", REGEX, OK)
    yield pattern("a pattern of 20 KB", "|".join(f"w{at}" for at in range(3_000)), LIMIT)
    yield pattern("an empty class", "^[]$", NONE)
    yield schema(
        "200 patterns in allOf",
        lambda: {"type": "string", "allOf": [{"pattern": f"x{at}y"} for at in range(200)]},
        LIMIT, TRIAL, REFUSED,
    )  # fmt: skip
    yield schema(
        "8 patterns that overlap",
        lambda: {"patternProperties": {f"{chr(97 + at)}": {"minLength": at} for at in range(8)}},
        OK, LIMIT,
    )  # fmt: skip
    yield schema(
        "40 patterns that overlap",
        lambda: {"patternProperties": {f"n{at}": {"type": "string", "minLength": at} for at in range(40)}},
        LIMIT,
    )  # fmt: skip
    yield schema("not of a wide pattern", lambda: {"type": "string", "not": {"pattern": "(a|b)*a(a|b){10}$"}},
                  OK, TRIAL, LIMIT, REFUSED)  # fmt: skip


def _numbers() -> Iterator[Hostile]:
    yield schema("multipleOf 2147483647", lambda: {"type": "integer", "multipleOf": 2147483647}, LIMIT)
    yield text("multipleOf of 10^-300", '{"type":"number","multipleOf":1e-300}', LIMIT, OK)
    yield schema(
        "multipleOf 997 and 991", lambda: {"allOf": [{"multipleOf": 997}, {"multipleOf": 991}]}, LIMIT, OK, KEYWORD
    )
    yield text("maximum 10^400", '{"type":"number","maximum":1e400}', LIMIT, OK, "non_finite_number")
    yield text("a bound of 10^1000000000", '{"maximum":1e1000000000}', LIMIT, "invalid_json")
    yield text("a bound of 100,000 digits", '{"maximum":' + "9" * 100_000 + "}", LIMIT, "invalid_json")
    yield schema("nothing between two bounds", lambda: {"type": "integer", "minimum": 5, "maximum": 4}, NONE)
    yield schema(
        "nothing between two exclusive bounds",
        lambda: {"type": "integer", "exclusiveMinimum": 4, "exclusiveMaximum": 5},
        NONE,
    )
    yield schema("no multiple in reach", lambda: {"type": "integer", "multipleOf": 7, "minimum": 1, "maximum": 6}, NONE)


def _presence() -> Iterator[Hostile]:
    def optional(count: int) -> dict[str, Any]:
        return {f"p{at}": {"type": "integer"} for at in range(count)}

    yield schema(
        "60 optional members, half of them at least",
        lambda: {"type": "object", "properties": optional(60), "additionalProperties": False, "minProperties": 30},
        OK, LIMIT,
    )  # fmt: skip
    yield schema(
        "30 names, each needs the one before and the one after the next",
        lambda: {
            "properties": optional(30),
            "dependentRequired": {f"p{at}": [f"p{(at + 7) % 30}", f"p{(at + 13) % 30}"] for at in range(30)},
        },
        OK, LIMIT,
    )  # fmt: skip
    yield schema(
        "three of any 40",
        lambda: {"properties": optional(40), "additionalProperties": False, "minProperties": 3, "maxProperties": 3},
        OK, LIMIT,
    )  # fmt: skip
    yield schema(
        "pairs that exclude each other, far apart",
        lambda: {
            "properties": optional(32),
            "additionalProperties": False,
            "allOf": [{"not": {"required": [f"p{at}", f"p{31 - at}"]}} for at in range(16)],
        },
        OK, LIMIT,
    )  # fmt: skip
    yield schema(
        "members that collide but for their escapes",
        lambda: {"properties": {"a\u0000": {"type": "null"}, "a": {"type": "null"}}, "patternProperties": {"^a": True}},
        OK, "unsupported_value",
    )  # fmt: skip
    yield schema("minProperties 10^9", lambda: {"type": "object", "minProperties": 10**9}, LIMIT)
    yield schema(
        "minProperties above what may be there",
        lambda: {"type": "object", "properties": {"a": True}, "additionalProperties": False, "minProperties": 2},
        NONE,
    )
    yield schema(
        "required and forbidden",
        lambda: {"type": "object", "required": ["a"], "properties": {"a": False}},
        NONE,
    )


def _arrays() -> Iterator[Hostile]:
    yield schema("maxItems 10^9", lambda: {"type": "array", "maxItems": 10**9}, LIMIT)
    yield schema("minItems 10,000", lambda: {"type": "array", "items": {"type": "null"}, "minItems": 10_000}, OK, LIMIT)
    yield schema("maxLength 10^9", lambda: {"type": "string", "maxLength": 10**9}, LIMIT)
    yield schema("minLength 10,000", lambda: {"type": "string", "minLength": 10_000}, OK, LIMIT, TRIAL)
    yield schema(
        "distinct items out of 1,000",
        lambda: {"type": "array", "items": {"enum": list(range(1_000))}, "uniqueItems": True},
        OK, LIMIT, KEYWORD,
    )  # fmt: skip
    yield schema(
        "distinct items, more than there are",
        lambda: {"type": "array", "items": {"enum": [1, 2]}, "uniqueItems": True, "minItems": 3},
        NONE,
    )
    yield schema(
        "contains, seven ways at once",
        lambda: {"type": "array", "allOf": [{"contains": {"const": at}, "minContains": 3} for at in range(7)]},
        OK, LIMIT, KEYWORD,
    )  # fmt: skip
    yield schema(
        "minContains 10,000", lambda: {"type": "array", "contains": {"type": "null"}, "minContains": 10_000},
        LIMIT, OK, KEYWORD,
    )  # fmt: skip
    yield schema(
        "minContains above maxContains",
        lambda: {"type": "array", "contains": {"type": "null"}, "minContains": 3, "maxContains": 2},
        NONE,
    )
    yield schema(
        "a tuple of 5,000", lambda: {"type": "array", "prefixItems": [{"type": "null"}] * 5_000}, LIMIT, OK,
    )  # fmt: skip


def _characters() -> Iterator[Hostile]:
    yield schema("a constant with every control character", lambda: {"const": "".join(map(chr, range(32)))}, OK)
    yield schema("names of null bytes", lambda: {"properties": {"\u0000": True, "\u0000\u0000": True}}, OK)
    yield schema("a pattern of null bytes", lambda: {"type": "string", "pattern": "^\u0000+$"}, OK, "unsupported_regex")
    yield schema("astral names", lambda: {"properties": {"\U0001f600": {"const": "\U0001f600"}}}, OK)
    yield schema("names of special tokens", lambda: {"properties": {"<|im_end|>": {"const": "<|im_end|>"}},
                                                      "required": ["<|im_end|>"]}, OK)  # fmt: skip


def _texts() -> Iterator[Hostile]:
    yield text("a lone surrogate", '{"const":"\\ud800"}', "lone_surrogate", "invalid_json")
    yield text("the same keyword twice", '{"type":"string","type":"null"}', "duplicate_name")
    yield text("NaN", '{"const":NaN}', "non_finite_number", "invalid_json")
    yield text("a byte-order mark", "\ufeff{}", "invalid_json", "invalid_encoding")
    yield text("cut off", '{"type":"str', "invalid_json")
    yield text("100,000 brackets", "[" * 100_000, LIMIT, "invalid_json")
