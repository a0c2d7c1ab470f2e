"""Look-ahead at the beginning of a pattern, as patterns that any engine runs."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.validation.judge import Judge
from gateway.validation.verdict import Invalid, Valid
from policy.limits import TENANT
from registry.errors import ContractRejectedError
from registry.json_schema import read_json_schema
from tests.registry.reading import STRICT


def read(schema: Any) -> Any:
    return read_json_schema(schema, limits=TENANT.contract, policy=STRICT)


def test_what_must_not_follow_is_a_pattern_of_its_own_and_the_author_is_told() -> None:
    contract = read({"properties": {"env": {"type": "string", "pattern": "^(?!tmp)[a-z]{3,8}$"}}})
    apart = {"type": "string", "pattern": "^[a-z]{3,8}$", "allOf": [{"not": {"type": "string", "pattern": "^(?:tmp)"}}]}
    assert contract.digest == read({"properties": {"env": apart}}).digest
    assert contract.transformations == (
        "2020-12: /properties/env/pattern: look-ahead at the beginning of pattern -> patterns in allOf",
    )
    for below in ("", "/0", "/0/not", "/0/not/type", "/0/not/pattern"):
        assert contract.source_pointer(f"/properties/env/allOf{below}") == "/properties/env/pattern"


def test_several_groups_stand_behind_what_allof_has_already() -> None:
    contract = read({"allOf": [{"minLength": 2}], "pattern": "^(?=.*[A-Z])(?!a|b)c"})
    conjuncts = [
        {"minLength": 2}, {"pattern": "^(?:.*[A-Z])"}, {"not": {"type": "string", "pattern": "^(?:a|b)"}},
    ]  # fmt: skip
    assert contract.digest == read({"allOf": conjuncts, "pattern": "^c"}).digest


@pytest.mark.parametrize(
    "pattern",
    [
        "(?!a)b", "a(?!b)", "^(?!a)b|c", "^(?!a)*b", "^(?!a){2}b", "^(?!a(?!b))c", "^(?!a)b(?=c)", "^(?<!a)b", "^(?!a",
        "^" + "(?!a)" * 9,
    ],
)  # fmt: skip
def test_look_ahead_that_says_more_stays_refused_at_its_place(pattern: str) -> None:
    with pytest.raises(ContractRejectedError) as caught:
        read({"properties": {"a": {"pattern": pattern}}})
    assert (caught.value.rejections[0].code, caught.value.rejections[0].pointer) == (
        "unsupported_regex", "/properties/a/pattern",
    )  # fmt: skip


def test_in_names_of_properties_it_stays_refused() -> None:
    with pytest.raises(ContractRejectedError):
        read({"patternProperties": {"^(?!a)b": True}})


def test_data_that_looks_like_it_is_left_alone() -> None:
    assert read({"const": {"pattern": "^(?!a)b"}}).transformations == ()


_BODIES = st.sampled_from(
    ["a", "ab", "a|b", "[ab]b", "a*b", "[|)]", "\\(", "\\)|a", "(a|b)$", "^b", "$", "(?:ab|)b", ""]
)
_RESTS = st.sampled_from(["", "a", "[ab]*$", "(a|b)b", ".*b", "\\|", "[)|]a", "$"])


@given(
    st.lists(st.tuples(st.sampled_from(["(?!", "(?="]), _BODIES), min_size=1, max_size=3),
    _RESTS,
    st.lists(st.text("ab|()", max_size=4), min_size=1, max_size=8),
)
def test_the_validator_judges_as_the_pattern_meant(groups: list[Any], rest: str, values: list[str]) -> None:
    pattern = "^" + "".join(f"{head}{body})" for head, body in groups) + rest
    try:
        contract = read({"pattern": pattern})
    except ContractRejectedError as error:
        assert error.rejections[0].code == "unsatisfiable"  # noqa: PT017 - it is read, and allows nothing
        return
    judge = Judge.prepare(contract.text)
    assert isinstance(judge, Judge)
    for value in values:
        # Python's `$` takes a final newline; there is none here.
        meant = re.search(pattern, value) is not None
        assert isinstance(judge.judge_value(value), Valid if meant else Invalid)
    assert isinstance(judge.judge_value(7), Valid)
