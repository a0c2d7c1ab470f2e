"""Whether a language is empty is found out exactly, within the steps that a tenant has, or not said at all."""

import pytest

from compiler_pool.form.emptiness import is_empty_language
from compiler_pool.form.formats.table import format_language
from compiler_pool.form.languages import EVERY_STRING, NO_STRING, Among, Language, Lengths, both, either, excluding
from compiler_pool.form.spending import ExpansionSpending, ExpansionSpentError
from compiler_pool.form.strings import pattern_language
from policy.limits import GOVERNED, TENANT, ExpansionBudget

_URI = format_language("uri").language
_DATE_TIME = format_language("date-time").language
_REGEX = format_language("regex").language


def tenant() -> ExpansionSpending:
    return ExpansionSpending(TENANT.expansion)


@pytest.mark.parametrize(
    "language",
    [NO_STRING, Among(texts=()), Lengths(minimum=3, maximum=2), excluding(EVERY_STRING), pattern_language("a[]"),
     both(pattern_language("^a"), pattern_language("^b")), excluding(pattern_language("")),
     both(pattern_language("^(ab)*$"), Lengths(minimum=3, maximum=3)),
     both(pattern_language("^[ab]*$"), excluding(pattern_language("[ab]")), Lengths(minimum=100, maximum=10_000)),
     both(_URI, excluding(Lengths(minimum=2))),
     both(_REGEX, either(both(_REGEX, excluding(_REGEX)), both(Lengths(minimum=5), both(excluding(_REGEX))))),
     both(_DATE_TIME, pattern_language("^....-02-30")), both(_DATE_TIME, pattern_language("T$")),
     both(format_language("time").language, pattern_language("`")),
     both(format_language("hostname").language, Lengths(minimum=300)),
     both(either(pattern_language("^a"), pattern_language("^b")), pattern_language("^c"))],
)  # fmt: skip
def test_what_holds_no_string_is_empty(language: Language) -> None:
    assert is_empty_language(language, tenant())


@pytest.mark.parametrize(
    "language",
    [EVERY_STRING, Among(texts=("",)), Lengths(minimum=10_000), excluding(NO_STRING),
     excluding(Among(texts=("a", "b"))),
     both(pattern_language("a"), excluding(pattern_language("b")), Lengths(minimum=100, maximum=10_000)),
     both(pattern_language("^x{500,900}"), pattern_language("^.{0,1000}$")),
     both(_URI, Lengths(minimum=1, maximum=255)),
     both(_URI, pattern_language("^https://"), pattern_language("\\.git$"), Lengths(maximum=2_048)),
     both(_DATE_TIME, pattern_language("Z$")), excluding(_DATE_TIME),
     both(format_language("email").language, Lengths(maximum=255)),
     both(format_language("regex").language, Lengths(minimum=1, maximum=255)),
     *(format_language(name).language for name in ("hostname", "regex", "idn-email", "iri-reference"))],
)  # fmt: skip
def test_what_holds_a_string_is_not(language: Language) -> None:
    assert not is_empty_language(language, tenant())


def test_a_uri_that_is_no_iri_is_looked_for_within_what_governed_contracts_have() -> None:
    language = both(_URI, excluding(format_language("iri").language))
    assert is_empty_language(language, ExpansionSpending(GOVERNED.expansion))


def test_what_is_too_dear_to_find_out_is_not_guessed() -> None:
    budget = ExpansionBudget(max_disjuncts=1, max_nodes=1, max_states=1, max_steps=200, max_expression_bytes=1)
    language = both(pattern_language("(?:a|b){40}$"), excluding(pattern_language("a[ab]{20}$")), Lengths(minimum=60))
    with pytest.raises(ExpansionSpentError):
        is_empty_language(language, ExpansionSpending(budget))


def test_a_pattern_with_too_many_positions_is_refused_by_its_limit() -> None:
    language = both(pattern_language("^(?:[ab]{900}c){30}$"), Lengths(minimum=7))
    with pytest.raises(ExpansionSpentError) as raised:
        is_empty_language(language, tenant())
    assert raised.value.limit_name == "max_automaton_positions"
