"""A neighbour that fails is left alone, tried again by one, and for longer each time it fails again."""

from compiler_pool.circuit import Circuit


def opened(at: float = 0.0) -> Circuit:
    circuit = Circuit()
    for _ in range(3):
        assert circuit.allows(at)
        circuit.failed(at)
    return circuit


def test_single_failures_change_nothing() -> None:
    circuit = Circuit()
    for _ in range(10):
        circuit.failed(0.0)
        circuit.succeeded()
    assert circuit.allows(0.0)
    assert not circuit.is_open


def test_after_failures_in_a_row_nobody_asks_until_the_pause_is_over_and_then_one_alone() -> None:
    circuit = opened()
    assert circuit.is_open
    assert not circuit.allows(0.9)
    assert circuit.allows(1.0)
    assert not circuit.allows(1.0)
    circuit.succeeded()
    assert circuit.allows(1.0)
    assert circuit.allows(1.0)
    assert not circuit.is_open


def test_each_failed_try_makes_the_pause_longer_up_to_a_bound() -> None:
    circuit, at = opened(), 0.0
    pauses = []
    for _ in range(8):
        start = at
        while not circuit.allows(at):
            at += 0.5
        pauses.append(at - start)
        circuit.failed(at)
    assert pauses == [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0]


def test_a_try_that_was_abandoned_leaves_the_next_one_to_another() -> None:
    circuit = opened()
    assert circuit.allows(1.0)
    circuit.abandoned()
    assert circuit.allows(1.0)
