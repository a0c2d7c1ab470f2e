"""The choices of a case: how many ways there are to make one true, and which."""

from collections.abc import Iterable, Mapping

from registry.algebra.formulas import All, Any, Atom, Cases, ExactlyOne, Formula, Wants, negated
from registry.algebra.terms import TermId


def is_closed(part: Formula, wanted: dict[Wants, None], atoms: dict[Atom, None]) -> bool:
    """Whether the part is the very opposite of what already holds."""
    match part:
        case Wants():
            return negated(part) in wanted
        case All() | Any() | Cases() | ExactlyOne():
            return False
        case _:
            return negated(part) in atoms


def breadth(choice: Formula) -> int:
    """About how many branches a choice has; of a conjunction, how many parts."""
    match choice:
        case Any(parts=parts) | All(parts=parts):
            return len(parts)
        case Cases(cases=cases):
            return len(cases)
        case ExactlyOne(terms=terms, positive=True):
            return len(terms)
        case ExactlyOne(terms=terms):
            return 1 + len(terms)
        case _:
            return 1


def branches(choice: Formula, wanted: Mapping[Wants, None]) -> Iterable[Formula]:
    """The ways to make a choice true; together they are all there are, given what is wanted already."""
    match choice:
        case Any(parts=parts):
            return parts
        case Cases(cases=cases):
            return [All(parts=case) for case in cases]
        case ExactlyOne(terms=terms, positive=True):
            places = range(len(terms))
            able = [own for own in places if _wants(terms[own], positive=False) not in wanted]
            # One after the other: together they are as large as the square of the alternatives.
            return (All(parts=tuple(_wants(terms[i], positive=i == own) for i in places)) for own in able)
        case ExactlyOne(terms=terms):
            return _none_or_several(terms, wanted)
        case _:
            return [choice]


def _none_or_several(terms: tuple[TermId, ...], wanted: Mapping[Wants, None]) -> list[Formula]:
    held = next((i for i, term in enumerate(terms) if _wants(term, positive=True) in wanted), None)
    if held is not None:
        others = (term for i, term in enumerate(terms) if i != held)
        return [_wants(term, positive=True) for term in others if _wants(term, positive=False) not in wanted]
    several = [
        All(parts=(_wants(one, positive=True), Any(parts=tuple(_wants(two, positive=True) for two in terms[i + 1 :]))))
        for i, one in enumerate(terms[:-1])
    ]
    return [All(parts=tuple(_wants(term, positive=False) for term in terms)), *several]


def is_forced(choice: Formula, wanted: Mapping[Wants, None]) -> bool:
    """Whether "none or several" leaves no choice, because one is known to allow the value."""
    if not isinstance(choice, ExactlyOne) or choice.positive:
        return False
    is_one_held = any(_wants(term, positive=True) in wanted for term in choice.terms)
    return is_one_held and len(_none_or_several(choice.terms, wanted)) <= 1


def _wants(term: TermId, *, positive: bool) -> Wants:
    return Wants(term=term, positive=positive)
