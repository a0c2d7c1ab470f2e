"""What is remembered of a number while its digits are read from the left: remainders, comparisons, exceptions.

Each reading takes the text of a number from zero upwards, character by character, and says at every end what holds of
the number so far. States are plain values, so that readings are put together by making tuples of them.
"""

from fractions import Fraction
from typing import Final, TypeAlias

from compiler_pool.form.number_texts import Digits, num_decimals

_WHOLE: Final = -1
"""The place of a digit before the point."""

StepState: TypeAlias = tuple[int, int, int] | None
BoundState: TypeAlias = tuple[int, int]
ExceptionState: TypeAlias = tuple[str, bool] | None


class StepReading:
    """Whether a number is a whole multiple of a step; the state is where it is, its remainder, and zeros put off.

    The remainder is that of the number at the scale at which the step is an integer. Of a step like 7,000 only 7 is
    divided by: zeros at the end are counted, and enter the remainder once another digit follows.
    """

    def __init__(self, step: Fraction) -> None:
        self.num_decimals = num_decimals(step)
        """Decimals of the step: a multiple has no more."""
        text = str(step)
        self.num_zeros = 0 if self.num_decimals else len(text) - len(text.rstrip("0"))
        """Zeros at the end of an integer step."""
        self.modulus = int(step * 10**self.num_decimals) // int(10**self.num_zeros)
        """What remainders are taken of."""

    @property
    def num_states(self) -> int:
        """At most so many states."""
        return self.modulus * (self.num_decimals + self.num_zeros + 1)

    @property
    def start(self) -> StepState:
        """Nothing is read: zero."""
        return (_WHOLE, 0, self.num_zeros)

    def read(self, state: StepState, character: str) -> StepState:
        """`None` if no multiple begins so."""
        if state is None:
            return None
        place, remainder, zeros = state
        if character == ".":
            return (0, remainder, zeros) if place == _WHOLE else None
        digit = int(character)
        if place == self.num_decimals:
            return state if digit == 0 else None
        if place != _WHOLE:
            return (place + 1, (10 * remainder + digit) % self.modulus, 0)
        if digit == 0 and zeros < self.num_zeros:
            return (_WHOLE, remainder, zeros + 1)
        if digit == 0:
            return (_WHOLE, 10 * remainder % self.modulus, zeros)
        return (_WHOLE, (remainder * 10 ** (zeros + 1) + digit) % self.modulus, 0)

    def holds(self, state: StepState) -> bool:
        """Whether the number so far is a multiple."""
        if state is None:
            return False
        place, remainder, zeros = state
        return zeros == self.num_zeros and remainder * 10 ** (self.num_decimals - max(place, 0)) % self.modulus == 0


_DECIDED: Final = -2
"""The place once it is settled on which side of the bound the number is."""


class BoundReading:
    """On which side of a bound a number is; the state is how many digits are compared, and what that showed.

    Before the point the comparison is with as many digits of the bound; more or fewer digits than it has decide.
    Decimals are counted on from its whole digits, and beyond those that it has they are not told apart.
    """

    def __init__(self, bound: Digits) -> None:
        self._bound = bound

    @property
    def start(self) -> BoundState:
        """Nothing is read."""
        return (0, 0)

    def read(self, state: BoundState, character: str) -> BoundState:
        """Any text goes on."""
        place, order = state
        num_whole = len(self._bound.whole)
        if place == _DECIDED:
            return state
        if character == ".":
            order = self._order(place, order)
            return (_DECIDED, order) if order else (num_whole + 2, 0)
        if place > num_whole + 1:
            at = place - num_whole - 2
            expected = self._bound.decimals[at] if at < len(self._bound.decimals) else "0"
            if character != expected:
                return (_DECIDED, 1 if character > expected else -1)
            return (min(place + 1, num_whole + 2 + len(self._bound.decimals)), 0)
        if place >= num_whole:
            return (num_whole + 1, 1)
        if order == 0 and character != self._bound.whole[place]:
            order = 1 if character > self._bound.whole[place] else -1
        return (place + 1, order)

    def order(self, state: BoundState) -> int:
        """Below zero, zero, or above zero as the number so far is to the bound."""
        place, order = state
        num_whole = len(self._bound.whole)
        if place == _DECIDED:
            return order
        if place <= num_whole + 1:
            return self._order(place, order) or (-1 if self._bound.decimals else 0)
        return -1 if place - num_whole - 2 < len(self._bound.decimals) else 0

    def is_passed(self, state: BoundState) -> bool:
        """Whether the number is above the bound, whatever follows."""
        place, order = state
        return (place == _DECIDED and order > 0) or (place == len(self._bound.whole) + 1)

    def _order(self, place: int, order: int) -> int:
        """Of the whole digits."""
        num_whole = len(self._bound.whole)
        return order if place == num_whole else (-1 if place < num_whole else 1)


class ExceptionReading:
    """Whether a number is none of some; the state is what one may begin with, and whether zeros follow."""

    def __init__(self, excluded: tuple[Digits, ...]) -> None:
        self._texts = frozenset(digits.text() for digits in excluded)
        self._beginnings = frozenset(text[:end] for text in self._texts for end in range(len(text) + 1))

    @property
    def start(self) -> ExceptionState:
        """Nothing is read."""
        return ("", False) if self._texts else None

    def read(self, state: ExceptionState, character: str) -> ExceptionState:
        """`None` once no exception can come of it."""
        if state is None:
            return None
        text, is_idle = state
        if not is_idle and text + character in self._beginnings:
            return (text + character, False)
        if text in self._texts and (character == "." or (character == "0" and (is_idle or "." in text))):
            return (text, True)
        # `12.0` may be on its way to 12.05 for a while before it is known to be 12 again.
        plain = (text + character).rstrip("0").rstrip(".") if "." in text + character else ""
        return (plain, True) if character in "0." and plain in self._texts else None

    def holds(self, state: ExceptionState) -> bool:
        """Whether the number so far is not an exception."""
        if state is None:
            return True
        text, _ = state
        return (text.rstrip("0").rstrip(".") if "." in text else text) not in self._texts
