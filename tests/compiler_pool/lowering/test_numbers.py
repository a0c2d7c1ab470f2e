"""Numeric constraints against exact arithmetic: the engine works in doubles, the contract does not."""

import json
from collections.abc import Callable
from decimal import Decimal, localcontext

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compiler_pool.lowering.numbers import (
    Number,
    inexact,
    inexact_multiple,
    integral_bounds,
    leaking_bounds,
    narrowed,
)
from compiler_pool.lowering.outcome import Refused
from policy.rejection import RejectionCode
from tests.compiler_pool.lowering.generation import Contract, lowered, refusal

_BOUNDS = ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum")
_PLACES = (0, 1, 2, 5, 9, 15)


def _plain(value: Decimal) -> str:
    text = format(value, "f")
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text in {"", "-0"} else text


@st.composite
def _decimals(draw: st.DrawFn) -> Decimal:
    digits = draw(st.integers(min_value=-(10**9), max_value=10**9) | st.integers(min_value=-100, max_value=100))
    return Decimal(digits).scaleb(-draw(st.integers(min_value=0, max_value=9)))


@st.composite
def _constraints(draw: st.DrawFn) -> dict[str, Decimal]:
    found = {name: draw(_decimals()) for name in draw(st.sets(st.sampled_from(_BOUNDS), min_size=1, max_size=3))}
    if draw(st.booleans()):
        divisor = abs(draw(_decimals()))
        found["multipleOf"] = divisor if 0 < divisor <= 1000 else Decimal("0.25")
    return found


def _holds(number: Decimal, kind: str, constraints: dict[str, Decimal]) -> bool:
    with localcontext() as context:
        context.prec = 100
        checks: dict[str, Callable[[Decimal], bool]] = {
            "minimum": lambda bound: number >= bound,
            "exclusiveMinimum": lambda bound: number > bound,
            "maximum": lambda bound: number <= bound,
            "exclusiveMaximum": lambda bound: number < bound,
            "multipleOf": lambda divisor: number % divisor == 0,
        }
        is_integer = kind == "number" or number == number.to_integral_value()
        return is_integer and all(checks[name](value) for name, value in constraints.items())


def _near(constraints: dict[str, Decimal]) -> set[Decimal]:
    around = {Decimal(0), *constraints.values()}
    steps = {Decimal(1).scaleb(-places) for places in _PLACES} | {Decimal(0), constraints.get("multipleOf", Decimal(1))}
    return {value + sign * step for value in around for step in steps for sign in (1, -1)}


def _spellings(value: Decimal) -> set[str]:
    plain = _plain(value)
    longer = plain + "0" if "." in plain else plain + ".0"
    zeros = {"0", "-0", "0.0", "-0.0", "0e5", "-0E-2"} if value == 0 else set()
    return {plain, longer, f"{value:e}", *zeros}


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(kind=st.sampled_from(["number", "integer"]), constraints=_constraints())
def test_no_number_outside_the_constraints_can_be_generated(kind: str, constraints: dict[str, Decimal]) -> None:
    body = ",".join(f'"{name}":{_plain(value)}' for name, value in constraints.items())
    text = f'{{"type":"{kind}",{body}}}'
    if isinstance(lowered(text), Refused):
        return
    try:
        contract = Contract(text)
    except AssertionError as error:
        assert "nsatisfiable" in str(error) or "lexemes" in str(error), error  # noqa: PT017 - the engine's own refusal
        return
    for value in _near(constraints):
        for spelling in _spellings(value):
            if contract.generates(spelling):
                assert _holds(Decimal(spelling), kind, constraints), (text, spelling)


@st.composite
def _close_bounds(draw: st.DrawFn) -> list[dict[str, Decimal]]:
    """Up to three conjuncts whose bounds all lie within two of one whole number, many of them whole."""
    whole = draw(st.sampled_from([0, 1, 3, 9, 10, 99, 100, 10**9, 99999999999999]) | st.integers(0, 2000))
    sign = draw(st.sampled_from([1, -1]))
    places = draw(st.integers(1, min(15, max(1, 14 - len(str(whole))))))
    unit = 10**places
    offsets = st.sampled_from([0, 0, 0, 1, -1, unit, -unit, unit - 1, unit + 1]) | st.integers(-2 * unit, 2 * unit)
    bounds = st.dictionaries(st.sampled_from(_BOUNDS), offsets, min_size=1, max_size=3)
    conjuncts = draw(st.lists(bounds, min_size=1, max_size=3))
    return [
        {name: sign * (whole + Decimal(offset).scaleb(-places)) for name, offset in conjunct.items()}
        for conjunct in conjuncts
    ]


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    kind=st.sampled_from(["number", "number", "integer"]),
    conjuncts=_close_bounds(),
    divisor=st.sampled_from(["", "0.1"]),
)
def test_no_conjunction_of_close_bounds_lets_a_number_outside_through(
    kind: str, conjuncts: list[dict[str, Decimal]], divisor: str
) -> None:
    parts = [",".join(f'"{name}":{_plain(value)}' for name, value in conjunct.items()) for conjunct in conjuncts]
    beside = f',"multipleOf":{divisor}' if divisor and kind == "number" else ""
    text = f'{{"type":"{kind}"{beside},{parts[0]},"allOf":[{",".join(f"{{{part}}}" for part in parts[1:])}]}}'
    text = text if len(parts) > 1 else text.replace(',"allOf":[]', "")
    if isinstance(lowered(text), Refused):
        return
    try:
        contract = Contract(text)
    except AssertionError as error:
        assert "nsatisfiable" in str(error) or "lexemes" in str(error), error  # noqa: PT017 - the engine's own refusal
        return
    for conjunct in conjuncts:
        for value in _near(conjunct):
            for spelling in _spellings(value):
                if contract.generates(spelling):
                    assert all(_holds(Decimal(spelling), kind, each) for each in conjuncts), (text, spelling)


@settings(max_examples=60, deadline=None)
@given(kind=st.sampled_from(["number", "integer"]), low=_decimals(), high=_decimals())
def test_numbers_between_bounds_can_be_generated_as_they_are_plainly_written(
    kind: str, low: Decimal, high: Decimal
) -> None:
    low, high = (round(bound, 3) for bound in sorted((low, high)))
    text = f'{{"type":"{kind}","minimum":{_plain(low)},"maximum":{_plain(high)}}}'
    candidates: set[Decimal] = {low, high, round((low + high) / 2, 2), Decimal(round((low + high) / 2))} - {
        Decimal("-0")
    }
    wanted = [value for value in candidates if _holds(value, kind, {"minimum": low, "maximum": high})]
    if not wanted:
        return
    contract = Contract(text)
    for value in wanted:
        assert contract.generates(_plain(value)), (text, value)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ('{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1e-10}', "0"),
        ('{"type":"number","exclusiveMinimum":0,"maximum":0.5}', "0"),
        ('{"type":"number","exclusiveMinimum":0,"maximum":0.5}', "0.0"),
        ('{"type":"number","minimum":-0.9,"exclusiveMaximum":0}', "-0"),
        ('{"allOf":[{"type":"number","exclusiveMinimum":0},{"maximum":0.5}]}', "0"),
        ('{"$ref":"#/$defs/d0","maximum":0.5,"$defs":{"d0":{"type":"number","exclusiveMinimum":0}}}', "0"),
        ('{"type":"number","exclusiveMinimum":3,"maximum":3.8}', "3"),
        ('{"type":"number","exclusiveMinimum":3,"exclusiveMaximum":3.8}', "3"),
        ('{"type":"number","exclusiveMinimum":3,"maximum":3.8,"multipleOf":0.1}', "3"),
        ('{"type":"number","exclusiveMinimum":99999999999999,"maximum":99999999999999.1}', "99999999999999"),
        ('{"type":"number","minimum":-3.8,"exclusiveMaximum":-3}', "-3"),
        ('{"exclusiveMinimum":3,"maximum":3.8}', "3"),
        ('{"allOf":[{"type":"number","exclusiveMinimum":10},{"exclusiveMaximum":10.0001}]}', "10"),
        ('{"allOf":[{"anyOf":[{"exclusiveMinimum":1},{"exclusiveMinimum":2}]},{"type":"number","maximum":1.5}]}', "1"),
        ('{"type":"integer","maximum":9007199254740991}', "9007199254740992"),
        ('{"type":"integer","exclusiveMinimum":0.5}', "0"),
        ('{"type":"number","multipleOf":0.01}', "0.015"),
        ('{"type":"number","multipleOf":0.239}', "0.24"),
    ],
)
def test_a_number_that_the_engine_alone_would_let_through_is_not_generated(text: str, number: str) -> None:
    assert not Contract(text).generates(number)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ('{"type":"number","exclusiveMinimum":0,"maximum":0.5}', "0.25"),
        ('{"type":"number","exclusiveMinimum":3,"maximum":3.8}', "3.5"),
        ('{"type":"number","exclusiveMinimum":3,"maximum":3.8}', "3.8"),
        ('{"type":"number","exclusiveMinimum":3,"maximum":3.8}', "3.00000000000001"),
        ('{"type":"number","minimum":-3.8,"exclusiveMaximum":-3}', "-3.01"),
        ('{"type":"number","minimum":3.00000000000001,"maximum":3.8}', "3.1"),
        ('{"type":"number","exclusiveMinimum":0}', "0.001"),
        ('{"type":"number","multipleOf":0.25}', "0.5"),
        ('{"type":"number","multipleOf":0.01}', "3"),
        ('{"type":"number","multipleOf":0.01}', "0.1"),
        ('{"type":"number","minimum":-0.18}', "-0.1"),
        ('{"type":"number","maximum":1e2}', "100"),
        ('{"type":"integer","maximum":9007199254740991}', "9007199254740991"),
        ('{"const":0.1}', "0.1"),
        ('{"type":"integer","minimum":-9007199254740992}', "-9007199254740992"),
    ],
)
def test_numbers_within_are_generated_in_their_plain_spelling(text: str, number: str) -> None:
    assert Contract(text).generates(number)


@pytest.mark.parametrize(
    ("text", "pointer"),
    [
        ('{"const":9007199254740993}', "/const"),
        ('{"enum":[1,{"a":[9007199254740993]}]}', "/enum"),
        ('{"maximum":9223372036854775807}', "/maximum"),
        ('{"enum":[1e21,2]}', "/enum"),
        ('{"type":"integer","exclusiveMinimum":9007199254740992}', "/exclusiveMinimum"),
        ('{"type":"integer","exclusiveMaximum":-9007199254740992}', "/exclusiveMaximum"),
        ('{"allOf":[{"type":"integer"},{"exclusiveMinimum":9007199254740992}]}', "/allOf/1/exclusiveMinimum"),
        ('{"minimum":0.30000000000000004}', "/minimum"),
        ('{"properties":{"a":{"exclusiveMinimum":-1e300}}}', "/properties/a/exclusiveMinimum"),
    ],
)
def test_a_number_with_more_digits_than_the_engine_keeps_is_not_left_to_it(text: str, pointer: str) -> None:
    rejection = refusal(text).rejections[0]
    assert (rejection.code, rejection.pointer) == (RejectionCode.UNSUPPORTED_VALUE, pointer)


@pytest.mark.parametrize("text", ['{"minimum":1e-16}', '{"maximum":1e-300}'])
def test_a_number_too_near_to_zero_is_refused(text: str) -> None:
    assert refusal(text).rejections[0].code is RejectionCode.UNSUPPORTED_VALUE


def test_a_large_divisor_is_refused_by_its_limit() -> None:
    rejection = refusal('{"type":"integer","multipleOf":2147483647}').rejections[0]
    assert (rejection.code, rejection.limit_name) == (RejectionCode.LIMIT_EXCEEDED, "max_multiple_of")
    assert rejection.observed == 2147483647


def test_a_divisor_that_drifts_when_scaled_is_refused() -> None:
    assert inexact_multiple(Decimal("0.0000000033"), max_multiple=1000) is not None
    rejection = refusal('{"type":"number","multipleOf":3.24}').rejections[0]
    assert (rejection.code, rejection.pointer) == (RejectionCode.UNSUPPORTED_VALUE, "/multipleOf")


def test_bounds_of_integers_become_inclusive_integers() -> None:
    assert integral_bounds({"exclusiveMinimum": Decimal("0.5"), "maximum": Decimal("7.9")}) == {
        "minimum": 1,
        "maximum": 7,
    }
    assert integral_bounds({"minimum": 2, "exclusiveMinimum": 2, "exclusiveMaximum": 5}) == {"minimum": 3, "maximum": 4}


def _moved(bounds: dict[str, Number]) -> dict[str, Number]:
    return narrowed(bounds, leaking_bounds(bounds.items()))


def test_an_exclusive_bound_that_would_leak_moves_only_inwards() -> None:
    half = Decimal("0.5")
    assert _moved({"exclusiveMinimum": 0, "maximum": half}) == {"minimum": Decimal("1e-15"), "maximum": half}
    assert _moved({"exclusiveMaximum": 0, "minimum": -half}) == {"minimum": -half, "maximum": Decimal("-1e-15")}
    assert _moved({"exclusiveMinimum": 3, "maximum": Decimal("3.8")}) == {
        "minimum": Decimal("3.00000000000001"),
        "maximum": Decimal("3.8"),
    }
    assert _moved({"minimum": Decimal("-100.1"), "exclusiveMaximum": -100}) == {
        "minimum": Decimal("-100.1"),
        "maximum": Decimal("-100.000000000001"),
    }
    assert _moved({"minimum": Decimal("3.5"), "exclusiveMinimum": 3}) == {"minimum": Decimal("3.5")}


@pytest.mark.parametrize(
    "bounds",
    [
        {"exclusiveMinimum": 3, "maximum": 4},
        {"exclusiveMinimum": 3, "maximum": Decimal("4.5")},
        {"exclusiveMinimum": -3, "maximum": Decimal("-2.5")},
        {"minimum": Decimal("2.5"), "exclusiveMaximum": 3},
        {"exclusiveMinimum": Decimal("3.5"), "maximum": Decimal("3.8")},
    ],
)
def test_an_exclusive_bound_that_cannot_leak_stays(bounds: dict[str, Number]) -> None:
    assert _moved(bounds) == bounds


def test_short_numbers_are_exact() -> None:
    for text in ("0", "1", "-1", "0.1", "123456789012345", "1e-15", "9007199254740992"):
        value = json.loads(text, parse_float=Decimal)
        assert inexact(value, max_digits=15) is None
