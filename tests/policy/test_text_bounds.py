import pytest

from policy.enforcement import EnforcementPolicy
from policy.text_bounds import FREE_JSON, UNBOUNDED, TextBounds


def test_nothing_is_bounded_by_default() -> None:
    assert TextBounds() == UNBOUNDED
    assert UNBOUNDED.named() == ()
    assert EnforcementPolicy().bounds == UNBOUNDED


def test_a_bound_is_at_least_one() -> None:
    with pytest.raises(ValueError, match="max_items is at least 1"):
        TextBounds(max_items=0)


def test_what_is_set_is_kept_where_others_fill_in_the_rest() -> None:
    assert TextBounds(max_digits=9).filled(FREE_JSON) == TextBounds(max_digits=9, max_depth=FREE_JSON.max_depth)
    assert TextBounds(max_items=3, max_depth=2).without("max_items") == TextBounds(max_depth=2)


def test_every_bound_and_its_value_is_in_a_policys_digest() -> None:
    bounds = [
        UNBOUNDED, TextBounds(max_digits=9), TextBounds(max_digits=8), TextBounds(max_items=9),
        TextBounds(max_depth=9), TextBounds(max_string_length=9), TextBounds(max_digits=9, max_items=9),
    ]  # fmt: skip
    assert len({EnforcementPolicy(bounds=each).digest for each in bounds}) == len(bounds)


def test_a_policy_without_bounds_has_the_digest_that_revisions_were_signed_over() -> None:
    assert EnforcementPolicy().digest == "a2e84aa66583a4bcb657b978466b84cc82555e0be92bdfcae33d4cbb0baaea49"
