"""A source that breaks, lies or babbles costs nothing but its drafts."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from structlog.testing import capture_logs

from inference_node.drafting.guarded import GuardedDrafts
from inference_node.drafting.source import DraftWant
from tests.inference_node.drafting.wants import want


@dataclass(slots=True)
class Answering:
    """Answers what it is told to, or raises it."""

    answer: list[list[int]] | Exception
    name: str = "answering"
    forgotten: list[int] = field(default_factory=list)

    def propose(self, wants: Sequence[DraftWant]) -> list[list[int]]:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def observe(self, key: int, drafted: int, accepted: int) -> None:
        if isinstance(self.answer, Exception):
            raise self.answer

    def forget(self, key: int) -> None:
        self.forgotten.append(key)
        if isinstance(self.answer, Exception):
            raise self.answer


def test_what_is_right_passes() -> None:
    source = GuardedDrafts(Answering([[1, 9], []]), vocabulary_size=10)
    assert source.propose([want([1, 2]), want([1, 2], key=2)]) == [[1, 9], []]
    assert source.name == "answering"


@pytest.mark.parametrize(
    "answer",
    [RuntimeError("broken"), [], [[1], [2], [3]], [[10], []], [[], [-1]], [[1, 2, 3], []]],
    ids=["raises", "too few", "too many", "past the vocabulary", "below it", "longer than wanted"],
)
def test_what_is_amiss_means_no_drafts_and_a_new_beginning(answer: list[list[int]] | Exception) -> None:
    inner = Answering(answer)
    source = GuardedDrafts(inner, vocabulary_size=10)
    wants = [want([1, 2], max_drafts=2), want([1, 2], key=2, max_drafts=2)]
    assert source.propose(wants) == [[], []]
    assert inner.forgotten == [1, 2]


def test_a_source_that_fails_three_times_is_left_alone_and_said_so_no_more() -> None:
    inner = Answering([[1, 2, 3]])
    source = GuardedDrafts(inner, vocabulary_size=10)
    with capture_logs() as logs:
        for _ in range(5):
            assert source.propose([want([1, 2], max_drafts=1)]) == [[]]
    assert source.is_off
    assert [line["is_off"] for line in logs] == [False, False, True]
    inner.answer = [[1]]
    assert source.propose([want([1, 2])]) == [[]]


def test_observing_and_forgetting_never_raise() -> None:
    source = GuardedDrafts(Answering(RuntimeError("broken")), vocabulary_size=10)
    for _ in range(5):
        source.observe(1, 2, 1)
        source.forget(1)
    assert source.is_off
