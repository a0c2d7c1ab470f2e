"""Every way through a computation that has open questions, one run each, without the computation knowing."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

_Option = TypeVar("_Option")


class Choices:
    """Answers the questions of one run. The first run takes the first option everywhere."""

    def __init__(self, script: Sequence[int]) -> None:
        self._script = list(script)
        self._asked: list[tuple[int, int]] = []

    @classmethod
    def all(cls, max_runs: int) -> Iterator["Choices"]:
        """One `Choices` a run, until every combination of answers was given or `max_runs` are done.

        The questions may depend on earlier answers. A run must be over before the next one is asked for.
        """
        script: list[int] | None = []
        for _ in range(max_runs):
            if script is None:
                return
            choices = cls(script)
            yield choices
            script = choices._next_script()

    def one_of(self, options: Sequence[_Option]) -> _Option:
        """One of the options, of which there is at least one."""
        position = len(self._asked)
        index = self._script[position] if position < len(self._script) else 0
        self._asked.append((index, len(options)))
        return options[index]

    def _next_script(self) -> list[int] | None:
        """Count up, the last question fastest."""
        answers = list(self._asked)
        while answers:
            index, num_options = answers.pop()
            if index + 1 < num_options:
                return [answer for answer, _ in answers] + [index + 1]
        return None
