"""The maker of nodes: goal by goal, type by type, until no goal is left that has no node."""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from compiler_pool.form.arrays import array_nodes
from compiler_pool.form.bounding import TextBounding
from compiler_pool.form.cases import Case, cases_of, listed_values
from compiler_pool.form.constant_texts import constant_text
from compiler_pool.form.flattening import Flattening
from compiler_pool.form.formats.membership import in_format
from compiler_pool.form.making import Goal
from compiler_pool.form.nodes import AnyOf, Form, Literals, Node, NodeId
from compiler_pool.form.numbers import number_nodes
from compiler_pool.form.objects import object_nodes
from compiler_pool.form.spending import ExpansionSpending
from compiler_pool.form.strings import string_nodes
from policy.text_bounds import UNBOUNDED, TextBounds
from registry.algebra.budgeting import BudgetSpentError, SolverBudget, Spending
from registry.algebra.formulas import FALSE, Formula, Wants
from registry.algebra.keyword_formulas import JsonType, KeywordFormulas
from registry.algebra.outcomes import Empty
from registry.algebra.solver import Solver
from registry.algebra.terms import TermId, Terms
from registry.algebra.truth import Truth
from registry.contract import JsonValue
from registry.parsing import parse_json

_TYPES: Final = (
    JsonType.OBJECT, JsonType.ARRAY, JsonType.STRING, JsonType.NUMBER, JsonType.BOOLEAN, JsonType.NULL,
)  # fmt: skip
_NAMED_TYPES: Final[Mapping[str, JsonType]] = {**{each.value: each for each in JsonType}, "integer": JsonType.NUMBER}
_COMPOSED: Final = (JsonType.OBJECT, JsonType.ARRAY)
_CONSTANTS: Final[Mapping[JsonType, tuple[JsonValue, ...]]] = {
    JsonType.BOOLEAN: (False, True),
    JsonType.NULL: (None,),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Inability:
    """A keyword of some of the goal's terms that is not in the grammar, because `reason`."""

    goal: Goal
    keyword: str
    reason: str


class Maker:
    """Makes the form of one contract. Implements `Making` for the makers of each type."""

    def __init__(
        self, terms: Terms, *, spending: ExpansionSpending, solving: SolverBudget, bounds: TextBounds = UNBOUNDED
    ) -> None:
        self.terms = terms
        self.spending = spending
        formulas = KeywordFormulas(terms)
        self.truth = Truth(terms, formulas, in_format)
        self.solver = Solver(terms, formulas, self.truth, Spending(solving))
        # Cases of what members have been looked at double with each subschema that decides; clauses by name do not.
        self._flattening = Flattening(self.solver, KeywordFormulas(terms, max_member_conditions=0), spending)
        self._nodes: list[Node] = []
        self._numbers: dict[tuple[Goal, int], NodeId] = {}
        self._pending: deque[tuple[Goal, int]] = deque()
        self._depth = 0
        """Arrays and objects around the value under way. Always 0 where nothing bounds it: a goal is one node then."""
        self.bounding = TextBounding(bounds, self)
        self.under_way: Goal = frozenset()
        """The goal whose node is being made."""
        self._emptiness: dict[Goal, bool] = {}
        self.inabilities: dict[Inability, None] = {}
        """What could not be said, each once; with any of them, the form is wider than the contract."""

    def form(self, root: TermId) -> Form:
        """The form of a term's values. Raises `ExpansionSpentError`."""
        number = self._node([Wants(term=root, positive=True)], 0)
        while self._pending:
            goal, self._depth = self._pending.popleft()
            self.under_way = goal
            self._nodes[self._numbers[goal, self._depth]] = self._made(goal)
        return Form(nodes=tuple(self._nodes), root=number)

    def node(self, goal: Iterable[Wants]) -> NodeId:
        """See `Making`. It is a part of the value under way."""
        return self._node(goal, 0 if self.bounding.bounds.max_depth is None else self._depth + 1)

    def _node(self, goal: Iterable[Wants], depth: int) -> NodeId:
        wanted = self._normal(goal)
        if (wanted, depth) not in self._numbers:
            self._numbers[wanted, depth] = self._add(AnyOf(parts=()))
            self._pending.append((wanted, depth))
        if not wanted:
            self.bounding.held_by(self.under_way)
        return self._numbers[wanted, depth]

    def is_empty(self, goal: Iterable[Wants]) -> bool:
        """See `Making`."""
        wanted = self._normal(goal)
        if wanted not in self._emptiness:
            self._emptiness[wanted] = self._is_empty(wanted)
        return self._emptiness[wanted]

    def flat(self, formulas: Iterable[Formula], json_type: JsonType) -> Formula:
        """See `Making`."""
        return self._flattening.flat(formulas, json_type)

    def cases(self, flat: Formula) -> list[Case]:
        """See `Making`."""
        return cases_of(flat, self.spending)

    def cannot(self, keyword: str, reason: str) -> None:
        """See `Making`."""
        self.inabilities[Inability(goal=self.under_way, keyword=keyword, reason=reason)] = None

    def _add(self, node: Node) -> NodeId:
        self.spending.node()
        self._nodes.append(node)
        return NodeId(len(self._nodes) - 1)

    def _normal(self, goal: Iterable[Wants]) -> Goal:
        """The goal without terms that allow everything, and with plain conjunctions opened."""
        wanted: set[Wants] = set()
        pending = list(goal)
        while pending:
            want = pending.pop()
            term = self.terms[want.term]
            if term.allows_nothing or term.assertions or len(term.children) != 1:
                if not (term.allows_all and want.positive):
                    wanted.add(want)
            elif "not" in term.children:
                pending += [Wants(term=inner, positive=not want.positive) for inner in term.of("not").values()]
            elif "allOf" in term.children and want.positive:
                pending += [Wants(term=inner, positive=True) for inner in term.of("allOf").values()]
            else:
                wanted.add(want)
        return frozenset(wanted)

    def _is_empty(self, goal: Goal) -> bool:
        if any(Wants(term=want.term, positive=not want.positive) in goal for want in goal):
            return True
        if not goal or self.solver.spending.num_spent > self.solver.spending.budget.max_steps:
            return False
        self.spending.step(1 + len(goal) // 2)
        try:
            return isinstance(self.solver.solve(goal), Empty)
        except BudgetSpentError:
            return False

    def _made(self, goal: Goal) -> Node:
        parts = [node for json_type in self._types(goal) for node in self._of_type(goal, json_type)]
        if len(parts) == 1:
            return parts[0]
        return AnyOf(parts=tuple(self._add(part) for part in parts))

    def _types(self, goal: Goal) -> list[JsonType]:
        """The types that the goal's own `type`s leave: what they rule out need not be looked at."""
        left = set(_TYPES)
        for want in goal:
            named = self.terms[want.term].assertions.get("type")
            if want.positive and named is not None:
                left &= {_NAMED_TYPES[str(name)] for name in (named if isinstance(named, list) else [named])}
        return [json_type for json_type in _TYPES if json_type in left]

    def _of_type(self, goal: Goal, json_type: JsonType) -> list[Node]:
        ordered: list[Wants] = sorted(goal, key=lambda want: (want.term, want.positive))
        flat = self.flat(ordered, json_type)
        if flat == FALSE:
            return []
        if json_type in _CONSTANTS:
            return self._listed(_CONSTANTS[json_type], flat)
        nodes: list[Node] = []
        if json_type in _COMPOSED:
            whole = flat
            texts, flat = listed_values(whole, self.spending)
            values = [parse_json(text, max_bytes=1 << 26, max_nesting=512) for text in texts]
            nodes = self._listed(values, whole)
            if flat == FALSE or self.bounding.is_deepest(self._depth, goal):
                return nodes
        return nodes + self.bounding.nodes(goal, json_type, flat, lambda wanted: _MAKERS[json_type](wanted, self))

    def _listed(self, values: Iterable[JsonValue], flat: Formula) -> list[Node]:
        """Those of the values for which the formula holds."""
        texts: list[str] = []
        for value in values:
            self.spending.step()
            held = self.truth.of(flat, value)
            if held is None:
                self.cannot("format", "whether a listed value is in this format is the validator's to say")
            if held is not False:
                texts.append(constant_text(value))
        return [Literals(texts=tuple(texts))] if texts else []


_MAKERS: Final[Mapping[JsonType, Callable[[Formula, Maker], list[Node]]]] = {
    JsonType.OBJECT: object_nodes,
    JsonType.ARRAY: array_nodes,
    JsonType.STRING: string_nodes,
    JsonType.NUMBER: number_nodes,
}
