"""Contracts that are meant to do harm, each with the verdicts that are right for it.

`OK` beside a code means that either is right: compiled exactly and within the budget, or refused by that name.
A contract is made when it is asked for, so that listing them costs nothing.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

OK = "accepted"
LIMIT = "limit_exceeded"
NONE = "unsatisfiable"
KEYWORD = "unsupported_keyword"
INVALID = "invalid_schema"
TRIAL = "trial_failed"
REFUSED = "compile_refused"
REGEX = "unsupported_regex"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hostile:
    """One contract: its kind, how its value is made, and the verdicts that are right. `text`: raw JSON text instead."""

    name: str
    kind: str
    make: Callable[[], Any]
    verdicts: frozenset[str]
    is_text: bool = False


def hostile_contracts() -> Iterator[Hostile]:
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
    yield from _regexes()
    yield from _grammars()
    yield from _choices()
    yield from _tags()
    yield from _tools()


def _schema(name: str, make: Callable[[], Any], *verdicts: str) -> Hostile:
    return Hostile(name=name, kind="json_schema", make=make, verdicts=frozenset(verdicts))


def _text(name: str, raw: str, *verdicts: str) -> Hostile:
    return Hostile(name=name, kind="json_schema", make=lambda: raw, verdicts=frozenset(verdicts), is_text=True)


def _member(at: int) -> dict[str, Any]:
    return {"properties": {f"p{at}": {"type": "integer"}, f"q{at}": {"type": "string"}}, "required": [f"p{at}"]}


def _products() -> Iterator[Hostile]:
    def any_of_products(count: int) -> Any:
        pair = [{"anyOf": [_member(2 * at), _member(2 * at + 1)]} for at in range(count)]
        return {"type": "object", "allOf": pair}

    yield _schema("2^10 anyOf product", lambda: any_of_products(10), OK, LIMIT)
    yield _schema("2^30 anyOf product", lambda: any_of_products(30), OK, LIMIT)
    yield _schema("oneOf of 30 overlapping objects", lambda: {"oneOf": [_member(at) for at in range(30)]}, OK, LIMIT)
    yield _schema(
        "oneOf inside oneOf inside oneOf",
        lambda: {"oneOf": [{"oneOf": [{"oneOf": [_member(100 * i + 10 * j + k) for k in range(5)]} for j in range(5)]}
                           for i in range(5)]},
        OK, LIMIT,
    )  # fmt: skip
    yield _schema(
        "not around a product",
        lambda: {"not": any_of_products(12)},
        OK, LIMIT,
    )  # fmt: skip

    def tower(depth: int) -> Any:
        schema: Any = {"type": "string"}
        for _ in range(depth):
            schema = {"not": schema}
        return schema

    yield _schema("a tower of 24 nots", lambda: tower(24), OK, LIMIT)
    yield _schema("a tower of 5,000 nots", lambda: tower(5_000), LIMIT, "invalid_json")
    yield _schema(
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

    yield _schema("26 doublings by reference", lambda: doubling(26), OK, LIMIT)

    def in_place(levels: int) -> Any:
        definitions = {
            f"d{at}": {"anyOf": [{"$ref": f"#/$defs/d{at + 1}"}, {"allOf": [{"$ref": f"#/$defs/d{at + 1}"}]}]}
            for at in range(levels)
        }
        return {"$ref": "#/$defs/d0", "$defs": {**definitions, f"d{levels}": {"required": ["x"]}}}

    yield _schema("20 doublings in place", lambda: in_place(20), OK, LIMIT)
    yield _schema(
        "100 branches that differ in one of 100 members",
        lambda: {"oneOf": [{"properties": {f"m{at}": {"const": at}}} for at in range(100)]},
        OK, LIMIT,
    )  # fmt: skip


def _sizes() -> Iterator[Hostile]:
    yield _schema("10^6 enum members", lambda: {"enum": list(range(1_000_000))}, LIMIT)
    yield _schema("10^4 enum members", lambda: {"enum": [f"v{at}" for at in range(10_000)]}, OK, LIMIT)
    yield _schema("10^4 object constants", lambda: {"enum": [{"a": at} for at in range(10_000)]}, LIMIT)
    yield _schema("a constant of 1 MiB", lambda: {"const": "x" * (1 << 20)}, LIMIT)
    yield _schema("a name of 1 MiB", lambda: {"properties": {"x" * (1 << 20): True}}, LIMIT)
    yield _schema(
        "600 optional properties",
        lambda: {"type": "object", "properties": {f"p{at}": {"type": "null"} for at in range(600)}},
        LIMIT, OK,
    )  # fmt: skip
    yield _schema(
        "500 optional properties and minProperties",
        lambda: {"properties": {f"p{at}": True for at in range(500)}, "minProperties": 250},
        LIMIT,
    )  # fmt: skip
    yield _schema("required alone, 5,000 names", lambda: {"required": [f"r{at}" for at in range(5_000)]}, LIMIT)
    yield _schema("JSON nested 50,000 deep", lambda: _nested(50_000), LIMIT, "invalid_json")
    yield _schema("properties nested 200 deep", lambda: _nested(200), LIMIT)
    yield _schema(
        "an enum of one array nested 30 deep, 100 times",
        lambda: {"enum": [[at, _array(25)] for at in range(100)]},
        OK, LIMIT,
    )  # fmt: skip


def _nested(depth: int) -> Any:
    schema: Any = True
    for _ in range(depth):
        schema = {"properties": {"a": schema}}
    return schema


def _array(depth: int) -> Any:
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


def _references() -> Iterator[Hostile]:
    def chain(length: int) -> Any:
        links = {f"d{at}": {"$ref": f"#/$defs/d{at + 1}"} for at in range(length)}
        return {"$ref": "#/$defs/d0", "$defs": {**links, f"d{length}": {"type": "null"}}}

    yield _schema("a chain of 10,000 references", lambda: chain(10_000), OK, LIMIT)
    yield _schema("a chain of 25 references", lambda: chain(25), OK, LIMIT)
    yield _schema("a reference to itself", lambda: {"$ref": "#"}, "unguarded_ref_cycle", NONE)
    yield _schema(
        "two references to each other",
        lambda: {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
        "unguarded_ref_cycle", NONE,
    )  # fmt: skip
    yield _schema(
        "not of itself", lambda: {"not": {"$ref": "#"}}, "unguarded_ref_cycle", NONE, KEYWORD,
    )  # fmt: skip
    yield _schema(
        "recursion without a base",
        lambda: {"type": "object", "properties": {"next": {"$ref": "#"}}, "required": ["next"]},
        NONE, LIMIT,
    )  # fmt: skip
    yield _schema(
        "recursion through minItems",
        lambda: {"type": "array", "items": {"$ref": "#"}, "minItems": 1},
        NONE, LIMIT,
    )  # fmt: skip
    yield _schema(
        "recursion that doubles and needs both",
        lambda: {
            "type": "object",
            "properties": {"l": {"$ref": "#"}, "r": {"$ref": "#"}},
            "anyOf": [{"required": ["l", "r"]}, {"properties": {"l": False}, "minProperties": 1}],
        },
        OK, LIMIT, KEYWORD, NONE,
    )  # fmt: skip
    yield _schema("a remote reference", lambda: {"$ref": "http://169.254.169.254/latest"}, "remote_reference")
    yield _schema("a file reference", lambda: {"$ref": "file:///etc/passwd"}, "remote_reference")
    yield _schema("a reference to a non-schema", lambda: {"$ref": "#/required", "required": ["a"]},
                  "unresolved_reference", INVALID)  # fmt: skip
    yield _schema("colliding $id", lambda: {"allOf": [{"$id": "x:a", "type": "null"}, {"$id": "x:a"}]}, INVALID)
    yield _schema("colliding $anchor", lambda: {"allOf": [{"$anchor": "a"}, {"$anchor": "a"}]}, INVALID)
    yield _schema(
        "x-guidance at the root", lambda: {"x-guidance": {"lenient": True}, "not": {}}, "reserved_keyword", NONE,
    )  # fmt: skip


def _patterns() -> Iterator[Hostile]:
    def pattern(name: str, text: str, *verdicts: str) -> Hostile:
        return _schema(name, lambda: {"type": "string", "pattern": text}, *verdicts)

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
    yield _schema(
        "200 patterns in allOf",
        lambda: {"type": "string", "allOf": [{"pattern": f"x{at}y"} for at in range(200)]},
        LIMIT, TRIAL, REFUSED,
    )  # fmt: skip
    yield _schema(
        "8 patterns that overlap",
        lambda: {"patternProperties": {f"{chr(97 + at)}": {"minLength": at} for at in range(8)}},
        OK, LIMIT,
    )  # fmt: skip
    yield _schema(
        "40 patterns that overlap",
        lambda: {"patternProperties": {f"n{at}": {"type": "string", "minLength": at} for at in range(40)}},
        LIMIT,
    )  # fmt: skip
    yield _schema("not of a wide pattern", lambda: {"type": "string", "not": {"pattern": "(a|b)*a(a|b){10}$"}},
                  OK, TRIAL, LIMIT, REFUSED)  # fmt: skip


def _numbers() -> Iterator[Hostile]:
    yield _schema("multipleOf 2147483647", lambda: {"type": "integer", "multipleOf": 2147483647}, LIMIT)
    yield _text("multipleOf of 10^-300", '{"type":"number","multipleOf":1e-300}', LIMIT, OK)
    yield _schema("multipleOf 997 and 991", lambda: {"allOf": [{"multipleOf": 997}, {"multipleOf": 991}]}, LIMIT, OK)
    yield _text("maximum 10^400", '{"type":"number","maximum":1e400}', LIMIT, OK, "non_finite_number")
    yield _text("a bound of 10^1000000000", '{"maximum":1e1000000000}', LIMIT, "invalid_json")
    yield _text("a bound of 100,000 digits", '{"maximum":' + "9" * 100_000 + "}", LIMIT, "invalid_json")
    yield _schema("nothing between two bounds", lambda: {"type": "integer", "minimum": 5, "maximum": 4}, NONE)
    yield _schema(
        "nothing between two exclusive bounds",
        lambda: {"type": "integer", "exclusiveMinimum": 4, "exclusiveMaximum": 5},
        NONE,
    )
    yield _schema(
        "no multiple in reach", lambda: {"type": "integer", "multipleOf": 7, "minimum": 1, "maximum": 6}, NONE
    )


def _presence() -> Iterator[Hostile]:
    def optional(count: int) -> dict[str, Any]:
        return {f"p{at}": {"type": "integer"} for at in range(count)}

    yield _schema(
        "60 optional members, half of them at least",
        lambda: {"type": "object", "properties": optional(60), "additionalProperties": False, "minProperties": 30},
        OK, LIMIT,
    )  # fmt: skip
    yield _schema(
        "30 names, each needs the one before and the one after the next",
        lambda: {
            "properties": optional(30),
            "dependentRequired": {f"p{at}": [f"p{(at + 7) % 30}", f"p{(at + 13) % 30}"] for at in range(30)},
        },
        OK, LIMIT,
    )  # fmt: skip
    yield _schema(
        "three of any 40",
        lambda: {"properties": optional(40), "additionalProperties": False, "minProperties": 3, "maxProperties": 3},
        OK, LIMIT,
    )  # fmt: skip
    yield _schema(
        "pairs that exclude each other, far apart",
        lambda: {
            "properties": optional(32),
            "additionalProperties": False,
            "allOf": [{"not": {"required": [f"p{at}", f"p{31 - at}"]}} for at in range(16)],
        },
        OK, LIMIT,
    )  # fmt: skip
    yield _schema(
        "members that collide but for their escapes",
        lambda: {"properties": {"a\u0000": {"type": "null"}, "a": {"type": "null"}}, "patternProperties": {"^a": True}},
        OK, "unsupported_value",
    )  # fmt: skip
    yield _schema("minProperties 10^9", lambda: {"type": "object", "minProperties": 10**9}, LIMIT)
    yield _schema(
        "minProperties above what may be there",
        lambda: {"type": "object", "properties": {"a": True}, "additionalProperties": False, "minProperties": 2},
        NONE,
    )
    yield _schema(
        "required and forbidden",
        lambda: {"type": "object", "required": ["a"], "properties": {"a": False}},
        NONE,
    )


def _arrays() -> Iterator[Hostile]:
    yield _schema("maxItems 10^9", lambda: {"type": "array", "maxItems": 10**9}, LIMIT)
    yield _schema(
        "minItems 10,000", lambda: {"type": "array", "items": {"type": "null"}, "minItems": 10_000}, OK, LIMIT
    )
    yield _schema("maxLength 10^9", lambda: {"type": "string", "maxLength": 10**9}, LIMIT)
    yield _schema("minLength 10,000", lambda: {"type": "string", "minLength": 10_000}, OK, LIMIT, TRIAL)
    yield _schema(
        "distinct items out of 1,000",
        lambda: {"type": "array", "items": {"enum": list(range(1_000))}, "uniqueItems": True},
        OK, LIMIT, KEYWORD,
    )  # fmt: skip
    yield _schema(
        "distinct items, more than there are",
        lambda: {"type": "array", "items": {"enum": [1, 2]}, "uniqueItems": True, "minItems": 3},
        NONE,
    )
    yield _schema(
        "contains, seven ways at once",
        lambda: {"type": "array", "allOf": [{"contains": {"const": at}, "minContains": 3} for at in range(7)]},
        OK, LIMIT, KEYWORD,
    )  # fmt: skip
    yield _schema(
        "minContains 10,000", lambda: {"type": "array", "contains": {"type": "null"}, "minContains": 10_000},
        LIMIT, OK,
    )  # fmt: skip
    yield _schema(
        "minContains above maxContains",
        lambda: {"type": "array", "contains": {"type": "null"}, "minContains": 3, "maxContains": 2},
        NONE,
    )
    yield _schema(
        "a tuple of 5,000", lambda: {"type": "array", "prefixItems": [{"type": "null"}] * 5_000}, LIMIT, OK,
    )  # fmt: skip


def _characters() -> Iterator[Hostile]:
    yield _schema("a constant with every control character", lambda: {"const": "".join(map(chr, range(32)))}, OK)
    yield _schema("names of null bytes", lambda: {"properties": {"\u0000": True, "\u0000\u0000": True}}, OK)
    yield _schema(
        "a pattern of null bytes", lambda: {"type": "string", "pattern": "^\u0000+$"}, OK, "unsupported_regex"
    )
    yield _schema("astral names", lambda: {"properties": {"\U0001f600": {"const": "\U0001f600"}}}, OK)
    yield _schema("names of special tokens", lambda: {"properties": {"<|im_end|>": {"const": "<|im_end|>"}},
                                                      "required": ["<|im_end|>"]}, OK)  # fmt: skip


def _texts() -> Iterator[Hostile]:
    yield _text("a lone surrogate", '{"const":"\\ud800"}', "lone_surrogate", "invalid_json")
    yield _text("the same keyword twice", '{"type":"string","type":"null"}', "duplicate_name")
    yield _text("NaN", '{"const":NaN}', "non_finite_number", "invalid_json")
    yield _text("a byte-order mark", "\ufeff{}", "invalid_json", "invalid_encoding")
    yield _text("cut off", '{"type":"str', "invalid_json")
    yield _text("100,000 brackets", "[" * 100_000, LIMIT, "invalid_json")


def _regexes() -> Iterator[Hostile]:
    def regex(name: str, text: str, *verdicts: str) -> Hostile:
        return Hostile(name=f"regex: {name}", kind="regex", make=lambda: text, verdicts=frozenset(verdicts))

    yield regex("nothing matches", "[^\\s\\S]", NONE, REGEX)
    yield regex("60,000 parentheses", "(" * 30_000 + "a" + ")" * 30_000, LIMIT, REGEX)
    yield regex("nested repeats", "((a{1,30}){1,30}){1,30}", LIMIT)
    yield regex("a power set of states", "(a|b)*a(a|b){14}", OK, LIMIT, TRIAL, REFUSED)
    yield regex("a negative look-behind", "(?<!a)b", REGEX)


def _grammars() -> Iterator[Hostile]:
    def lark(name: str, text: str, *verdicts: str) -> Hostile:
        return Hostile(name=f"lark: {name}", kind="lark", make=lambda: text, verdicts=frozenset(verdicts))

    def gbnf(name: str, text: str, *verdicts: str) -> Hostile:
        return Hostile(name=f"gbnf: {name}", kind="gbnf", make=lambda: text, verdicts=frozenset(verdicts))

    invalid = ("invalid_grammar", "invalid_schema", "unsupported_value", "unsupported_keyword", "invalid_json")
    yield lark("left recursion", 'start: start "a" | "a"\n', OK)
    yield lark("an ambiguous sum", 'start: start "+" start | /[0-9]/\n', OK, TRIAL)
    yield lark("a rule without an end", 'start: "a" start\n', NONE)
    yield lark("a rule that is only itself", "start: start\n", NONE, *invalid)
    yield lark(
        "a chain of 100,000 terminals",
        "start: T0\n" + "".join(f"T{at}: T{at + 1}\n" for at in range(100_000)) + 'T100000: "a"\n',
        LIMIT,
    )
    yield lark("nested counted repeats", 'start: (("a"{1,30}){1,30}){1,30}\n', LIMIT)
    yield lark("an ignore of anything", "start: A\nA: /a/\n%ignore /(?s:.)*/\n", *invalid)
    yield lark(
        "enforcement switched off", 'start: %json {"x-guidance": {"lenient": true}}\n', "reserved_keyword", *invalid
    )
    yield lark("a special token", "start: <|im_end|>\n", *invalid)
    yield gbnf("left recursion", 'root ::= root "a" | "a"', OK)
    yield gbnf("mutual recursion without an end", 'root ::= a\na ::= "x" b\nb ::= "y" a', NONE)
    yield gbnf("wide", "root ::= " + " | ".join(f'"w{at}"' for at in range(5_000)), LIMIT, OK)
    yield gbnf("deep", "root ::= " + "(" * 5_000 + '"a"' + ")" * 5_000, LIMIT)


def _choices() -> Iterator[Hostile]:
    def choice(name: str, make: Callable[[], Any], *verdicts: str) -> Hostile:
        return Hostile(name=f"choice: {name}", kind="choice", make=make, verdicts=frozenset(verdicts))

    yield choice("none", list, NONE, INVALID)
    yield choice("2,000", lambda: [f"choice {at}" for at in range(2_000)], OK, LIMIT)
    yield choice("10^5 members", lambda: [f"c{at}" for at in range(100_000)], LIMIT)
    yield choice("prefixes of each other", lambda: ["a" * at for at in range(200)], OK)


def _tags() -> Iterator[Hostile]:
    def tags(name: str, make: Callable[[], Any], *verdicts: str) -> Hostile:
        return Hostile(name=f"tags: {name}", kind="structural_tag", make=make, verdicts=frozenset(verdicts))

    def legacy(begins: list[str], triggers: list[str]) -> Any:
        return {
            "structures": [{"begin": begin, "schema": {"type": "object"}, "end": "</f>"} for begin in begins],
            "triggers": triggers,
        }

    yield tags("triggers within each other", lambda: legacy(["<<f>", "<f>"], ["<f", "<<f"]), OK, KEYWORD, INVALID)
    yield tags("a trigger that begins no tag", lambda: legacy(["<f>"], ["<g"]), INVALID, "invalid_structural_tag", OK)
    yield tags("an empty trigger", lambda: legacy(["<f>"], [""]), INVALID, "invalid_structural_tag")
    yield tags("100 tags", lambda: legacy([f"<f{at}>" for at in range(100)], ["<f"]), OK, LIMIT)


def _tools() -> Iterator[Hostile]:
    def tools(name: str, make: Callable[[], Any], *verdicts: str) -> Hostile:
        return Hostile(name=f"tools: {name}", kind="tool_set", make=make, verdicts=frozenset(verdicts))

    def function(name: str, parameters: Any) -> Any:
        return {"type": "function", "function": {"name": name, "parameters": parameters}}

    yield tools("1,000 tools", lambda: [function(f"t{at}", {"type": "object"}) for at in range(1_000)], LIMIT)
    yield tools("a tool whose arguments have no value", lambda: [function("t", {"type": "object", "required": ["a"],
                "properties": {"a": False}})], NONE)  # fmt: skip
    yield tools("recursive arguments", lambda: [function("t", {"type": "object", "properties":
                {"next": {"$ref": "#"}}})], OK)  # fmt: skip
    yield tools("the same name twice", lambda: [function("t", {}), function("t", {})], INVALID, "duplicate_name")
