"""Multiples of a step as a regular expression, where that is short: suffix tests, and remainders of small divisors."""

from fractions import Fraction
from functools import lru_cache
from itertools import groupby
from typing import Final

from compiler_pool.form.digit_automata import DigitAutomaton, Rows, TooManyStatesError, explored
from compiler_pool.form.number_readings import StepReading
from compiler_pool.form.number_texts import num_decimals

_MAX_STATES: Final = 512
"""Before equivalent ones are made one: 25 has as many."""
_MAX_SHORT_STATES: Final = 24
"""After that. Divisors of powers of ten have few, all others at least as many as their other prime factors make."""
_MAX_BYTES: Final = 4_000


def step_expressions(step: Fraction) -> tuple[str, ...] | None:
    """Together they match exactly the multiples among the texts of numbers from zero upwards; `None` if one is long.

    What they do with texts that are no numbers is left open: they are there to be intersected.
    """
    expressions = tuple(map(_expression, _coprime(step)))
    found = tuple(expression for expression in expressions if expression is not None)
    return found if len(found) == len(expressions) else None


def _coprime(step: Fraction) -> tuple[Fraction, ...]:
    """Steps whose common multiples are those of `step`: 12 is 3 and 4, and 0.12 is 0.03 and 0.04."""
    unit = Fraction(1, 10 ** num_decimals(step))
    scaled = int(step / unit)
    threes = 3 if scaled % 3 == 0 and scaled % 9 else 1
    return (scaled * unit,) if threes in {1, scaled} else (threes * unit, scaled // threes * unit)


@lru_cache(maxsize=256)
def _expression(step: Fraction) -> str | None:
    reading = StepReading(step)
    if reading.modulus == 1:
        return _power_of_ten(reading)
    if reading.num_states > _MAX_STATES:
        return None
    try:
        automaton = explored(reading.start, Rows(reading.read).of, reading.holds, max_states=_MAX_STATES)
    except TooManyStatesError:
        return None
    if len(automaton.moves) > _MAX_SHORT_STATES:
        return None
    return _eliminated(automaton)


def _power_of_ten(reading: StepReading) -> str:
    """So many decimals at most, or zeros at the end of an integer."""
    if reading.num_decimals:
        return f"[0-9]*(?:\\.[0-9]{{0,{reading.num_decimals}}}0*)?"
    whole = f"(?:0*|[0-9]*0{{{reading.num_zeros}}})" if reading.num_zeros else "[0-9]*"
    return f"{whole}(?:\\.0*)?"


def _eliminated(automaton: DigitAutomaton) -> str | None:
    """The expression that is left when states are taken out one by one, the cheapest first."""
    start, end = -1, -2
    edges: dict[tuple[int, int], str] = {(start, 0): ""}
    for source, found in enumerate(automaton.moves):
        by_target: dict[int, list[str]] = {}
        for character, target in found.items():
            by_target.setdefault(target, []).append(character)
        edges.update({(source, target): _class(characters) for target, characters in by_target.items()})
    edges.update({(final, end): "" for final in automaton.finals})
    left = set(range(len(automaton.moves)))
    while left:
        state = min(left, key=lambda each: _weight(edges, each))
        left.remove(state)
        loop = edges.pop((state, state), None)
        repeated = "" if loop is None else f"(?:{loop})*" if _is_compound(loop) else f"{loop}*"
        incoming = {source: text for (source, target), text in edges.items() if target == state}
        outgoing = {target: text for (source, target), text in edges.items() if source == state}
        edges = {pair: text for pair, text in edges.items() if state not in pair}
        for source, before in incoming.items():
            for target, after in outgoing.items():
                through = _grouped(before) + repeated + _grouped(after)
                known = edges.get((source, target))
                edges[source, target] = through if known is None else _either(known, through)
        if sum(map(len, edges.values())) > 4 * _MAX_BYTES:
            return None
    expression = edges.get((start, end), "")
    return expression if expression and len(expression) <= _MAX_BYTES else None


def _weight(edges: dict[tuple[int, int], str], state: int) -> int:
    incoming = [len(text) for (source, target), text in edges.items() if target == state != source]
    outgoing = [len(text) for (source, target), text in edges.items() if source == state != target]
    loop = len(edges.get((state, state), ""))
    return (
        sum(incoming) * (len(outgoing) - 1)
        + sum(outgoing) * (len(incoming) - 1)
        + loop * (len(incoming) * len(outgoing) - 1)
    )


def _class(characters: list[str]) -> str:
    """One of some characters."""
    if characters == ["."]:
        return "\\."
    digits = sorted(int(character) for character in characters if character != ".")
    if len(digits) == 1 and "." not in characters:
        return str(digits[0])
    ranges = []
    for _, run in groupby(enumerate(digits), lambda pair: pair[1] - pair[0]):
        row = [digit for _, digit in run]
        ranges.append(f"{row[0]}-{row[-1]}" if len(row) > 2 else "".join(map(str, row)))
    return f"[{'.' if '.' in characters else ''}{''.join(ranges)}]"


def _either(first: str, second: str) -> str:
    if not first or not second:
        other = first or second
        return f"(?:{other})?" if _is_compound(other) else f"{other}?"
    return f"{first}|{second}"


def _is_compound(text: str) -> bool:
    """Whether a repetition behind the text would not take hold of all of it."""
    if len(text) == 1 or text == "\\.":
        return False
    return not (text.startswith("[") and text.index("]") == len(text) - 1)


def _grouped(text: str) -> str:
    """The text for use in a row: alternatives are held together."""
    depth = 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if character == "|" and depth == 0:
            return f"(?:{text})"
    return text
