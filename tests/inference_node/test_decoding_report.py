"""What is told of a sequence's decoding is what was counted."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference_node.decoding_report import MAX_FIELDS, DecodingTally
from inference_node.protocol import DecodingReport


def test_nothing_counted_is_an_empty_report() -> None:
    assert DecodingTally().report() == DecodingReport()


def test_counts_are_added_up() -> None:
    tally = DecodingTally()
    tally.reused(32)
    tally.drafted(4, 3)
    tally.drafted(4, 0)
    tally.step()
    tally.preempted()
    tally.reused(48)  # of its second admission: the prompt was its own

    report = tally.report()

    assert (report.num_steps, report.cached_prompt_tokens, report.num_preemptions) == (1, 32, 1)
    assert (report.drafted_tokens, report.accepted_draft_tokens) == (8, 3)
    assert report.mask_seconds is report.allowed_tokens is report.pressure is None


def test_a_member_has_the_largest_pressure_of_its_picks() -> None:
    tally = DecodingTally()
    tally.step(0.001, 1, 0.25)
    tally.wrote(b'{"name":')
    tally.step(0.001, 5, 0.5)
    tally.wrote(b'"A')
    tally.step(0.001, 7, 0.75)
    tally.wrote(b'da","tags":[')
    tally.step(0.001, 9, 0.125)

    assert tally.report().pressure_by_field == {"/name": 0.75, "": 0.25, "/tags/*": 0.125}
    assert list(tally.report().pressure_by_field) == ["/name", "", "/tags/*"]


def test_what_is_no_json_has_a_pressure_and_no_field() -> None:
    tally = DecodingTally()
    tally.wrote(b"Dear")
    tally.step(0.001, 5, 0.5)

    assert tally.report().pressure_by_field == {}
    assert tally.report().pressure is not None


def test_no_more_members_are_told_than_the_limit() -> None:
    tally = DecodingTally()
    for number in range(MAX_FIELDS + 8):
        tally.wrote(b'%s"%d":' % (b"," if number else b"{", number))
        tally.step(None, None, 0.5)
        tally.wrote(b"1")

    assert len(tally.report().pressure_by_field) == MAX_FIELDS


@pytest.mark.parametrize(("mass", "told"), [(-1e-7, 0.0), (1 + 1e-7, 1.0)])
def test_rounding_does_not_leave_the_interval(mass: float, told: float) -> None:
    tally = DecodingTally()
    tally.step(None, None, mass)

    pressure = tally.report().pressure
    assert pressure is not None
    assert pressure.p50 == pytest.approx(told, abs=0.0005)
    assert pressure.max == told


def test_a_mass_that_is_no_number_is_left_out() -> None:
    tally = DecodingTally()
    tally.step(None, None, float("nan"))

    assert tally.report() == DecodingReport(num_steps=1)


@given(counts=st.lists(st.integers(min_value=0, max_value=200_000), min_size=1, max_size=200))
def test_allowed_tokens_are_told_within_a_thirty_second(counts: list[int]) -> None:
    tally = DecodingTally()
    for count in counts:
        tally.step(None, count, None)

    spread = tally.report().allowed_tokens
    assert spread is not None
    for told, share in ((spread.p50, 0.5), (spread.p95, 0.95)):
        exact = _lower(counts, share)
        assert told == (exact if exact < 32 else pytest.approx(exact, rel=1 / 32))
    assert spread.max == max(counts)


@given(
    seconds=st.lists(st.floats(min_value=1e-7, max_value=1e3), min_size=1, max_size=200),
    masses=st.lists(st.floats(min_value=0, max_value=1), min_size=1, max_size=200),
)
def test_seconds_and_pressure_are_told_as_closely_as_is_said(seconds: list[float], masses: list[float]) -> None:
    tally = DecodingTally()
    for value in seconds:
        tally.step(value, None, None)
    for mass in masses:
        tally.step(None, None, mass)

    report = tally.report()
    assert report.mask_seconds is not None
    assert report.pressure is not None
    assert report.mask_seconds.p50 == pytest.approx(_lower(seconds, 0.5), rel=1 / 32)
    assert report.mask_seconds.max == max(seconds)
    assert report.pressure.p95 == pytest.approx(_lower(masses, 0.95), abs=0.0005 + 1e-9)
    assert report.pressure.max == max(masses)


def _lower(values: Sequence[float], share: float) -> float:
    """The smallest value up to which at least this share lies."""
    ordered = sorted(values)
    return next(value for place, value in enumerate(ordered, 1) if place >= share * len(ordered))
