"""Contracts of the other kinds that are meant to do harm."""

from collections.abc import Callable, Iterator
from typing import Any

from tests.hostile.contract import INVALID, KEYWORD, LIMIT, NONE, OK, REFUSED, REGEX, TRIAL, Hostile


def hostile_kinds() -> Iterator[Hostile]:
    """All of them."""
    yield from _regexes()
    yield from _grammars()
    yield from _choices()
    yield from _tags()
    yield from _tools()


def _regexes() -> Iterator[Hostile]:
    def regex(name: str, text: str, *verdicts: str) -> Hostile:
        return Hostile(name=f"regex: {name}", kind="regex", make=lambda: text, verdicts=frozenset(verdicts))

    yield regex("nothing matches", "[^\\s\\S]", NONE, REGEX)
    yield regex("60,000 parentheses", "(" * 30_000 + "a" + ")" * 30_000, LIMIT, REGEX)
    yield regex("nested repeats", "((a{1,30}){1,30}){1,30}", LIMIT)
    yield regex("a power set of states", "(a|b)*a(a|b){14}", OK, LIMIT, TRIAL, REFUSED)
    yield regex("12 power sets in a row", "((a|b)*a(a|b){6}c)*" * 12, OK, LIMIT, TRIAL, REFUSED)
    yield regex("a wide class repeated", r"(?:\p{L}{0,30}\p{N}{0,30}){0,30}", OK, REGEX, LIMIT, TRIAL, REFUSED)
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
    yield lark(
        "terminals of a power set, joined",
        "start: T+\nT: /(a|b)*a(a|b){12}/ & ~/(a|b)*b(a|b){12}/\n",
        OK,
        LIMIT,
        TRIAL,
        REFUSED,
        *invalid,
    )
    yield lark(
        "150 terminals that begin alike",
        "start: ("
        + " | ".join(f"T{at}" for at in range(150))
        + ")*\n"
        + "".join(f"T{at}: /[a-z]*{at}[a-z]*/\n" for at in range(150)),
        OK,
        LIMIT,
        TRIAL,
        REFUSED,
    )
    yield lark("a rule of three of itself", 'start: start start start | "a" | "b"\n', OK, TRIAL, LIMIT)
    yield lark(
        "150 schemas",
        "start: "
        + " | ".join(f"r{at}" for at in range(150))
        + "\n"
        + "".join(f'r{at}: %json {{"not":{{"const":{at}}}}}\n' for at in range(150)),
        OK,
        LIMIT,
        TRIAL,
        REFUSED,
    )
    yield gbnf("two of itself, or nothing", 'root ::= root root | "a" | ""', OK, TRIAL, LIMIT)
    yield gbnf("hidden left recursion", 'root ::= e e e root "a" | "b"\ne ::= "c"?', OK, TRIAL)
    yield gbnf("what may be left out, 60 times over", "root ::= (" + '"a"? ' * 60 + ")*", OK, LIMIT, TRIAL)
    yield gbnf(
        "a ring of 180 rules",
        "root ::= r0\n"
        + "".join(f'r{at} ::= r{(at + 1) % 180} | "{at}" r{(at * 7) % 180} | "x"\n' for at in range(180)),
        OK,
        LIMIT,
        TRIAL,
    )
    yield gbnf(
        "every word twice",
        "root ::= " + " ".join("s" for _ in range(100)) + '\ns ::= "a"* | "aa"* | ""\n',
        OK,
        LIMIT,
        TRIAL,
    )
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
            "type": "structural_tag",
            "structures": [{"begin": begin, "schema": {"type": "object"}, "end": "</f>"} for begin in begins],
            "triggers": triggers,
        }

    yield tags("triggers within each other", lambda: legacy(["<<f>", "<f>"], ["<f", "<<f"]), OK, KEYWORD, INVALID)
    yield tags(
        "a trigger that begins no tag", lambda: legacy(["<f>"], ["<g"]), NONE, INVALID, "invalid_structural_tag", OK
    )
    yield tags("an empty trigger", lambda: legacy(["<f>"], [""]), INVALID, "invalid_structural_tag")
    yield tags("100 tags", lambda: legacy([f"<f{at}>" for at in range(100)], ["<f"]), OK, LIMIT)
    yield tags("600 tags", lambda: legacy([f"<f{at}>" for at in range(600)], ["<f"]), OK, LIMIT)
    yield tags(
        "60 triggers", lambda: legacy([f"<{at}>" for at in range(60)], [f"<{at}>" for at in range(60)]), OK, LIMIT
    )

    def nested(depth: int) -> Any:
        tree: Any = {"type": "json_schema", "json_schema": {"type": "object"}}
        for at in range(depth):
            tree = {"type": "tag", "begin": f"<{at}>", "content": tree, "end": f"</{at}>"}
        return {"type": "structural_tag", "format": tree}

    yield tags("tags within each other, 10 deep", lambda: nested(10), OK, LIMIT)
    yield tags("tags within each other, 100 deep", lambda: nested(100), LIMIT)
    yield tags(
        "30 tags, each with a product",
        lambda: {
            "type": "structural_tag",
            "structures": [
                {
                    "begin": f"<f{at}>",
                    "end": "</f>",
                    "schema": {
                        "allOf": [{"anyOf": [{"required": [f"a{n}"]}, {"required": [f"b{n}"]}]} for n in range(8)]
                    },
                }
                for at in range(30)
            ],
            "triggers": ["<f"],
        },
        OK,
        LIMIT,
    )


def _tools() -> Iterator[Hostile]:
    def tools(name: str, make: Callable[[], Any], *verdicts: str) -> Hostile:
        return Hostile(name=f"tools: {name}", kind="tool_set", make=make, verdicts=frozenset(verdicts))

    def function(name: str, parameters: Any) -> Any:
        return {"type": "function", "function": {"name": name, "parameters": parameters}}

    yield tools("1,000 tools", lambda: [function(f"t{at}", {"type": "object"}) for at in range(1_000)], LIMIT)
    yield tools(
        "a tool whose arguments have no value",
        lambda: [function("t", {"type": "object", "required": ["a"], "properties": {"a": False}})],
        NONE,
    )
    yield tools(
        "recursive arguments", lambda: [function("t", {"type": "object", "properties": {"next": {"$ref": "#"}}})], OK
    )
    yield tools(
        "100 tools with large arguments",
        lambda: [
            function(
                f"t{at}",
                {
                    "type": "object",
                    "properties": {f"p{n}": {"type": ["string", "integer"], "minLength": n} for n in range(12)},
                },
            )
            for at in range(100)
        ],
        OK,
        LIMIT,
    )
    yield tools(
        "60 tools, each with a product",
        lambda: [
            function(
                f"t{at}", {"allOf": [{"anyOf": [{"required": [f"a{n}"]}, {"required": [f"b{n}"]}]} for n in range(8)]}
            )
            for at in range(60)
        ],
        OK,
        LIMIT,
    )
    yield tools(
        "20 tools that count",
        lambda: [
            function(
                f"t{at}",
                {
                    "properties": {
                        "l": {
                            "type": "array",
                            "allOf": [{"contains": {"minimum": n + at}, "minContains": 3} for n in range(3)],
                        }
                    }
                },
            )
            for at in range(20)
        ],
        OK,
        LIMIT,
    )
    yield tools("the same name twice", lambda: [function("t", {}), function("t", {})], INVALID, "duplicate_name")
