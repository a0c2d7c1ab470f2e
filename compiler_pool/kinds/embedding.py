"""JSON Schemas inside contracts of other kinds, lowered by the schema path into one grammar text with the rest."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from compiler_pool.kinds.texts import Embedded
from compiler_pool.lark.grammar import LarkRules
from compiler_pool.lowering.outcome import Refused
from compiler_pool.schema_grammar import SchemaGrammar, schema_grammar
from policy.enforcement import EnforcementPolicy, ReportEntry
from policy.limits import LimitClass
from policy.rejection import Rejection
from policy.text_bounds import BoundedPlace
from registry.contract import JsonValue
from registry.text import canonical_json

_STARTS: Final[Mapping[str, str]] = {
    "object": "{", "array": "[", "string": '"', "number": "-0123456789", "integer": "-0123456789", "boolean": "tf",
    "null": "n",
}  # fmt: skip


@dataclass(slots=True, kw_only=True)
class Embedding:
    """Lowers the schemas of one contract, and keeps what is said about them."""

    rules: LarkRules
    limits: LimitClass
    policy: EnforcementPolicy
    report: list[ReportEntry] = field(default_factory=list)
    bounded: list[BoundedPlace] = field(default_factory=list)
    rejections: list[Rejection] = field(default_factory=list)
    written: list[tuple[str, str]] = field(default_factory=list)
    """Rules and terminals that schemas brought along, under names of their own."""
    _known: dict[str, tuple[str, SchemaGrammar | Refused]] = field(default_factory=dict)

    def schema(self, schema: JsonValue, pointer: str, *, name: str | None = None) -> Embedded:
        """The texts of a canonical schema that stands at `pointer`.

        Inside a text no pointer leads anywhere: there `name` says in the report which schema is meant. Refusals are
        collected, so that one answer tells all of them.
        """
        rule, outcome = self._lowered(schema)
        self.report.extend(_moved_entry(each, pointer, name) for each in outcome.report)
        if isinstance(outcome, Refused):
            self.rejections.extend(_moved_rejection(each, pointer, name) for each in outcome.rejections)
        else:
            self.bounded.extend(_moved_place(each, pointer, name) for each in outcome.bounded)
        return Embedded(rule=rule, starts=_starts(schema), pointer=pointer)

    def _lowered(self, schema: JsonValue) -> tuple[str, SchemaGrammar | Refused]:
        """The rule of a schema, and what was said of it. Equal schemas are lowered once."""
        key = canonical_json(schema)
        if key not in self._known:
            self._known[key] = self._exact(schema)
        return self._known[key]

    def _exact(self, schema: JsonValue) -> tuple[str, SchemaGrammar | Refused]:
        prefix = f"j{len(self._known)}"
        exact = schema_grammar(schema, limits=self.limits, policy=self.policy, prefix=prefix)
        if isinstance(exact, Refused):
            return "", exact
        self.written.extend(exact.grammar.rules)
        return exact.grammar.start, exact


def _starts(schema: JsonValue) -> str:
    """The characters that a text of the schema may begin with; those of every type where none is named."""
    kinds = schema.get("type") if isinstance(schema, dict) else None
    names = [kinds] if isinstance(kinds, str) else kinds if isinstance(kinds, list) else [*_STARTS]
    return "".join(sorted({character for name in names for character in _STARTS[str(name)]}))


def _moved_entry(entry: ReportEntry, pointer: str, name: str | None) -> ReportEntry:
    if name is None:
        return replace(entry, pointer=pointer + entry.pointer)
    return ReportEntry(pointer="", keyword=f"{name}#{entry.pointer}", status=entry.status)


def _moved_place(place: BoundedPlace, pointer: str, name: str | None) -> BoundedPlace:
    return replace(place, pointer="" if name is not None else pointer + place.pointer)


def _moved_rejection(rejection: Rejection, pointer: str, name: str | None) -> Rejection:
    if name is None:
        return replace(rejection, pointer=pointer + rejection.pointer)
    message = f"In {name} at {rejection.pointer or 'its root'}: {rejection.message}"
    return replace(rejection, pointer="", message=message)
