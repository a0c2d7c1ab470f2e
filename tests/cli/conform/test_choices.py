"""Every combination of answers, once."""

from cli.conform.choices import Choices


def test_every_combination_is_run_once_the_first_options_first() -> None:
    runs = [(choices.one_of("ab"), choices.one_of("xyz")) for choices in Choices.all(100)]
    assert runs == [("a", "x"), ("a", "y"), ("a", "z"), ("b", "x"), ("b", "y"), ("b", "z")]


def test_later_questions_may_depend_on_earlier_answers() -> None:
    runs = []
    for choices in Choices.all(100):
        first = choices.one_of([True, False])
        runs.append([first, choices.one_of([1, 2])] if first else [first])
    assert runs == [[True, 1], [True, 2], [False]]


def test_a_run_without_questions_is_the_only_one() -> None:
    assert len(list(Choices.all(100))) == 1


def test_runs_are_bounded() -> None:
    assert sum(1 for choices in Choices.all(5) if [choices.one_of([0, 1]) for _ in range(30)]) == 5
