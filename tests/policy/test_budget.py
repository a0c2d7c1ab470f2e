from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.budget import (
    Budget,
    BudgetLimits,
    BudgetState,
    Demand,
    Exhausted,
    Reserved,
    Usage,
    reserve,
    settle,
)

LIMITS = BudgetLimits(
    window_seconds=60,
    max_requests=3,
    max_tokens=100,
    max_compile_cpu_ms=50,
    max_unique_digests=2,
    max_concurrent_requests=2,
)


def granted(state: BudgetState, demand: Demand, *, now: float = 0, limits: BudgetLimits = LIMITS) -> BudgetState:
    outcome = reserve(state, demand, limits, now_seconds=now)
    assert isinstance(outcome, Reserved)
    return outcome.state


def refused(state: BudgetState, demand: Demand, *, now: float = 0, limits: BudgetLimits = LIMITS) -> Exhausted:
    outcome = reserve(state, demand, limits, now_seconds=now)
    assert isinstance(outcome, Exhausted)
    return outcome


def test_what_is_reserved_counts_until_it_is_settled() -> None:
    state = granted(BudgetState(), Demand(reservation_id="a", num_tokens=60))
    no = refused(state, Demand(reservation_id="b", num_tokens=50), now=10)
    assert (no.which, no.limit, no.observed, no.retry_after_seconds) == (Budget.TOKENS, 100, 110, 50)
    state = settle(state, "a", Usage(num_tokens=20), LIMITS, now_seconds=10)
    state = granted(state, Demand(reservation_id="b", num_tokens=80), now=10)
    assert (state.num_tokens, state.num_reserved_tokens) == (20, 80)


def test_a_refusal_reserves_nothing() -> None:
    state = granted(BudgetState(), Demand(reservation_id="a", num_tokens=60))
    assert refused(state, Demand(reservation_id="b", num_tokens=50)).state == state


def test_too_many_at_once_may_try_again_in_a_second() -> None:
    state = granted(BudgetState(), Demand(reservation_id="a"))
    state = granted(state, Demand(reservation_id="b"))
    no = refused(state, Demand(reservation_id="c"))
    assert (no.which, no.retry_after_seconds) == (Budget.CONCURRENT_REQUESTS, 1)
    granted(settle(state, "a", Usage(), LIMITS, now_seconds=0), Demand(reservation_id="c"))


def test_requests_count_although_they_ended() -> None:
    state = BudgetState()
    for name in ("a", "b", "c"):
        state = settle(granted(state, Demand(reservation_id=name)), name, Usage(), LIMITS, now_seconds=0)
    assert refused(state, Demand(reservation_id="d")).which is Budget.REQUESTS


def test_a_digest_counts_once_however_often_it_is_used() -> None:
    limits = replace(LIMITS, max_requests=10, max_concurrent_requests=10)
    state = BudgetState()
    for name, digest in [("a", "x"), ("b", "x"), ("c", "y"), ("d", None)]:
        state = granted(state, Demand(reservation_id=name, digest=digest), limits=limits)
    assert refused(state, Demand(reservation_id="e", digest="z"), limits=limits).which is Budget.UNIQUE_DIGESTS
    granted(state, Demand(reservation_id="e", digest="y"), limits=limits)


def test_compiler_time_is_a_budget_of_its_own() -> None:
    state = granted(BudgetState(), Demand(reservation_id="a", compile_cpu_ms=50))
    assert refused(state, Demand(reservation_id="b", compile_cpu_ms=0.5)).which is Budget.COMPILE_CPU_MS
    granted(state, Demand(reservation_id="b"))


def test_an_overrun_is_counted_and_does_not_refuse_what_costs_nothing() -> None:
    state = granted(BudgetState(), Demand(reservation_id="a", num_tokens=10))
    state = settle(state, "a", Usage(num_tokens=150), LIMITS, now_seconds=0)
    assert refused(state, Demand(reservation_id="b", num_tokens=1)).observed == 151
    granted(state, Demand(reservation_id="b"))


def test_a_demand_above_the_limit_is_never_going_to_fit() -> None:
    no = refused(BudgetState(), Demand(reservation_id="a", num_tokens=101))
    assert no.retry_after_seconds == float("inf")


def test_a_new_window_forgets_what_was_spent_and_keeps_what_still_runs() -> None:
    state = granted(BudgetState(), Demand(reservation_id="a", num_tokens=60, digest="x"))
    state = settle(
        granted(state, Demand(reservation_id="b", num_tokens=40)), "b", Usage(num_tokens=40), LIMITS, now_seconds=1
    )
    no = refused(state, Demand(reservation_id="c", num_tokens=41), now=60)
    assert (no.which, no.observed) == (Budget.TOKENS, 101)
    assert no.state.digests == {"x"}
    state = granted(state, Demand(reservation_id="c", num_tokens=40), now=60)
    state = settle(state, "a", Usage(num_tokens=60), LIMITS, now_seconds=61)
    assert (state.num_tokens, state.num_requests) == (60, 1)


def test_a_reservation_is_made_once_and_settled_once() -> None:
    state = granted(BudgetState(), Demand(reservation_id="a"))
    with pytest.raises(ValueError, match="exists"):
        reserve(state, Demand(reservation_id="a"), LIMITS, now_seconds=0)
    state = settle(state, "a", Usage(), LIMITS, now_seconds=0)
    with pytest.raises(KeyError):
        settle(state, "a", Usage(), LIMITS, now_seconds=0)


def test_negative_costs_and_empty_windows_are_mistakes() -> None:
    with pytest.raises(ValueError, match="nothing"):
        Demand(reservation_id="a", num_tokens=-1)
    with pytest.raises(ValueError, match="nothing"):
        Usage(compile_cpu_ms=-0.1)
    with pytest.raises(ValueError, match="window"):
        replace(LIMITS, window_seconds=0)


_STEPS = st.lists(
    st.tuples(
        st.sampled_from(["reserve", "settle", "wait"]),
        st.integers(0, 60),
        st.integers(0, 30),
        st.sampled_from(["x", "y", "z", None]),
    ),
    max_size=60,
)


@given(_STEPS)
def test_no_order_of_requests_overspends(steps: list[tuple[str, int, int, str | None]]) -> None:
    state, now, running = BudgetState(), 0.0, list[Demand]()
    for number, (step, amount, cpu, digest) in enumerate(steps):
        if step == "wait":
            now += amount
        elif step == "settle" and running:
            demand = running.pop(amount % len(running))
            used = Usage(num_tokens=min(amount, demand.num_tokens), compile_cpu_ms=min(cpu, demand.compile_cpu_ms))
            state = settle(state, demand.reservation_id, used, LIMITS, now_seconds=now)
        else:
            demand = Demand(reservation_id=str(number), num_tokens=amount, compile_cpu_ms=cpu, digest=digest)
            outcome = reserve(state, demand, LIMITS, now_seconds=now)
            state = outcome.state
            if isinstance(outcome, Reserved):
                running.append(demand)
        assert set(state.reserved) == {demand.reservation_id for demand in running}
        assert len(running) <= LIMITS.max_concurrent_requests
        assert state.num_requests <= LIMITS.max_requests
        assert state.num_tokens + state.num_reserved_tokens <= LIMITS.max_tokens
        assert state.compile_cpu_ms + state.reserved_compile_cpu_ms <= LIMITS.max_compile_cpu_ms
        assert len(state.digests) <= LIMITS.max_unique_digests
