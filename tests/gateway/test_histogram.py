"""Durations are told as the client library tells its own histograms."""

import pytest
from prometheus_client import CollectorRegistry, Histogram, generate_latest

from gateway.histogram import Durations

BOUNDS = (0.001, 0.5, 1.0, 300.0)


def told(registry: CollectorRegistry) -> list[str]:
    return [line for line in generate_latest(registry).decode().splitlines() if "_created" not in line]


@pytest.mark.parametrize("label", ["", "stage"])
def test_what_is_counted_is_told_as_the_library_would(label: str) -> None:
    ours, theirs = CollectorRegistry(), CollectorRegistry()
    durations = Durations("took_seconds", "Time.", bounds=BOUNDS, registry=ours, label=label)
    histogram = Histogram("took_seconds", "Time.", [label] if label else [], buckets=BOUNDS, registry=theirs)
    # On a bound, between two, below the first and above the last.
    for seconds in (0.5, 0.25, 0.0, 299.0, 300.5, 0.001):
        for value in ("parse", "decode") if label else ("",):
            durations.observe(seconds, value)
            (histogram.labels(value) if label else histogram).observe(seconds)
    assert told(ours) == told(theirs)


def test_what_has_not_happened_is_nought() -> None:
    registry = CollectorRegistry()
    Durations("took_seconds", "Time.", bounds=BOUNDS, registry=registry)
    named = Durations("named_seconds", "Time.", bounds=BOUNDS, registry=registry, label="stage")
    named.begin("parse")
    assert registry.get_sample_value("took_seconds_count") == 0
    assert registry.get_sample_value("named_seconds_bucket", {"stage": "parse", "le": "+Inf"}) == 0
    assert registry.get_sample_value("named_seconds_count", {"stage": "decode"}) is None
