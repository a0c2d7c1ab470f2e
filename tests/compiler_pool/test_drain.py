"""The pace of the line: nothing known is nothing said, and a line that stands still is slow."""

from compiler_pool.drain import DrainRate


def _moving(*, every_seconds: float, num_jobs: int = 20) -> DrainRate:
    drain = DrainRate()
    drain.waiting(0.0)
    for at in range(1, num_jobs + 1):
        drain.served(at * every_seconds, num_left=1)
    return drain


def test_the_time_to_come_back_follows_the_pace() -> None:
    assert round(_moving(every_seconds=0.25).retry_seconds(8, at=5.0), 3) == 2.0
    assert round(_moving(every_seconds=2.0).retry_seconds(8, at=40.0), 3) == 16.0


def test_too_few_samples_say_nothing() -> None:
    drain = _moving(every_seconds=30.0, num_jobs=4)
    assert drain.seconds_for(8, at=120.0) is None
    assert drain.retry_seconds(8, at=120.0) == 1.0


def test_a_line_that_stands_still_is_as_slow_as_it_stands() -> None:
    drain = _moving(every_seconds=0.1)
    assert drain.seconds_for(2, at=2.0 + 5.0) == 10.0


def test_time_without_anybody_waiting_does_not_count() -> None:
    drain = _moving(every_seconds=0.1)
    drain.emptied()
    drain.waiting(1000.0)
    drain.served(1000.1, num_left=0)
    seconds = drain.seconds_for(1, at=2000.0)
    assert seconds is not None
    assert round(seconds, 3) == 0.1


def test_the_answer_is_bounded() -> None:
    assert _moving(every_seconds=1e-6).retry_seconds(1, at=0.0) == 0.1
    assert _moving(every_seconds=100.0).retry_seconds(100, at=2000.0) == 60.0
