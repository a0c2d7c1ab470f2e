"""Texts of languages, and texts that nearly are: what tests ask two judges about."""

from collections.abc import Iterable
from random import Random

from compiler_pool.form.languages import Language
from compiler_pool.form.running import LanguageRun
from compiler_pool.form.spending import ExpansionSpending
from policy.limits import ExpansionBudget

CHARACTERS = (
    "aAzZfFgGxXtTpPdDhHmMsSwWyYnN0123456789:.-+_~/?#[]@!$&'()*,;=%{}|<>^`\"\\ \t\n\v\x00\x7f\x85éß\u0130\u212a\u0394"
    "\u06dd\u0903\u1680\u2028\u3002\ufeff\ufffe\ud7ff\ue000😀\U000e0001\U0010ffff"
)
"""Characters that some pattern or format tells from others."""

_BUDGET = ExpansionBudget(
    max_disjuncts=1_000, max_nodes=1_000, max_states=10_000, max_steps=10_000_000, max_expression_bytes=10_000_000
)


def spending() -> ExpansionSpending:
    """A budget that no test comes near."""
    return ExpansionSpending(_BUDGET)


def run_of(language: Language, texts: Iterable[str] = ()) -> LanguageRun:
    """A run that tells all characters of the texts apart, and all of `CHARACTERS`."""
    return LanguageRun(language, spending(), (CHARACTERS, *texts))


def walk(run: LanguageRun, random: Random, *, longest: int = 80) -> str:
    """A text along which the language is never left for good; mostly one of its own."""
    states, characters = run.start, list[str]()
    while len(characters) < longest and not (run.accepts(states) and random.random() < 0.1):
        for group in random.sample(range(len(run.alphabet)), len(run.alphabet)):
            after = run.next(states, group)
            if not run.is_over(after):
                characters.append(run.alphabet.example(group))
                states = after
                break
        else:
            break
    return "".join(characters)


def mutated(text: str, random: Random) -> str:
    """A near miss: a character more, fewer or other, or two parts the other way round."""
    at = random.randrange(len(text) + 1)
    match random.randrange(4):
        case 0:
            return text[:at] + random.choice(CHARACTERS) + text[at:]
        case 1:
            return text[:at] + text[at + 1 :]
        case 2:
            return text[:at] + random.choice(CHARACTERS) + text[at + 1 :]
        case _:
            return text[at:] + text[:at]
