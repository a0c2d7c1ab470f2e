"""Formats as expressions: each example is decided as the standard decides it, or refused where the table says so."""

import pytest
import re2

from compiler_pool.lowering.formats import FORMATS
from tests.compiler_pool.lowering.generation import Contract, refusal

_LONG_NAME = ".".join(["a" * 63] * 3)

EXAMPLES = {
    "date": (
        ["2024-02-29", "2000-02-29", "0000-02-29", "2023-12-31", "2023-04-30"],
        ["2023-02-29", "1900-02-29", "2023-04-31", "2023-13-01", "2023-00-10", "2023-1-01", "2023-01-00", "2023-01-32"],
    ),
    "time": (
        ["00:00:00Z", "23:59:59.123456789z", "12:00:00+23:59", "23:59:60Z", "23:59:60.5+00:00"],
        ["24:00:00Z", "12:60:00Z", "12:00:61Z", "12:00:00", "12:00:00+24:00", "22:59:60Z", "12:00Z", "1:00:00Z"],
    ),
    "date-time": (
        ["2024-02-29T12:00:00Z", "1985-04-12t23:20:50.52z", "1990-12-31T23:59:60Z"],
        ["2023-02-29T12:00:00Z", "2024-02-29 12:00:00Z", "2024-02-29T25:00:00Z", "2024-02-29"],
    ),
    "duration": (
        ["P4DT12H30M5S", "P1W", "PT0S", "P1Y", "P1M", "PT1M"],
        ["P", "PT", "P1YT", "P1D2H", "P1Y2W", "P1Y1D", "4D", "P1.5D", "PT1H5S"],
    ),
    "ipv4": (["0.0.0.0", "255.255.255.255"], ["256.0.0.1", "01.0.0.1", "1.2.3", "1.2.3.4.5", "1.2.3.4 "]),
    "ipv6": (
        ["::", "::1", "1::", "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7::", "::2:3:4:5:6:7:8", "::ffff:1.2.3.4", "1::1.2.3.4"],
        ["1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "::1::", "12345::", "::1.2.3.256", "::1%0", "1:2:3:4:5:6:7:1.2.3.4"],
    ),
    "uuid": (
        ["2EB8AA08-aa98-11ea-B4Aa-73B441D16380", "00000000-0000-0000-0000-000000000000"],
        ["2eb8aa08-aa98-11ea-b4aa73b441d16380", "2eb8aa08aa9811eab4aa73b441d16380", "2eb8aa08-aa98-11ea-b4ga-73b4"],
    ),
    "hostname": (
        ["a", "example.com", "a-b.c-d", "1.2", "x", "xn", "xn-a", ".".join("abcdefghijkl"), _LONG_NAME],
        ["", "-a", "a-", "a..b", ".a", "a.", "a_b", "a" * 64, f"{_LONG_NAME}.{_LONG_NAME}", "xn--x", "é"],
    ),
    "email": (
        ["joe.bloggs@example.com", "te~st@x", "+1@1", "a" * 64 + "@b"],
        ["@b", "a@", "a@@b", ".a@b", "a.@b", "a..b@c", "a" * 65 + "@b", "a b@c", "a@-b"],
    ),
    "json-pointer": (["", "/", "/a~0b~1c", "/a//b", "/é\n"], ["a", "/a~", "/a~2", "#/a"]),
    "relative-json-pointer": (["0", "1/a", "0#", "12/a~1b", "0+1", "1-2#"], ["", "/a", "01", "-1", "0##", "+1"]),
    "uri": (
        ["http://a.b/c?d#e", "urn:x:y", "http://[::1]:80/", "http://[v1.a]/", "a:", "mailto:a@b", "http://u:p@h/%20"],
        ["//a.b", "a", "", "http://a b", "http://a/%2", "http://[::1/", "1a:b", "http://a/#b#c", "a:\\b", "http://é/"],
    ),
    "uri-reference": (["//a.b", "a/b", "", "#f", "?q", "./a:b"], ["a b", "\\\\s\\f", "#f#g", "1:b", "%zz"]),
    "iri": (["http://ƒøø.ßår/?∂éœ=πîx#πîüx"], ["/abc", "http://a b"]),
    "iri-reference": (["âππ", "#ƒräg"], ["#ƒräg\\mênt"]),
    "uri-template": (["http://e.com/{a}/{b*}{?c,d:3}", "", "{+x.y}"], ["{", "}", "{}", "{a b}", "{a:10000}", "x y"]),
}  # fmt: skip


def test_every_format_of_the_table_has_examples() -> None:
    assert EXAMPLES.keys() == FORMATS.keys()


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_expression_decides_as_the_standard(name: str) -> None:
    expression = re2.compile(FORMATS[name])
    valid, invalid = EXAMPLES[name]
    assert [text for text in valid if expression.fullmatch(text) is None] == []
    assert [text for text in invalid if expression.fullmatch(text) is not None] == []


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_engine_reads_the_expression_the_same_way(name: str) -> None:
    contract = Contract(f'{{"type":"string","format":"{name}"}}')
    valid, invalid = EXAMPLES[name]
    quoted = {text: '"' + text.replace("\\", "\\\\").replace("\n", "\\n") + '"' for text in [*valid, *invalid]}
    assert [text for text in valid if not contract.generates(quoted[text])] == []
    assert [text for text in invalid if contract.generates(quoted[text])] == []


def test_a_format_says_nothing_about_other_types() -> None:
    contract = Contract('{"format":"date"}')
    assert contract.generates("17")
    assert not contract.generates('"soon"')


def test_a_format_and_a_pattern_both_hold() -> None:
    contract = Contract('{"type":"string","format":"date","pattern":"^2024","maxLength":10}')
    assert contract.generates('"2024-02-29"')
    assert not contract.generates('"2023-02-28"')
    assert not contract.generates('"2024-02-30"')


@pytest.mark.parametrize("name", ["idn-email", "idn-hostname", "regex"])
def test_a_format_that_is_not_regular_is_refused(name: str) -> None:
    rejection = refusal(f'{{"type":"string","format":"{name}"}}').rejections[0]
    assert (rejection.pointer, rejection.keyword) == ("/format", "format")
