"""A canonical JSON Schema as Lark text: through the intermediate form, exactly, or refused by name."""

from dataclasses import dataclass

from compiler_pool.form.conflict import conflicting_pointers
from compiler_pool.form.maker import Maker
from compiler_pool.form.nodes import Form
from compiler_pool.form.places import Places
from compiler_pool.form.pruning import pruned
from compiler_pool.form.spending import ExpansionSpending, ExpansionSpentError
from compiler_pool.form.unknown_formats import Unasserted, without_unknown_formats
from compiler_pool.free_json import bounds_for
from compiler_pool.lark.grammar import LarkGrammar
from compiler_pool.lark.writer import write_form
from compiler_pool.lowering.outcome import Ledger, Refused
from policy.enforcement import EnforcementPolicy, KeywordStatus, ReportEntry, Unknown
from policy.limits import LimitClass
from policy.rejection import Rejection, RejectionCode
from policy.text_bounds import MAX_BOUNDED, BoundedPlace, TextBounds
from registry.algebra.budgeting import SolverBudget
from registry.algebra.terms import Terms, UnreadableContractError
from registry.contract import JsonValue
from registry.pointers import tokens_of


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaForm:
    """A pruned form whose texts the schema allows, but for what the report leaves to the validator."""

    form: Form
    report: tuple[ReportEntry, ...]
    max_digits: int | None = None
    """Of numbers without an end; the writer's to keep to, for digits are spelling."""
    bounded: tuple[BoundedPlace, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaGrammar:
    """That form as a grammar."""

    grammar: LarkGrammar
    report: tuple[ReportEntry, ...]
    bounded: tuple[BoundedPlace, ...] = ()


def schema_grammar(
    schema: JsonValue, *, limits: LimitClass, policy: EnforcementPolicy, prefix: str = ""
) -> SchemaGrammar | Refused:
    """The grammar of a canonical schema with its enforcement report. Pure, and free of the engine.

    `prefix` goes before every name of the grammar.
    """
    made = schema_form(schema, limits=limits, policy=policy)
    if isinstance(made, Refused):
        return made
    max_bytes = limits.expansion.max_expression_bytes
    try:
        grammar = write_form(made.form, prefix=prefix, max_digits=made.max_digits, max_bytes=max_bytes)
    except ExpansionSpentError as error:
        return Refused(rejections=(_too_large(error, ""),), report=made.report)
    return SchemaGrammar(grammar=grammar, report=made.report, bounded=made.bounded)


def schema_form(schema: JsonValue, *, limits: LimitClass, policy: EnforcementPolicy) -> SchemaForm | Refused:
    """The intermediate form of a canonical schema with its enforcement report."""
    ledger = Ledger(policy)
    keywords = schema if isinstance(schema, dict) else {}
    for keyword, value in keywords.items():
        ledger.write_subtree(f"/{keyword}", keyword, value, KeywordStatus.ENFORCED)
    stripped = schema
    if any(entry.keyword == "format" for entry in ledger.report):
        stripped, unasserted = without_unknown_formats(schema)
        for entry in unasserted:
            _note(entry, ledger, policy)
    if ledger.rejections:
        return Refused(rejections=ledger.rejections, report=ledger.report)
    terms = Terms()
    try:
        (root,) = terms.read(stripped)
    except UnreadableContractError as error:
        return _refused(ledger, Rejection(code=RejectionCode.COMPILE_REFUSED, message=str(error)))
    bounds = bounds_for(schema, policy.bounds)
    maker = _maker(terms, limits, bounds)
    try:
        form = maker.form(root)
    except ExpansionSpentError as error:
        return _refused(ledger, _too_large(error, Places(stripped, terms, root).of_goal(maker.under_way)))
    except RecursionError:
        message = "this schema is nested too deeply to be compiled"
        return _refused(ledger, Rejection(code=RejectionCode.COMPILE_REFUSED, message=message))
    kept = pruned(form)
    if kept is None:
        return _refused(ledger, _out_of_bounds(stripped, limits, bounds) or _unsatisfiable(stripped, limits))
    bounded: tuple[BoundedPlace, ...] = ()
    if maker.inabilities or maker.bounding.noted():
        places = Places(stripped, terms, root)
        _note_inabilities(maker, places, stripped, ledger)
        if ledger.rejections:
            return Refused(rejections=ledger.rejections, report=ledger.report)
        bounded = _bounded(maker, places)
    return SchemaForm(form=kept, report=ledger.report, max_digits=bounds.max_digits, bounded=bounded)


def _maker(terms: Terms, limits: LimitClass, bounds: TextBounds) -> Maker:
    spending = ExpansionSpending(limits.expansion)
    return Maker(terms, spending=spending, solving=_solving(limits), bounds=bounds)


def _bounded(maker: Maker, places: Places) -> tuple[BoundedPlace, ...]:
    limits = dict(maker.bounding.bounds.named())
    found = {
        BoundedPlace(pointer=places.of_goal(goal), limit_name=name, limit=limits[name]): None
        for goal, name in maker.bounding.noted()
    }
    return tuple(found)[:MAX_BOUNDED]


def _out_of_bounds(schema: JsonValue, limits: LimitClass, bounds: TextBounds) -> Rejection | None:
    """Why no value is left, if the schema has values and a bound leaves none of them."""
    # Digits are spelling, and there are always enough of them: that bound never leaves nothing.
    bounds = bounds.without("max_digits")
    for name, bound in bounds.named():
        terms = Terms()
        (root,) = terms.read(schema)
        try:
            is_left = pruned(_maker(terms, limits, bounds.without(name)).form(root)) is not None
        except ExpansionSpentError:
            continue
        if is_left:
            return Rejection(
                code=RejectionCode.LIMIT_EXCEEDED,
                message=f"every value of this schema passes the bound {name} {bound} that is set for what is generated",
                limit_name=name,
                limit=bound,
            )
    others = bounds.named()[1:]
    return _out_of_bounds(schema, limits, TextBounds(**dict(others))) if others else None


def _solving(limits: LimitClass) -> SolverBudget:
    return SolverBudget(max_steps=limits.expansion.max_steps // 2)


def _refused(ledger: Ledger, rejection: Rejection) -> Refused:
    return Refused(rejections=(rejection,), report=ledger.report)


def _note(entry: Unasserted, ledger: Ledger, policy: EnforcementPolicy) -> None:
    if policy.unknown_format is Unknown.ANNOTATION:
        ledger.write(entry.pointer, "format", KeywordStatus.ANNOTATION)
        return
    message = f"format {entry.name!r} is not one of JSON Schema 2020-12"
    code = RejectionCode.UNKNOWN_FORMAT
    ledger.reject(Rejection(code=code, message=message, pointer=entry.pointer, keyword="format"), entry.name)


def _note_inabilities(maker: Maker, places: Places, schema: JsonValue, ledger: Ledger) -> None:
    for inability in maker.inabilities:
        found = places.of(inability.goal, inability.keyword) or [places.of_goal(inability.goal)]
        for pointer in found:
            ledger.unsupported(pointer, inability.keyword, _at(schema, pointer), inability.reason)


def _too_large(error: ExpansionSpentError, pointer: str) -> Rejection:
    return Rejection(
        code=RejectionCode.LIMIT_EXCEEDED,
        message=f"written out as a grammar, this schema passes {error.limit_name} {error.limit}; simplify it",
        pointer=pointer,
        limit_name=error.limit_name,
        limit=error.limit,
    )


def _unsatisfiable(schema: JsonValue, limits: LimitClass) -> Rejection:
    pointers = conflicting_pointers(schema, _solving(limits))
    pointer = pointers[0] if pointers else ""
    tokens = tokens_of(pointer)
    return Rejection(
        code=RejectionCode.UNSATISFIABLE,
        message="no value satisfies this schema"
        + ("; the keywords in `conflicts` allow none together" if len(pointers) > 1 else ""),
        pointer=pointer,
        keyword=tokens[-1] if tokens else None,
        conflicts=tuple(pointers),
    )


def _at(schema: JsonValue, pointer: str) -> JsonValue:
    value = schema
    for token in tokens_of(pointer):
        match value:
            case dict():
                value = value.get(token)
            case list():
                value = value[int(token)]
            case _:
                return None
    return value
