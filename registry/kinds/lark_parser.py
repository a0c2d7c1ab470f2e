"""A Lark text, read into definitions: llguidance's dialect, as far as a contract may use it.

What a contract may not use is refused by its name where it stands. Groups are read by recursion, no deeper than the
limit allows.
"""

from dataclasses import dataclass, field
from typing import Final, NoReturn

from policy.rejection import RejectionCode
from registry.kinds.faults import place, refuse, shown
from registry.kinds.grammar import EMPTY_TEXT, Alternative, Definition, Expression, Group, Item, Items
from registry.kinds.lark_attributes import read_attributes
from registry.kinds.lark_common import COMMON_TERMINALS
from registry.kinds.lark_items import LarkItems
from registry.kinds.lark_parameters import read_condition
from registry.kinds.lark_stream import LarkStream
from registry.kinds.lark_tokens import LarkToken
from registry.kinds.parts import Parts
from registry.kinds.rust_patterns import parse_rust_pattern
from registry.kinds.terms import Terms

_UNSUPPORTED: Final = {
    "%llguidance": "options of the engine are not a contract's to set",
    "%lark": "nested grammars are not supported",
    "%override": "rules cannot be overridden",
    "%declare": "a declared terminal has no meaning",
    "%extend": "rules cannot be extended",
}
_STATEMENTS: Final = ("%ignore", "%import")
_END_OF_SEQUENCE: Final = frozenset({"newline", "end"})
_SIGNS_AFTER_SEQUENCE: Final = frozenset({"|", "->", ")", "]", "}", "&"})


@dataclass(slots=True)
class LarkText:
    """What one text defines: rules and terminals by name, and what may stand between lexemes."""

    definitions: dict[str, Definition] = field(default_factory=dict)
    ignores: list[tuple[int, tuple[Alternative, ...]]] = field(default_factory=list)


class LarkParser:
    """Reads one text, once."""

    def __init__(self, text: str, terms: Terms, parts: Parts) -> None:
        self._stream = LarkStream(text)
        self._parts = parts
        self._items = LarkItems(self._stream, terms, parts)
        self._found = LarkText()
        self._depth = 0

    def parse(self) -> LarkText:
        """All definitions. Raises `ContractRejectedError`."""
        stream = self._stream
        while True:
            stream.skip_newlines()
            token = stream.peek()
            if token.kind == "end":
                return self._found
            if token.kind == "rule":
                self._rule()
            elif token.kind == "terminal":
                self._terminal()
            elif token.kind == "directive":
                self._statement(token)
            else:
                stream.fail("A rule, a terminal or a `%` statement starts here")
            if stream.peek().kind not in _END_OF_SEQUENCE:
                stream.fail("The line should end here")

    def _define(self, definition: Definition) -> None:
        if definition.name in self._found.definitions:
            message = f"{shown(definition.name)} is defined twice (again at {self._stream.place(definition.position)})."
            refuse(RejectionCode.DUPLICATE_NAME, message, keyword=definition.name)
        self._found.definitions[definition.name] = definition
        self._parts.check("max_grammar_rules", len(self._found.definitions), "The number of rules and terminals")

    def _rule(self) -> None:
        stream = self._stream
        token = stream.next()
        name = token.text.removeprefix("!").removeprefix("?")
        is_parametric = stream.take_sign("::")
        if is_parametric:
            stream.expect_sign("_")
        self._refuse_templates_and_priorities()
        attributes = read_attributes(stream, self._items)
        stream.expect_sign(":")
        self._define(
            Definition(
                name=name,
                position=token.at,
                alternatives=self._alternatives(),
                is_parametric=is_parametric,
                is_lazy=attributes.is_lazy,
                suffix=attributes.suffix,
            )
        )

    def _terminal(self) -> None:
        stream = self._stream
        token = stream.next()
        self._refuse_templates_and_priorities()
        stream.expect_sign(":")
        alternatives = self._alternatives()
        self._define(Definition(name=token.text, position=token.at, alternatives=alternatives, is_terminal=True))

    def _refuse_templates_and_priorities(self) -> None:
        if self._stream.is_sign("{"):
            self._unsupported("template", "rules with parameters in braces are not supported")
        if self._stream.is_sign("."):
            self._unsupported("priority", "priorities are not supported")

    def _statement(self, token: LarkToken) -> None:
        if token.text in _UNSUPPORTED:
            self._unsupported(token.text, _UNSUPPORTED[token.text])
        if token.text not in _STATEMENTS:
            message = f"{shown(token.text)} is no statement of a Lark grammar (at {self._stream.place(token.at)})."
            refuse(RejectionCode.UNKNOWN_KEYWORD, message, keyword=token.text)
        self._stream.next()
        if token.text == "%ignore":
            self._found.ignores.append((token.at, self._alternatives()))
        else:
            self._import()

    def _import(self) -> None:
        stream = self._stream
        names = [stream.expect_name()]
        while stream.take_sign("."):
            names.append(stream.expect_name())
        if stream.take_sign("("):
            imported = [stream.next_name()]
            while stream.take_sign(","):
                imported.append(stream.next_name())
            stream.expect_sign(")")
            for token in imported:
                self._import_one([*names, token.text], token, token.text)
            return
        last = stream.last
        alias = stream.next_name() if stream.take_sign("->") else last
        self._import_one(names, last, alias.text)

    def _import_one(self, path: list[str], token: LarkToken, name: str) -> None:
        if len(path) != 2 or path[0] != "common" or path[1] not in COMMON_TERMINALS:
            where = self._stream.place(token.at)
            message = f"{shown('.'.join(path))} is no terminal of `common` (at {where}); nothing else can be imported."
            refuse(RejectionCode.UNRESOLVED_REFERENCE, message, keyword="%import")
        if not name.lstrip("_")[:1].isupper():
            where = self._stream.place(token.at)
            message = f"{shown(name)} is a rule's name; an imported terminal has an upper-case one (at {where})."
            refuse(RejectionCode.INVALID_GRAMMAR, message, keyword="%import")
        expression = Expression(node=parse_rust_pattern(COMMON_TERMINALS[path[1]])[0])
        alternatives = (Alternative(conjuncts=((expression,),)),)
        self._define(Definition(name=name, position=token.at, alternatives=alternatives, is_terminal=True))

    def _alternatives(self) -> tuple[Alternative, ...]:
        found = [self._alternative()]
        while self._takes_bar():
            found.append(self._alternative())
            self._parts.check("max_grammar_alternatives", len(found), "The number of alternatives")
        return tuple(found)

    def _takes_bar(self) -> bool:
        """A bar, which may stand at the start of a later line: nothing else that starts a line starts with one."""
        if self._stream.peek_after_newlines().text == "|":
            self._stream.skip_newlines()
        return self._stream.take_sign("|")

    def _alternative(self) -> Alternative:
        stream = self._stream
        conjuncts = [self._sequence()]
        while stream.take_sign("&"):
            conjuncts.append(self._sequence())
        if stream.take_sign("->"):
            stream.expect_word()  # a name in a syntax tree, which nobody builds here
        condition = None
        if stream.take_directive("%if"):
            if self._depth:
                stream.fail("`%if` stands at the end of a rule's alternative, not in a group")
            written = read_condition(stream)
            condition = None if written == "true" else written
        return Alternative(conjuncts=tuple(conjuncts), condition=condition)

    def _sequence(self) -> Items:
        found: list[Item] = []
        optionals = 0
        while not self._is_end_of_sequence():
            item, is_optional = self._items.repeated(self._atom())
            optionals = optionals + 1 if is_optional else 0
            if optionals:
                self._parts.check("max_grammar_optionals", optionals, "The number of optional items in a row")
            self._add(found, item)
        return tuple(found) or (EMPTY_TEXT,)

    def _add(self, found: list[Item], item: Item) -> None:
        """A group of one alternative is its items; the empty text adds nothing."""
        match item:
            case Group(alternatives=(Alternative(conjuncts=(items,), condition=None),)):
                found.extend(inner for inner in items if inner != EMPTY_TEXT)
            case _ if item != EMPTY_TEXT:
                found.append(item)
            case _:
                pass

    def _is_end_of_sequence(self) -> bool:
        token = self._stream.peek()
        if token.kind in _END_OF_SEQUENCE:
            return True
        return token.text in _SIGNS_AFTER_SEQUENCE if token.kind == "sign" else token.text == "%if"

    def _atom(self) -> Item:
        stream = self._stream
        start = stream.peek().at
        is_negated = stream.take_sign("~")
        item: Item
        if stream.take_sign("("):
            item = self._group(")")
        elif stream.take_sign("["):
            item = self._items.optional(self._group("]"))
        else:
            item = self._items.value()
        return self._items.complement(item, start) if is_negated else item

    def _group(self, closing: str) -> Item:
        self._depth += 1
        self._parts.check("max_grammar_depth", self._depth, "The nesting of groups")
        alternatives = self._alternatives()
        self._stream.expect_sign(closing)
        self._depth -= 1
        return Group(alternatives=alternatives)

    def _unsupported(self, keyword: str, reason: str) -> NoReturn:
        where = place(self._stream.text, self._stream.peek().at)
        refuse(RejectionCode.UNSUPPORTED_KEYWORD, f"`{keyword}` at {where}: {reason}.", keyword=keyword)
