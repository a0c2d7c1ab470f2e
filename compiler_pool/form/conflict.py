"""Which keywords of an unsatisfiable schema are at odds: a smallest set that has no value together."""

from typing import Final

from registry.algebra.budgeting import BudgetSpentError, SolverBudget, Spending
from registry.algebra.formulas import Wants
from registry.algebra.keyword_formulas import KeywordFormulas
from registry.algebra.outcomes import Empty
from registry.algebra.solver import Solver
from registry.algebra.terms import Terms
from registry.algebra.truth import Truth, format_not_known
from registry.contract import JsonValue
from registry.keywords import SHAPES, Shape
from registry.pointers import join

MAX_ATTEMPTS: Final = 200
"""Schemas that are solved on the way; past it, what is left so far is named."""
MAX_NAMED: Final = 8
"""Pointers in one refusal."""

_Path = tuple[str | int, ...]


def conflicting_pointers(schema: JsonValue, budget: SolverBudget) -> list[str]:
    """Pointers of the keywords that conflict, the outermost first; none if the solver cannot tell."""
    if not isinstance(schema, dict) or not _is_empty(schema, budget):
        return []
    kept: JsonValue = schema
    num_left = MAX_ATTEMPTS
    pending: list[_Path] = list(_below(schema, ()))
    core: list[_Path] = []
    while pending and num_left > 0:
        path = pending.pop(0)
        num_left -= 1
        without = _without(kept, path)
        if _is_empty(without, budget):
            kept = without
        else:
            core.append(path)
            pending.extend(_below(_at(kept, path), path, is_value_of=str(path[-1])))
    # Only the innermost: what holds another one of the core conflicts by what it holds.
    leaves = [path for path in core if not any(other[: len(path)] == path and other != path for other in core)]
    return [join("", *path) for path in leaves[:MAX_NAMED]]


def _is_empty(schema: JsonValue, budget: SolverBudget) -> bool:
    terms = Terms()
    (root,) = terms.read(schema)
    formulas = KeywordFormulas(terms)
    solver = Solver(terms, formulas, Truth(terms, formulas, format_not_known), Spending(budget))
    try:
        return isinstance(solver.solve(frozenset({Wants(term=root, positive=True)})), Empty)
    except BudgetSpentError:
        return False


def _below(value: JsonValue, path: _Path, *, is_value_of: str | None = None) -> list[_Path]:
    """What can be taken away inside a subschema, or inside a keyword's value."""
    if is_value_of is None:
        return [(*path, key) for key in value if key != "$defs"] if isinstance(value, dict) else []
    match SHAPES.get(is_value_of), value:
        case Shape.SCHEMA, dict():
            return [(*path, key) for key in value]
        case Shape.SCHEMAS_BY_NAME, dict():
            return [(*path, name, key) for name, inner in value.items() if isinstance(inner, dict) for key in inner]
        case Shape.SCHEMAS, list() if is_value_of in {"allOf", "prefixItems"}:
            return [(*path, at, key) for at, inner in enumerate(value) if isinstance(inner, dict) for key in inner]
        case _:
            return []


def _at(value: JsonValue, path: _Path) -> JsonValue:
    for token in path:
        match value, token:
            case dict(), str():
                value = value[token]
            case list(), int():
                value = value[token]
            case _:
                raise AssertionError(path)
    return value


def _without(value: JsonValue, path: _Path) -> JsonValue:
    token, rest = path[0], path[1:]
    match value, token:
        case dict(), str():
            if not rest:
                return {key: inner for key, inner in value.items() if key != token}
            return value | {token: _without(value[token], rest)}
        case list(), int():
            return [_without(inner, rest) if at == token else inner for at, inner in enumerate(value)]
        case _:
            raise AssertionError(path)
