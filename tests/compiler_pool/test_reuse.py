"""What stays where all pools look: what was dear, for its size, and is asked for again."""

from collections.abc import Callable

from compiler_pool.cache import CachedRefusal
from compiler_pool.reuse import ReuseAdmission, Stay
from tests.compiler_pool.addresses import an_address, an_entry

ADDRESS = an_address()


def admission(clock: Callable[[], float] = lambda: 0.0) -> ReuseAdmission:
    return ReuseAdmission(renew_seconds=100.0, clock=clock)


def asked(num_times: int, *, limits: str = "tenant", cpu_ms: float = 20.0, num_characters: int = 2000) -> Stay | None:
    reuse, address = admission(), an_address(limits=limits)
    for _ in range(num_times):
        reuse.asked(address.key)
    return reuse.due(address, an_entry(address, cpu_ms=cpu_ms, num_characters=num_characters))


def test_what_was_asked_for_once_is_on_trial_however_dear() -> None:
    assert asked(1, cpu_ms=400.0) is Stay.TRIAL


def test_a_usual_contract_is_kept_when_it_is_asked_for_again() -> None:
    assert asked(2) is Stay.KEPT


def test_what_is_large_and_cheap_has_to_be_asked_for_more_often() -> None:
    stays = [asked(number, cpu_ms=30.0, num_characters=60_000) for number in (1, 2, 3)]
    assert stays == [Stay.TRIAL, Stay.TRIAL, Stay.KEPT]


def test_governed_contracts_are_always_kept() -> None:
    assert asked(1, limits="governed", cpu_ms=0.1, num_characters=100_000) is Stay.KEPT


def test_a_refusal_is_measured_like_an_artifact() -> None:
    reuse = admission()
    for expected in (Stay.TRIAL, Stay.KEPT):
        reuse.asked(ADDRESS.key)
        assert reuse.due(ADDRESS, CachedRefusal(answer=b"r" * 400, cpu_ms=1.0)) is expected


def test_a_stay_is_given_once_and_a_long_one_is_not_taken_back() -> None:
    reuse, entry = admission(), an_entry(ADDRESS)
    reuse.asked(ADDRESS.key)
    reuse.given(ADDRESS.key, Stay.TRIAL)
    assert reuse.due(ADDRESS, entry) is None
    reuse.asked(ADDRESS.key)
    assert reuse.due(ADDRESS, entry) is Stay.KEPT
    reuse.given(ADDRESS.key, Stay.KEPT)
    assert reuse.due(ADDRESS, entry) is None
    reuse.given(ADDRESS.key, None)
    assert reuse.due(ADDRESS, entry) is Stay.KEPT


def test_what_is_remembered_is_bounded() -> None:
    reuse = admission()
    reuse.asked(ADDRESS.key)
    for number in range(20_000):
        reuse.asked(an_address(str(number)).key)
    reuse.asked(ADDRESS.key)
    assert reuse.due(ADDRESS, an_entry(ADDRESS)) is Stay.TRIAL  # the first time was forgotten


def test_what_is_still_asked_for_is_given_its_stay_again_before_it_runs_out() -> None:
    now = 0.0
    reuse, entry = admission(lambda: now), an_entry(ADDRESS)
    reuse.asked(ADDRESS.key, num_times=2)
    reuse.given(ADDRESS.key, Stay.KEPT)
    now = 99.0
    assert reuse.due(ADDRESS, entry) is None
    now = 100.0
    assert reuse.due(ADDRESS, entry) is Stay.KEPT
