from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.account import Account, advance, charge, hold, refusal, renew, settle
from policy.budget import Amounts, Budget, Demand, Exhausted, Level, LevelLimits, WindowLimits
from policy.periods import CalendarMonth, Span

SECOND = 1000
LEASE = 30 * SECOND
LIMITS = LevelLimits(
    max_concurrent_requests=2,
    max_concurrent_streams=1,
    windows=(
        WindowLimits(
            period=Span(seconds=60),
            max_requests=3,
            max_tokens=100,
            max_nano_usd=1_000,
            max_compile_cpu_ms=50,
            max_unique_digests=2,
        ),
    ),
)


def asking(tokens: int = 0, *, nano_usd: int = 0, cpu_us: int = 0, digest: str | None = None) -> Demand:
    return Demand(amounts=Amounts(tokens=tokens, nano_usd=nano_usd, compile_cpu_us=cpu_us), digest=digest)


def answered(
    account: Account, lease_id: str, demand: Demand, *, at: int = 0, limits: LevelLimits = LIMITS
) -> Account | Exhausted:
    current = advance(account, limits, at).account
    found = refusal(current, demand, limits, Level.TENANT, at)
    return found or hold(current, lease_id, demand, limits, at + LEASE)


def granted(
    account: Account, lease_id: str, demand: Demand | None = None, *, at: int = 0, limits: LevelLimits = LIMITS
) -> Account:
    answer = answered(account, lease_id, demand or Demand(), at=at, limits=limits)
    assert isinstance(answer, Account)
    return answer


def refused(account: Account, demand: Demand, *, at: int = 0, limits: LevelLimits = LIMITS) -> Exhausted:
    answer = answered(account, "x", demand, at=at, limits=limits)
    assert isinstance(answer, Exhausted)
    return answer


def ended(account: Account, lease_id: str, used: Amounts | None = None, *, at: int = 0) -> Account:
    after = settle(account, lease_id, used or Amounts(), at)
    assert after is not None
    return after


def test_what_is_reserved_counts_until_it_is_settled() -> None:
    account = granted(Account(), "a", asking(60))
    no = refused(account, asking(50), at=10 * SECOND)
    assert (no.budget, no.limit, no.observed, no.resets_in_ms) == (Budget.TOKENS, 100, 110, 50 * SECOND)
    account = ended(account, "a", Amounts(tokens=20), at=10 * SECOND)
    account = granted(account, "b", asking(80), at=10 * SECOND)
    assert (account.windows["60"].spent.tokens, account.reserved.tokens) == (20, 80)


def test_too_many_at_once_wait_for_one_to_end() -> None:
    account = granted(granted(Account(), "a"), "b")
    no = refused(account, Demand())
    assert (no.budget, no.limit, no.observed, no.resets_in_ms) == (Budget.CONCURRENT_REQUESTS, 2, 3, None)
    granted(ended(account, "a"), "c")


def test_streams_are_counted_beside_requests() -> None:
    stream = Demand(is_stream=True)
    account = granted(Account(), "a", stream)
    assert refused(account, stream).budget is Budget.CONCURRENT_STREAMS
    granted(account, "b")
    granted(ended(account, "a"), "b", stream)


def test_requests_count_although_they_ended() -> None:
    account = Account()
    for name in ("a", "b", "c"):
        account = ended(granted(account, name), name)
    assert refused(account, Demand()).budget is Budget.REQUESTS


def test_a_digest_counts_once_however_often_it_is_used() -> None:
    account = Account()
    for name, digest in [("a", "x"), ("b", "x"), ("c", "y")]:
        account = ended(granted(account, name, asking(digest=digest)), name)
    limits = LevelLimits(windows=(WindowLimits(period=Span(seconds=60), max_unique_digests=2),))
    assert refused(account, asking(digest="z"), limits=limits).budget is Budget.UNIQUE_DIGESTS
    granted(account, "e", asking(digest="y"), limits=limits)


def test_compiler_time_and_money_are_budgets_of_their_own() -> None:
    account = granted(Account(), "a", asking(cpu_us=50_000, nano_usd=1_000))
    no = refused(account, asking(cpu_us=500))
    assert (no.budget, no.limit, no.observed) == (Budget.COMPILE_CPU_MS, 50, 51)
    assert refused(account, asking(nano_usd=1)).budget is Budget.MONEY
    granted(account, "b")


def test_an_overrun_is_counted_and_does_not_refuse_what_costs_nothing() -> None:
    account = ended(granted(Account(), "a", asking(10)), "a", Amounts(tokens=150))
    assert refused(account, asking(1)).observed == 151
    granted(account, "b")


def test_a_demand_above_the_limit_is_never_going_to_fit() -> None:
    assert refused(Account(), asking(101)).fits_never
    assert not refused(granted(Account(), "a", asking(1)), asking(100)).fits_never


def test_a_new_window_forgets_what_was_spent_and_keeps_what_still_runs() -> None:
    account = granted(Account(), "a", asking(60, digest="x"))
    account = ended(granted(account, "b", asking(40)), "b", Amounts(tokens=40), at=SECOND)
    renewed = renew(account, "a", 90 * SECOND)
    assert renewed is not None
    no = refused(renewed, asking(41), at=60 * SECOND)
    assert (no.budget, no.observed) == (Budget.TOKENS, 101)
    account = granted(renewed, "c", asking(40), at=60 * SECOND)
    account = ended(account, "a", Amounts(tokens=60), at=61 * SECOND)
    assert (account.windows["60"].spent.tokens, account.windows["60"].num_requests) == (60, 1)


def test_settling_twice_counts_once() -> None:
    account = ended(granted(Account(), "a", asking(60)), "a", Amounts(tokens=30))
    assert settle(account, "a", Amounts(tokens=30), 0) is None
    assert settle(account, "never made", Amounts(tokens=30), 0) is None


def test_a_lost_reservation_costs_all_that_was_reserved_and_frees_its_place() -> None:
    account = granted(granted(Account(), "a", asking(60)), "b", asking(40), at=5 * SECOND)
    assert isinstance(answered(account, "c", Demand(), at=LEASE - 1), Exhausted)
    advanced = advance(account, LIMITS, LEASE)
    assert (advanced.num_lost, set(advanced.account.held)) == (1, {"b"})
    assert advanced.account.windows["60"].spent == Amounts(tokens=60)
    assert advanced.account.reserved == Amounts(tokens=40)
    assert settle(advanced.account, "a", Amounts(tokens=1), LEASE) is None
    granted(account, "c", at=LEASE)


def test_a_lost_reservation_is_charged_to_the_window_of_its_deadline_whenever_it_is_found() -> None:
    account = granted(Account(), "a", asking(60))
    late = advance(account, LIMITS, 61 * SECOND).account
    assert late.windows["60"].spent == Amounts()
    limits = LevelLimits(windows=(WindowLimits(period=Span(seconds=20), max_tokens=100),))
    account = granted(Account(), "a", asking(60), limits=limits)
    found = advance(account, limits, 49 * SECOND).account  # lost at 30 s, where a window began
    assert (found.windows["20"].begin_ms, found.windows["20"].spent.tokens) == (30 * SECOND, 60)


def test_who_is_renewed_is_not_lost() -> None:
    account = renew(granted(Account(), "a", asking(60)), "a", 3 * LEASE)
    assert account is not None
    assert advance(account, LIMITS, 2 * LEASE).num_lost == 0
    assert renew(ended(account, "a"), "a", 4 * LEASE) is None


def test_a_request_that_was_granted_elsewhere_is_counted_without_being_asked_for() -> None:
    account = charge(Account(), LIMITS, Amounts(tokens=150), 0)
    assert (account.windows["60"].num_requests, account.windows["60"].spent.tokens) == (1, 150)


def test_a_month_begins_on_its_first_day() -> None:
    limits = LevelLimits(windows=(WindowLimits(period=CalendarMonth(), max_tokens=10),))
    late_in_december = round(datetime(2027, 12, 31, 23, 59, tzinfo=UTC).timestamp()) * SECOND
    account = ended(
        granted(Account(), "a", asking(10), at=late_in_december, limits=limits),
        "a", Amounts(tokens=10), at=late_in_december,
    )  # fmt: skip
    no = refused(account, asking(1), at=late_in_december, limits=limits)
    assert (no.period, no.resets_in_ms) == (CalendarMonth(), 60 * SECOND)
    account = granted(account, "b", asking(10), at=late_in_december + 60 * SECOND, limits=limits)
    end = datetime.fromtimestamp(account.windows["month"].end_ms / SECOND, UTC)
    assert end == datetime(2028, 2, 1, tzinfo=UTC)


def test_a_window_that_is_no_longer_asked_for_is_kept_to_its_end() -> None:
    account = ended(granted(Account(), "a", asking(60)), "a", Amounts(tokens=60))
    without = advance(account, LevelLimits(), 10 * SECOND).account
    assert refused(without, asking(41), at=20 * SECOND).observed == 101
    assert advance(without, LevelLimits(), 60 * SECOND).account.windows == {}


def test_an_account_is_over_when_nothing_of_it_matters_any_more() -> None:
    account = granted(Account(), "a", asking(60))
    assert not account.is_over(10**12)
    account = ended(account, "a")
    assert not account.is_over(59 * SECOND)
    assert account.is_over(60 * SECOND)


def test_values_that_make_no_sense_are_mistakes() -> None:
    with pytest.raises(ValueError, match="nothing"):
        Amounts(tokens=-1)
    with pytest.raises(ValueError, match="window"):
        Span(seconds=0)
    with pytest.raises(ValueError, match="limit"):
        WindowLimits(period=CalendarMonth(), max_tokens=2**53)
    with pytest.raises(ValueError, match="two windows"):
        LevelLimits(windows=(WindowLimits(period=CalendarMonth()), WindowLimits(period=CalendarMonth())))


_STEPS = st.lists(
    st.tuples(
        st.sampled_from(["reserve", "settle", "renew", "wait"]),
        st.integers(0, 60),
        st.integers(0, 30_000),
        st.sampled_from(["x", "y", "z", None]),
    ),
    max_size=60,
)


@given(_STEPS)
def test_no_order_of_requests_overspends(steps: list[tuple[str, int, int, str | None]]) -> None:
    account, now, running = Account(), 0, dict[str, Demand]()
    for number, (step, amount, cpu, digest) in enumerate(steps):
        picked = list(running)[amount % len(running)] if running else ""
        if step == "wait":
            now += amount * SECOND
        elif step == "settle" and running:
            most = running.pop(picked).amounts
            used = Amounts(tokens=min(amount, most.tokens), compile_cpu_us=min(cpu, most.compile_cpu_us))
            account = settle(account, picked, used, now) or account
        elif step == "renew" and running:
            account = renew(account, picked, now + LEASE) or account
        else:
            demand = asking(amount, cpu_us=cpu, nano_usd=amount, digest=digest)
            answer = answered(account, str(number), demand, at=now)
            if isinstance(answer, Account):
                account = answer
                running[str(number)] = demand
        current = advance(account, LIMITS, now).account
        window, sums = current.windows["60"], current.windows["60"].spent.plus(current.reserved)
        assert set(current.held) <= set(running)
        assert len(current.held) <= 2
        assert window.num_requests <= 3
        assert sums.tokens <= 100
        assert sums.nano_usd <= 1_000
        assert sums.compile_cpu_us <= 50_000
        assert len(window.digests) <= 2
        assert current.reserved.tokens == sum(each.amounts.tokens for each in current.held.values())
