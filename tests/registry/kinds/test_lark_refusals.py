"""What a Lark grammar may not say: refused by its name, where it stands."""

import pytest

from policy.rejection import RejectionCode as Code
from registry.contract import ContractKind
from tests.registry.kinds.contracts import refusal

REFUSED: list[tuple[str, Code, str | None, str]] = [
    # text, code, keyword, part of the message
    ('%llguidance {"no_forcing": true}\nstart: "a"', Code.UNSUPPORTED_KEYWORD, "%llguidance", "line 1, column 1"),
    ('start: "a"\nx: %lark { start: "b" }', Code.UNSUPPORTED_KEYWORD, "%lark", "line 2, column 4"),
    ('%override start: "a"', Code.UNSUPPORTED_KEYWORD, "%override", "line 1, column 1"),
    ("%declare A\nstart: A", Code.UNSUPPORTED_KEYWORD, "%declare", "line 1, column 1"),
    ('%frobnicate\nstart: "a"', Code.UNKNOWN_KEYWORD, "%frobnicate", "line 1, column 1"),
    ("start: <|im_end|>", Code.UNSUPPORTED_KEYWORD, "<|im_end|>", "line 1, column 8"),
    ('start: "a" <[12-20]>', Code.UNSUPPORTED_KEYWORD, "<[12-20]>", "line 1, column 12"),
    ("start: @other", Code.UNSUPPORTED_KEYWORD, "@other", "line 1, column 8"),
    ('start: x{"a"}\nx: "b"', Code.UNSUPPORTED_KEYWORD, "template", "line 1, column 8"),
    ('start: "a"\nx{y}: y', Code.UNSUPPORTED_KEYWORD, "template", "line 2, column 2"),
    ('start: A\nA.2: "a"', Code.UNSUPPORTED_KEYWORD, "priority", "line 2, column 2"),
    ('start[max_tokens=3]: "a"', Code.UNSUPPORTED_KEYWORD, "max_tokens", "line 1, column 7"),
    ('start[temperature=0.5]: "a"', Code.UNSUPPORTED_KEYWORD, "temperature", "line 1, column 7"),
    ('start[stop="x"]: /.*/', Code.UNSUPPORTED_KEYWORD, "stop", "line 1, column 7"),
    ('start[eager]: "a"', Code.UNKNOWN_KEYWORD, "eager", "line 1, column 7"),
    ('start[lazy, suffix="a"]: /a+/', Code.INVALID_GRAMMAR, None, "not both"),
    ('start[suffix=""]: /a+/', Code.INVALID_GRAMMAR, None, "not empty"),
    ('start[suffix=r]: /a+/\nr: "x"', Code.INVALID_GRAMMAR, "start", "is a rule"),
    ('start: a & "b"\na: "a"', Code.UNSUPPORTED_KEYWORD, "&", "upper case"),
    ('start: ("a" & "b")', Code.UNSUPPORTED_KEYWORD, "&", "upper case"),
    ('start: A\nA: %json {"type":"null"}', Code.UNSUPPORTED_KEYWORD, "%json", "regular"),
    ('start: ~%json {"type":"null"}', Code.UNSUPPORTED_KEYWORD, "~", "no terminal"),
    ('start: %json {"type":"nul"}', Code.INVALID_SCHEMA, "type", "In `%json` at line 1, column 8, /type"),
    ('start: %json {"x-guidance":{"lenient":true}}', Code.RESERVED_KEYWORD, "x-guidance", "/x-guidance"),
    ('start: %json {"a":1,"a":2}', Code.DUPLICATE_NAME, None, "twice"),
    ('start: %json {"a":', Code.INVALID_JSON, "%json", "line 1, column 14"),
    ("start: %json 3", Code.INVALID_GRAMMAR, "%json", "line 1, column 14"),
    ('start: %regex {"type":"number"}', Code.UNSUPPORTED_VALUE, "%regex", "substring_chunks"),
    ('start: %regex {"substring_chunks":[1]}', Code.INVALID_GRAMMAR, "%regex", "list of strings"),
    ('start: "a"\nstart: "b"', Code.DUPLICATE_NAME, "start", "line 2, column 1"),
    ('start: A\nA: "b"\n%import common.INT -> A', Code.DUPLICATE_NAME, "A", "line 3"),
    ('a: "x"', Code.UNRESOLVED_REFERENCE, "start", "start"),
    ("", Code.UNRESOLVED_REFERENCE, "start", "start"),
    ("start: nothing", Code.UNRESOLVED_REFERENCE, "start", "line 1, column 8"),
    ('start: "a"\nunused: nothing', Code.UNRESOLVED_REFERENCE, "unused", "line 2, column 9"),
    ("%import common.NOTHING\nstart: NOTHING", Code.UNRESOLVED_REFERENCE, "%import", "common.NOTHING"),
    ("%import python.STRING\nstart: STRING", Code.UNRESOLVED_REFERENCE, "%import", "python.STRING"),
    ("%import common.INT -> int\nstart: int", Code.INVALID_GRAMMAR, "%import", "upper-case"),
    ('start: A\nA: "(" A ")" | "x"', Code.UNGUARDED_REF_CYCLE, "A", "line 2, column 1"),
    ('start: A\nA: B\nB: C | "x"\nC: A', Code.UNGUARDED_REF_CYCLE, "A", "line 2"),
    ('start: A\nA: r\nr: "x"', Code.INVALID_GRAMMAR, "A", "only terminals"),
    ('start[lazy]: r\nr: "x"', Code.INVALID_GRAMMAR, "start", "only terminals"),
    ("start: start", Code.UNSATISFIABLE, "start", "finite"),
    ('start: "a" b\nb: "(" b ")" | c\nc: b "x"', Code.UNSATISFIABLE, "start", "finite"),
    ("start: A\nA: /[^\\x{0}-\\x{10FFFF}]/", Code.UNSATISFIABLE, "start", "finite"),
    ('%ignore /(.|\\n)*/\nstart: "a"', Code.UNSUPPORTED_VALUE, "%ignore", "line 1, column 1"),
    ('start: "a"\n%ignore /[^x]+/', Code.UNSUPPORTED_VALUE, "%ignore", "line 2, column 1"),
    ('start: "a"\n%ignore X\nX: /\\w/ | /\\W/', Code.UNSUPPORTED_VALUE, "%ignore", "line 2, column 1"),
    ('start: "a"\n%ignore ~"x"', Code.UNSUPPORTED_VALUE, "%ignore", "line 2, column 1"),
    ("start: /(?=a)b/", Code.UNSUPPORTED_REGEX, None, "look-around"),
    ("start: /(a)\\1/", Code.UNSUPPORTED_REGEX, None, "line 1, column 8"),
    ("start: /^a$/", Code.UNSUPPORTED_REGEX, None, "anchors"),
    ("start: /a*?/", Code.UNSUPPORTED_REGEX, None, "lazy"),
    ("start: /(?i)a/", Code.UNSUPPORTED_REGEX, None, "flags"),
    ("start: /a/x", Code.UNSUPPORTED_REGEX, None, "flag `x`"),
    ("start: /[a&&b]/", Code.UNSUPPORTED_REGEX, None, "operators"),
    ("start: /[[a]]/", Code.UNSUPPORTED_REGEX, None, "within a class"),
    ("start: /\\Aa\\z/", Code.UNSUPPORTED_REGEX, None, "escape"),
    ("start: /\\<a/", Code.UNSUPPORTED_REGEX, None, "escape"),
    ('start: "a"{0}', Code.INVALID_GRAMMAR, None, "line 1, column 11"),
    ('start: "a"{2,1}', Code.INVALID_GRAMMAR, None, "allow nothing"),
    ('start: "a"{1', Code.INVALID_GRAMMAR, None, "`}` is missing"),
    ('start: "a"**', Code.INVALID_GRAMMAR, None, "line 1, column 12"),
    ('start: ("a"', Code.INVALID_GRAMMAR, None, "`)` is missing"),
    ('start: "a")', Code.INVALID_GRAMMAR, None, "line 1, column 11"),
    ('start: "a"?b\nb: "c"', Code.INVALID_GRAMMAR, None, "blank"),
    ('start: "z".."a"', Code.INVALID_GRAMMAR, None, "line 1, column 8"),
    ('start: "ab".."c"', Code.INVALID_GRAMMAR, None, "single characters"),
    ('start: "a"i.."b"', Code.INVALID_GRAMMAR, None, "flag"),
    ("start: 'a'", Code.INVALID_GRAMMAR, None, "double quotes"),
    ('start: "a', Code.INVALID_GRAMMAR, None, "not closed"),
    ("start: /a", Code.INVALID_GRAMMAR, None, "not closed"),
    ('start: "\\ud800"', Code.LONE_SURROGATE, None, "surrogate"),
    ('\ufeffstart: "a"', Code.INVALID_GRAMMAR, None, "byte-order mark"),
    ('start: "a" \x00', Code.INVALID_GRAMMAR, None, "line 1, column 12"),
    ('Start: "a"', Code.INVALID_GRAMMAR, None, "line 1, column 2"),
    ('start: p\np::_: "a" %if true', Code.INVALID_GRAMMAR, "start", "takes a parameter"),
    ('start: p::0\np: "a"', Code.INVALID_GRAMMAR, "start", "takes no parameter"),
    ('start: p::_\np::_: "a" %if lt(_,1)', Code.INVALID_GRAMMAR, "start", "no parameter to give"),
    ('start: "a" %if lt(_,1)', Code.INVALID_GRAMMAR, "start", "no parameter"),
    ('start::_: "a" %if lt(_,1)', Code.INVALID_GRAMMAR, "start", "given no parameter"),
    ('start: p::0\np::_: "a"', Code.INVALID_GRAMMAR, "p", "does not use"),
    ('start: p::0\np::_: "a" p::incr(_)* %if lt(_,1)', Code.INVALID_GRAMMAR, "p", "repetition"),
    ('start: p::0\np::_: ("a" %if lt(_,1))', Code.INVALID_GRAMMAR, None, "not in a group"),
    ('start: p::0\np::_: "a" %if frob(_)', Code.INVALID_GRAMMAR, None, "not a condition"),
    ('start: p::0\np::_: "a" %if bit_set(64)', Code.INVALID_GRAMMAR, None, "above 63"),
    ('start: p::0\np::_: "a" %if lt([3:3],1)', Code.INVALID_GRAMMAR, None, "above its start"),
    ("start: p::18446744073709551616\np::_: p::_", Code.INVALID_GRAMMAR, None, "above"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "code", "keyword", "part"), REFUSED)
def test_it_is_refused_by_name_and_place(text: str, code: Code, keyword: str | None, part: str) -> None:
    found = refusal(ContractKind.LARK, text)
    assert (found.code, found.keyword, found.pointer) == (code, keyword, "")
    assert part in found.message


@pytest.mark.parametrize("value", [None, 3, ["start: x"], {"grammar": ""}])
def test_a_grammar_is_a_string(value: None) -> None:
    assert refusal(ContractKind.LARK, value).code == Code.INVALID_SCHEMA


def test_a_lone_surrogate_is_refused_before_anything_is_read() -> None:
    assert refusal(ContractKind.LARK, 'start: "\ud800"').code == Code.LONE_SURROGATE
