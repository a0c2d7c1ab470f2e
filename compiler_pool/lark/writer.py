"""A form written as Lark: one rule or terminal for each node, in the order in which the root reaches them."""

from collections import deque

from compiler_pool.form.nodes import (
    AnyOf,
    DistinctItems,
    Form,
    ItemMachine,
    Items,
    Literals,
    MemberMachine,
    NodeId,
    Numbers,
    Strings,
)
from compiler_pool.lark.constants import is_composite, write_constants
from compiler_pool.lark.grammar import LarkGrammar, LarkRules
from compiler_pool.lark.items import write_items
from compiler_pool.lark.members import write_members
from compiler_pool.lark.numbers import number_body
from compiler_pool.lark.strings import literal, string_terminal


def write_form(
    form: Form, *, prefix: str = "", max_digits: int | None = None, max_bytes: int | None = None
) -> LarkGrammar:
    """The grammar of a pruned form. `prefix` goes before every name in it.

    Raises `ExpansionSpentError` past `max_bytes` of rules and expressions.
    """
    return _FormWriter(form, LarkRules(prefix=prefix, max_bytes=max_bytes), max_digits).grammar()


class _FormWriter:
    def __init__(self, form: Form, rules: LarkRules, max_digits: int | None) -> None:
        self._form = form
        self._rules = rules
        self._max_digits = max_digits
        self._names: dict[NodeId, str] = {}
        self._pending: deque[NodeId] = deque()

    def grammar(self) -> LarkGrammar:
        """All rules that the root needs."""
        start = self._of(self._form.root)
        while self._pending:
            self._write(self._pending.popleft())
        return LarkGrammar(start=start, rules=tuple(self._rules.entries()))

    def _of(self, number: NodeId) -> str:
        """What stands for the node: a terminal, or a rule that is written later."""
        if number not in self._names:
            match self._form.nodes[number]:
                case Literals(texts=texts) if not any(map(is_composite, texts)):
                    name = self._rules.terminal(" | ".join(map(literal, texts)))
                case Strings(contents=contents):
                    name = string_terminal(contents, self._rules)
                case Numbers(values=values):
                    own = f"n{number}"
                    name = number_body(values, self._rules, name=own, max_digits=self._max_digits, has_idle_zeros=True)
                case _:
                    name = self._rules.rule_name(f"n{number}")
                    self._pending.append(number)
            self._names[number] = name
        return self._names[number]

    def _write(self, number: NodeId) -> None:
        name = f"n{number}"
        match self._form.nodes[number]:
            case AnyOf(parts=parts):
                self._rules.rule(name, " | ".join(dict.fromkeys(map(self._of, parts))))
            case Items() | ItemMachine() | DistinctItems() as node:
                write_items(name, node, self._rules, self._of)
            case MemberMachine() as node:
                write_members(name, node, self._rules, self._of)
            case Literals(texts=texts):
                write_constants(name, texts, self._rules)
            case Strings() | Numbers():
                raise AssertionError(number)
