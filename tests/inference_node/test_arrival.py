from concurrent.futures import CancelledError, ThreadPoolExecutor

import pytest

from inference_node.arrival import Arrival, announce


def test_who_waits_gets_what_another_thread_brings() -> None:
    arrivals = [Arrival[int]() for _ in range(3)]
    with ThreadPoolExecutor(3) as threads:
        waiting = [threads.submit(arrival.result, 30) for arrival in arrivals]
        for number, arrival in enumerate(arrivals):
            assert not arrival.done()
            arrival.deliver(number)
        announce()
        assert [result.result(30) for result in waiting] == [0, 1, 2]
    assert all(arrival.done() and not arrival.cancelled() for arrival in arrivals)


def test_an_error_that_was_brought_is_raised() -> None:
    arrival = Arrival[int]()
    arrival.fail(RuntimeError("broken"))
    with pytest.raises(RuntimeError, match="broken"):
        arrival.result()


def test_what_never_comes_is_not_waited_for() -> None:
    arrival = Arrival[int]()
    with pytest.raises(TimeoutError):
        arrival.result(0.01)
    arrival.cancel()
    assert arrival.done()
    assert arrival.cancelled()
    with pytest.raises(CancelledError):
        arrival.result()
