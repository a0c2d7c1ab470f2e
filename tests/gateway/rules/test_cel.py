"""Expressions: checked when they are compiled, exact or undecided when they are evaluated."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.rules.cel import Binding, Expression, ExpressionFault, UnrepresentableError, cel_value, compile_expression
from gateway.rules.rule_set import Target
from gateway.rules.verdict import Failed, Passed, RuleFault, Undecided
from registry.contract import JsonValue

CALLER: dict[str, Any] = {"tenant": "acme", "team": None, "principal": "ada", "roles": ["caller", "author"]}


def verdict(text: str, value: JsonValue = None, **more: Any) -> Passed | Failed | Undecided:
    """What an expression says of an object."""
    compiled = compile_expression(text, Target.OBJECT)
    assert isinstance(compiled, Expression), compiled
    circumstances = {"caller": CALLER, "contract": {"name": "invoice", "revision": 3}, "request": {"model": "m"}} | more
    return compiled.evaluate(Binding(Target.OBJECT, {"object": cel_value(value), **circumstances}))


HOLDS = Passed()
FAILS = Failed(message="")


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("object.total == object.net + object.vat", {"total": 12, "net": 10, "vat": 2}, HOLDS),
        ("object.total == object.net + object.vat", {"total": 13, "net": 10, "vat": 2}, FAILS),
        ("object.lines.all(line, line.amount > 0)", {"lines": [{"amount": 1}, {"amount": 0}]}, FAILS),
        ("has(object.note) || object.total < 5", {"total": 4}, HOLDS),
        ("caller.tenant == 'acme' && 'author' in caller.roles", {}, HOLDS),
        ("caller.team == null", {}, HOLDS),
        ("contract.name == 'invoice' && contract.revision == 3", {}, HOLDS),
        ("request.model == 'm'", {}, HOLDS),
        ("object.id == 9007199254740993", {"id": 9007199254740993}, HOLDS),
        ("object.id == 9007199254740992", {"id": 9007199254740993}, FAILS),
        ("object.price < 0.3", {"price": Decimal("0.1")}, HOLDS),
        ("object.price == 0.1", {"price": Decimal("0.1")}, HOLDS),
        ("object.price > 2", {"price": Decimal("2.5")}, HOLDS),
        ("object.price == 2.0", {"price": 2}, HOLDS),
        ("object.matches('^[A-Z]{3}$')", "EUR", HOLDS),
        ("object.size() == 3", "a😀b", HOLDS),
        ("object == true", 1, FAILS),
        ("timestamp(object.at) < timestamp('2030-01-01T00:00:00Z')", {"at": "2026-01-01T00:00:00Z"}, HOLDS),
        ("object.name.lowerAscii() == 'x'", {"name": "X"}, HOLDS),
    ],
)
def test_an_expression_says_whether_the_object_passes(text: str, value: JsonValue, expected: Any) -> None:
    assert verdict(text, value) == expected


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("object.missing > 1", {}),
        ("object.a + object.b > 1", {"a": 1, "b": Decimal("1.5")}),
        ("object.a + 1 > 0", {"a": 9223372036854775807}),
        ("object.a / object.b > 1", {"a": 1, "b": 0}),
        ("object.list[5] == 1", {"list": []}),
        ("int(object.a) > 1", {"a": "many"}),
        ("object.list.all(x, object.list.all(y, object.list.all(z, x + y + z >= 0)))", {"list": list(range(500))}),
    ],
    ids=[
        "no such member",
        "a whole number and a fraction",
        "overflow",
        "zero",
        "no such item",
        "no number",
        "too long",
    ],
)
def test_an_expression_that_fails_is_undecided(text: str, value: JsonValue) -> None:
    assert verdict(text, value) == Undecided(fault=RuleFault.EVALUATION)


def test_a_value_that_is_no_boolean_is_undecided() -> None:
    assert verdict("object.flag", {"flag": "true"}) == Undecided(fault=RuleFault.NOT_BOOLEAN)
    assert verdict("object.flag", {"flag": True}) == HOLDS


@pytest.mark.parametrize(
    "value",
    [
        2**63,
        -(2**63) - 1,
        Decimal("0.1234567890123456789012345"),
        Decimal("1e-390"),
        "a\0b",
        {"a\0": 1},
        [[{"a": 2**80}]],
    ],
    ids=["2^63", "below", "digits", "tiny", "U+0000", "U+0000 in a name", "deep"],
)
def test_what_the_engine_would_change_never_reaches_it(value: JsonValue) -> None:
    with pytest.raises(UnrepresentableError):
        cel_value(value)


@pytest.mark.parametrize("value", [2**63 - 1, -(2**63), Decimal("0.1"), Decimal("123456.789"), Decimal("2.5e-300")])
def test_what_the_engine_holds_exactly_does(value: Any) -> None:
    assert Decimal(repr(cel_value(value))) == value


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("object.total ==", 1, 16, "Syntax error"),
        ("object.total == 1 &&\n  (object.net > 2", 2, 18, "Syntax error"),
        ("objekt.total == 1", 1, 7, "undeclared reference to 'objekt"),
        ("objct(1)", 1, 6, "undeclared reference to 'objct'"),
        ("1 + 'a' == 2", 1, 3, "no matching overload"),
        ("call.name == 'f'", 1, 5, "undeclared reference to 'call"),
        ("size(object)", 0, 0, "its value is int"),
        ("object.a < 9007199254740992.0", 0, 0, "write a whole number"),
        ("object.a < 1e300", 0, 0, "write a whole number"),
        ("object == 'a\0'", 0, 0, "U+0000"),
        ("(" * 200 + "true" + ")" * 200, 0, 0, "recursion"),
    ],
)
def test_a_bad_expression_is_refused_with_its_place(text: str, line: int, column: int, words: str) -> None:
    fault = compile_expression(text, Target.OBJECT)
    assert isinstance(fault, ExpressionFault)
    assert words in fault.message
    assert (fault.line, fault.column) == (line, column)


def test_a_rule_on_calls_sees_the_call_and_not_the_object() -> None:
    compiled = compile_expression("call.name != 'pay' || call.arguments.amount < 100", Target.CALL)
    assert isinstance(compiled, Expression)
    for amount, expected in ((99, HOLDS), (100, FAILS)):
        call = {"name": "pay", "arguments": {"amount": amount}}
        circumstances = {"caller": CALLER, "contract": {}, "request": {}}
        assert compiled.evaluate(Binding(Target.CALL, {"call": call, **circumstances})) == expected
    assert isinstance(compile_expression("object.a == 1", Target.CALL), ExpressionFault)


PIECES = [
    "object",
    "call",
    ".",
    "a",
    "[",
    "]",
    "(",
    ")",
    "{",
    "}",
    "0",
    "1",
    "1.5",
    "'a'",
    "+",
    "-",
    "*",
    "==",
    "<",
    "!",
    "&&",
    "||",
    "?",
    ":",
    ",",
    "in",
    "has",
    "all",
    "x",
    "null",
    "true",
    "size",
    "matches",
    "b'",
    '"',
    "\\",
    "😀",
]


@given(st.text(max_size=60) | st.lists(st.sampled_from([*PIECES, " ", "\n"]), max_size=25).map("".join))
def test_any_text_is_an_expression_or_is_refused(text: str) -> None:
    for target in Target:
        assert isinstance(compile_expression(text, target), Expression | ExpressionFault)
