"""Spellings of a value: by the schema, and where that guesses wrong, by the form that grammars are written from."""

from collections.abc import Iterator

from cli.conform.serialise import Serialiser
from compiler_pool.form.speller import SearchSpentError, Speller
from compiler_pool.form.spending import ExpansionSpending, ExpansionSpentError
from compiler_pool.lowering.outcome import Refused
from compiler_pool.schema_grammar import schema_form
from policy.enforcement import EnforcementPolicy
from policy.limits import LimitClass
from registry.contract import JsonValue


class FormSpelling:
    """The text that a schema's form has for a value. The form is made when it is first asked for."""

    def __init__(self, schema: JsonValue, limits: LimitClass, policy: EnforcementPolicy) -> None:
        self._schema = schema
        self._limits = limits
        self._policy = policy
        self._speller: Speller | None = None
        self._is_made = False

    def of(self, value: JsonValue) -> str | None:
        """The text, or None: there is no form, or it has none for the value, or too many ways to look."""
        if not self._is_made:
            self._is_made = True
            made = schema_form(self._schema, limits=self._limits, policy=self._policy)
            if not isinstance(made, Refused):
                self._speller = Speller(made.form, ExpansionSpending(self._limits.expansion))
        try:
            return None if self._speller is None else self._speller.spell(value)
        except (SearchSpentError, ExpansionSpentError):
            return None


class Spellings:
    """Different spellings of a value under one contract, likeliest first."""

    def __init__(self, serialiser: Serialiser, form: FormSpelling) -> None:
        self._serialiser = serialiser
        self._form = form

    def of(self, value: JsonValue) -> Iterator[bytes]:
        """The schema's candidates, then the form's text; the caller stops at the first that is generable."""
        seen: set[bytes] = set()
        for candidate in self._serialiser.candidates(value):
            seen.add(candidate)
            yield candidate
        text = self._form.of(value)
        if text is not None and text.encode() not in seen:
            yield text.encode()
