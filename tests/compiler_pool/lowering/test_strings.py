"""Patterns in the real engine: whatever spelling it generates reads back as a text that the pattern matches."""

import json
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler_pool.lowering.outcome import Refused
from policy.rejection import RejectionCode
from registry.parsing import parse_json
from registry.pattern_program import pattern_program
from tests.compiler_pool.lowering.generation import Contract, lowered, refusal

_CHARACTERS = [*map(chr, range(0x81)), "é", "\u2028", "\ud7ff", "\ue000", "😀"]
_SHORT = {"\b": "b", "\t": "t", "\n": "n", "\f": "f", "\r": "r", '"': '"', "\\": "\\", "/": "/"}
_NEEDS_UNICODE_ESCAPE = frozenset(map(chr, range(0x20))) - _SHORT.keys() | {"\x7f"}
_NO_NAMES = '{{"type":"string","pattern":{}}}'
_MEMBER = (
    '{{"type":"object","properties":{{"k":{{"type":"string","pattern":{}}}}},'
    '"required":["k"],"additionalProperties":false}}'
)
_NAME = '{{"type":"object","patternProperties":{{{}:{{"type":"integer"}}}},"additionalProperties":false}}'


def spellings(character: str) -> Iterator[str]:
    """Every way to write a character in a JSON string, and a few that JSON does not have."""
    yield character
    if character in _SHORT:
        yield "\\" + _SHORT[character]
    if ord(character) <= 0xFFFF:
        yield f"\\u{ord(character):04x}"
        yield f"\\u{ord(character):04X}"


def generated(contract: Contract, shape: str, before: str = "", after: str = "") -> set[str]:
    """The characters of which some spelling is generated between `before` and `after`; `""` stands for nothing."""
    found = set()
    for character in ["", *_CHARACTERS]:
        for spelling in spellings(character) if character else [""]:
            if contract.generates(shape % f'"{before}{spelling}{after}"'):
                assert parse_json(f'"{spelling}"', max_bytes=99, max_nesting=9) == character, spelling
                found.add(character)
    return found


def matched(pattern: str, before: str = "", after: str = "") -> set[str]:
    program = pattern_program(pattern)
    return {character for character in ["", *_CHARACTERS] if program.search(before + character + after) is not None}


@pytest.mark.parametrize(
    "pattern",
    [r'^[^"\\]*$', r'^[^",]+$', '^[^<>"]*$', r'^[^\\/:*?"<>|]+$', r'^[^"\n]$', r"^[\x00-\x1f]$", r"^[^\\]$", r"^\W$",
     r"^([\x00-\x0f]|[\x10-\x1f])$", r"^(\x00|[\x01-\x1f])$", r"^(?:\x00|\x01|[\x02-\x1f])$", r"^[\x00-\x1f\"]$",
     r"^\p{Cc}$", r"^[\p{L}\x00-\x1f]$", r"^[^\P{Cc}]$", r"^(?:[\x00-\x1f]|[\"a])$", r"^\s|[\x00-\x1f]$",
     "^(?:" + "|".join(f"\\x{point:02x}" for point in range(0x20)) + ")$"],
)  # fmt: skip
@pytest.mark.parametrize("contract", [_NO_NAMES, _MEMBER, _NAME])
def test_a_set_of_all_control_characters_lets_no_other_escape_through(pattern: str, contract: str) -> None:
    shape = {_NO_NAMES: "%s", _MEMBER: '{"k":%s}', _NAME: "{%s:1}"}[contract]
    assert generated(Contract(contract.format(json.dumps(pattern))), shape) <= matched(pattern)


@pytest.mark.parametrize(
    "schema",
    [r'{"type":"string","pattern":"^[^\"\\\\]*$","minLength":1}',
     r'{"type":"string","pattern":"^[^\"\\\\]*$","maxLength":3}',
     r'{"type":"string","pattern":"^[^\"\\\\]*$","minLength":1,"maxLength":1}',
     r'{"allOf":[{"type":"string","pattern":"^[^\"\\\\]*$"},{"pattern":"^(?:.|\\n)*$"}]}',
     r'{"anyOf":[{"type":"string","pattern":"^[\\x00-\\x0f]$"},{"type":"string","pattern":"^[a\\x10-\\x1f]$"}]}',
     r'{"anyOf":[{"enum":["\u0000","a"]},{"type":"string","pattern":"^[\\x01-\\x1f]$"}]}'],
)  # fmt: skip
def test_what_stands_beside_a_pattern_lets_no_other_escape_through_either(schema: str) -> None:
    found = generated(Contract(schema), "%s")
    assert "\x01" in found
    assert not found & {'"', "\\"}


@pytest.mark.parametrize("pattern", ["^.$", "^[^a]$", "^[^]$", "^[\\s\\S]$", "^[^\\n]$"])
def test_a_set_that_holds_both_escaped_characters_stays_whole(pattern: str) -> None:
    assert generated(Contract(_NO_NAMES.format(json.dumps(pattern))), "%s") == matched(pattern)


def test_a_set_without_both_loses_the_null_character_only() -> None:
    pattern = '^[^"]$'
    assert matched(pattern) - generated(Contract(_NO_NAMES.format(json.dumps(pattern))), "%s") == {"\0"}


@pytest.mark.parametrize("pattern", [r"^a\vb$", r"^a\x7fb$", r"^\x00$", r"^[\x01-\x07\x7f]+$"])
def test_a_pattern_that_needs_a_character_which_names_rule_out_is_refused(pattern: str) -> None:
    quoted = json.dumps(pattern)
    member = refusal(_MEMBER.format(quoted)).rejections[0]
    assert (member.code, member.pointer) == (RejectionCode.UNSUPPORTED_REGEX, "/properties/k/pattern")
    name = refusal(_NAME.format(quoted)).rejections[0]
    assert (name.code, name.pointer) == (RejectionCode.UNSUPPORTED_REGEX, f"/patternProperties/{pattern}")


def test_a_pattern_that_needs_the_null_character_is_refused_everywhere() -> None:
    rejection = refusal(r'{"type":"string","pattern":"^a\\x00b$"}').rejections[0]
    assert (rejection.code, rejection.pointer) == (RejectionCode.UNSUPPORTED_REGEX, "/pattern")
    assert generated(Contract(r'{"type":"string","pattern":"^a\\vb$"}'), "%s", "a", "b") == {"\v"}


@pytest.mark.parametrize(
    "pattern", [r"^a[\x00-\x07x]b$", r"^a(?:\v|x)b$", r"^a(?:[\x7f]|x)b$", r"^a(?:x|\x01)b$", r"^a[^\n\r]b$"]
)
def test_beside_names_what_needs_the_long_escape_is_left_out_and_nothing_stands_for_it(pattern: str) -> None:
    expected = matched(pattern, "a", "b") - _NEEDS_UNICODE_ESCAPE
    quoted = json.dumps(pattern)
    assert generated(Contract(_MEMBER.format(quoted)), '{"k":%s}', "a", "b") == expected
    assert generated(Contract(_NAME.format(quoted)), "{%s:1}", "a", "b") == expected


@pytest.mark.parametrize("inner", ['{"type":"string"}', '{"type":"string","maxLength":1}', '{"maxLength":1}'])
def test_a_string_without_a_pattern_beside_names_has_short_escapes_only(inner: str) -> None:
    contract = Contract(f'{{"properties":{{"k":{inner}}},"required":["k"]}}')
    assert generated(contract, '{"k":%s}') == {"", *_CHARACTERS} - _NEEDS_UNICODE_ESCAPE


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [(r'{"properties":{"\u0001":{"type":"integer"}},"patternProperties":{"^[\\x01x]$":{"minimum":4}}}',
      "/properties/\x01"),
     (r'{"required":["a","\u0001"],"patternProperties":{"^[\\x01x]$":{"minimum":4}}}', "/required"),
     (r'{"allOf":[{"required":["\u007f"]},{"patternProperties":{"^[\\x7fx]$":{"minimum":4}}}]}', "/allOf/0/required")],
)  # fmt: skip
def test_a_declared_name_that_a_pattern_in_the_engine_would_miss_is_refused(schema: str, pointer: str) -> None:
    rejection = refusal(schema).rejections[0]
    assert (rejection.code, rejection.pointer) == (RejectionCode.UNSUPPORTED_VALUE, pointer)


def test_a_declared_name_with_a_control_character_is_taken_without_name_patterns() -> None:
    contract = Contract(r'{"properties":{"\u0001":{"type":"integer"}},"additionalProperties":false}')
    assert contract.generates(r'{"\u0001":1}')
    assert not contract.generates(r'{"\u0001":"x"}')


def test_undeclared_names_are_none_that_a_narrowed_pattern_claims() -> None:
    contract = Contract(r'{"type":"object","patternProperties":{"^[\\x00-\\x1fx]$":{"type":"integer"}}}')
    for character in _CHARACTERS:
        for spelling in spellings(character):
            is_text = contract.generates(f'{{"{spelling}":"text"}}')
            assert not is_text or (character >= " " and character != "x")


_ITEMS = st.sampled_from(
    ["\\x00-\\x1f", "\\x00-\\x09", "\\x0b-\\x1f", "\\x00-\\x0f", "\\x10-\\x1f", "\\x00", "\\x01", "\\n", "\\v", "\\b",
     "\\x7f", "\\x7e-\\x80", '"', "\\\\", "a-z", "a", "\\u{20}-\\u{7e}", "é", "😀", "\\s", "\\S", "\\W", "\\p{Cc}",
     "\\P{L}", "\\P{Cc}", "\\u2028", "\\x00-\\u{10ffff}"]
)  # fmt: skip
_SETS = st.builds(
    lambda sign, items: f"[{sign}{''.join(items)}]",
    st.sampled_from(["", "^"]),
    st.lists(_ITEMS, min_size=1, max_size=4),
)
_LITERALS = st.sampled_from(["\\x00", "\\x01", "\\n", "\\v", "\\x7f", '"', "\\\\", "a", "é", ".", "[^]"])


@settings(max_examples=60, deadline=None)
@given(
    branches=st.lists(st.one_of(_SETS, _LITERALS), min_size=1, max_size=3),
    contract=st.sampled_from([_NO_NAMES, _MEMBER, _NAME]),
    context=st.sampled_from([("", ""), ("a", "b")]),
)
def test_random_sets_generate_what_they_match_less_the_named_characters(
    branches: list[str], contract: str, context: tuple[str, str]
) -> None:
    before, after = context
    pattern = f"^{before}(?:{'|'.join(branches)}){after}$"
    text = contract.format(json.dumps(pattern, ensure_ascii=False))
    outcome = lowered(text)
    expected = matched(pattern, before, after)
    left_out = {"\0"} if contract == _NO_NAMES else _NEEDS_UNICODE_ESCAPE
    if isinstance(outcome, Refused):
        assert expected <= left_out
        return
    if not expected:
        return  # the engine itself says that nothing matches
    found = generated(Contract(text), {_NO_NAMES: "%s", _MEMBER: '{"k":%s}', _NAME: "{%s:1}"}[contract], before, after)
    assert expected - left_out <= found <= expected
