"""Properties over thousands of examples, in parts that are tests of their own: each is short, and always the same."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis.strategies import SearchStrategy

NUM_PARTS = 5


def thorough(
    *strategies: SearchStrategy[Any], num_examples: int = 2_000
) -> Callable[[Callable[..., None]], Callable[[int], None]]:
    """The property, over `num_examples` in all. A part has a seed of its own, so that a failure is everyone's."""
    bounds = settings(
        max_examples=num_examples // NUM_PARTS, deadline=None, database=None,
        suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow, HealthCheck.data_too_large],
    )  # fmt: skip

    def in_parts(holds: Callable[..., None]) -> Callable[[int], None]:
        @pytest.mark.parametrize("part", range(NUM_PARTS))
        def test(part: int) -> None:
            seed(part)(bounds(given(*strategies)(holds)))()

        test.__name__ = holds.__name__
        test.__qualname__ = holds.__qualname__
        test.__module__ = holds.__module__
        test.__doc__ = holds.__doc__
        return test

    return in_parts
