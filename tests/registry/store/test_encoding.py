"""Everything that is kept comes back as it was."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy.dialects import sqlite

from registry.contract import ContractDigest
from registry.identifiers import RevisionId
from registry.revision import Dependency
from registry.store.columns import UtcDateTime, Utf8
from registry.store.encoding import (
    read_dependencies,
    read_members,
    read_names,
    read_profile,
    write_dependencies,
    write_members,
    write_names,
    write_profile,
)

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.decimals(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(TEXTS, JSON, max_size=4))
def test_members(members: dict[str, object]) -> None:
    text = write_members(members)  # type: ignore[arg-type]
    assert read_members(text) == members
    assert write_members(read_members(text)) == text


@given(st.dictionaries(TEXTS, st.integers() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False)))
def test_profiles(profile: dict[str, int | float | bool]) -> None:
    read = read_profile(write_profile(profile))
    assert read == profile
    assert {name: type(value) for name, value in read.items()} == {name: type(value) for name, value in profile.items()}


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a_profile_without_a_number_is_a_fault(number: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_profile({"depth": number})


@given(st.lists(TEXTS))
def test_names(names: list[str]) -> None:
    assert read_names(write_names(names)) == tuple(names)


@given(st.lists(st.tuples(TEXTS, TEXTS, TEXTS)))
def test_dependencies(rows: list[tuple[str, str, str]]) -> None:
    dependencies = tuple(
        Dependency(uri=uri, digest=ContractDigest(digest), revision_id=RevisionId(revision))
        for uri, digest, revision in rows
    )
    assert read_dependencies(write_dependencies(dependencies)) == dependencies


@given(TEXTS)
def test_texts(text: str) -> None:
    column, dialect = Utf8(), sqlite.dialect()
    assert column.process_result_value(column.process_bind_param(text, dialect), dialect) == text


@given(st.datetimes(timezones=st.just(UTC) | st.just(timezone(timedelta(hours=-9, minutes=-30)))))
def test_moments(moment: datetime) -> None:
    column, dialect = UtcDateTime(), sqlite.dialect()
    try:
        bound = column.process_bind_param(moment, dialect)
    except OverflowError:
        return  # the last hours of the year 9999
    assert bound is not None
    assert bound.utcoffset() == timedelta(0)
    assert column.process_result_value(bound.replace(tzinfo=None), dialect) == moment


def test_a_moment_without_a_zone_is_a_fault() -> None:
    with pytest.raises(ValueError, match="zone"):
        UtcDateTime().process_bind_param(datetime(2026, 1, 1), sqlite.dialect())  # noqa: DTZ001
