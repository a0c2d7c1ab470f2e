"""A JSON value as the text that a form has for it, if it has one: where each member goes is the form's to say.

Nothing here knows the grammar that is written from the form, so the two can be held against each other.
"""

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Final

from compiler_pool.form.languages import Language
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
from compiler_pool.form.number_texts import listed_text
from compiler_pool.form.running import LanguageRun
from compiler_pool.form.spelling import spell_string
from compiler_pool.form.spending import ExpansionSpending
from registry.contract import JsonValue
from registry.parsing import parse_json
from registry.text import value_text

MAX_TRIES: Final = 20_000
"""Steps of one search, states and nodes together; past it the value counts as not found."""


class SearchSpentError(Exception):
    """The form leaves too many ways to write the value: whether it is among them is not known."""


class Speller:
    """Spells values of one form. Members may come in any order; numbers are written in plain decimals."""

    def __init__(self, form: Form, spending: ExpansionSpending) -> None:
        self._form = form
        self._spending = spending
        self._runs: dict[Language, LanguageRun] = {}
        self._held: dict[tuple[Language, str], bool] = {}
        self._known: dict[tuple[NodeId, int], str | None] = {}
        self._open: set[tuple[NodeId, int]] = set()
        self._was_cut = False
        self._literals: dict[str, str] = {}
        self._num_tries = 0

    def spell(self, value: JsonValue) -> str | None:
        """A text of the form with this value, or None. Raises `SearchSpentError`, and `ExpansionSpentError`.

        The value must not change meanwhile.
        """
        self._known.clear()
        self._num_tries = 0
        return self._node(self._form.root, value)

    def _node(self, number: NodeId, value: JsonValue) -> str | None:
        key = (number, id(value))
        if key in self._known:
            return self._known[key]
        if key in self._open:
            # The alternatives come back to themselves: a text is found without this detour, or not at all.
            self._was_cut = True
            return None
        self._open.add(key)
        self._try()
        before, self._was_cut = self._was_cut, False
        found = next(self._texts(number, value), None)
        self._open.discard(key)
        # What was refused because of a detour may be allowed where it is none.
        if found is not None or not self._was_cut:
            self._known[key] = found
        self._was_cut = before or self._was_cut
        return found

    def _try(self) -> None:
        self._num_tries += 1
        if self._num_tries > MAX_TRIES:
            raise SearchSpentError

    def _texts(self, number: NodeId, value: JsonValue) -> Iterator[str]:
        match self._form.nodes[number], value:
            case AnyOf(parts=parts), _:
                yield from (text for part in parts if (text := self._node(part, value)) is not None)
            case Literals(texts=texts), _:
                yield from (text for text in texts if self._value_of(text) == value_text(value))
            case Strings(contents=contents), str():
                if self._holds(contents, value):
                    yield spell_string(value)
            case Numbers(values=values), int() | Decimal():
                exact = Fraction(value)
                if not isinstance(value, bool) and exact in values:
                    is_listed = any(part.point == exact for part in values.parts)
                    yield listed_text(exact) if is_listed else number_text(value)
            case Items() as node, list():
                yield from self._items(node, value)
            case ItemMachine() as machine, list():
                yield from self._machine_items(machine, value)
            case DistinctItems() as node, list():
                yield from self._distinct(node, value)
            case MemberMachine() as machine, dict():
                text = self._members(machine, value)
                if text is not None:
                    yield text
            case _:
                return

    def _items(self, node: Items, value: list[JsonValue]) -> Iterator[str]:
        if len(value) < node.at_least or (node.at_most is not None and len(value) > node.at_most):
            return
        texts: list[str] = []
        for at, item in enumerate(value):
            part = node.prefix[at] if at < len(node.prefix) else node.rest
            text = None if part is None else self._node(part, item)
            if text is None:
                return
            texts.append(text)
        yield f"[{','.join(texts)}]"

    def _machine_items(self, machine: ItemMachine, value: list[JsonValue]) -> Iterator[str]:
        if len(value) < machine.at_least or (machine.at_most is not None and len(value) > machine.at_most):
            return
        states: dict[int, tuple[str, ...]] = {0: ()}
        for item in value:
            after: dict[int, tuple[str, ...]] = {}
            for state, texts in states.items():
                for move in machine.states[state].moves:
                    self._try()
                    if move.target not in after:
                        text = self._node(move.item, item)
                        if text is not None:
                            after[move.target] = (*texts, text)
            states = after
        yield from (f"[{','.join(texts)}]" for state, texts in states.items() if machine.states[state].is_final)

    def _distinct(self, node: DistinctItems, value: list[JsonValue]) -> Iterator[str]:
        by_value = {self._value_of(text): text for text in node.texts}
        texts = [by_value.get(value_text(item)) for item in value]
        if None in texts or len(set(texts)) < len(texts) or len(texts) < node.at_least:
            return
        num_found = len(set(node.texts[: node.num_found]).intersection(texts))
        if num_found < node.found_at_least or (node.found_at_most is not None and num_found > node.found_at_most):
            return
        if node.at_most is None or len(texts) <= node.at_most:
            yield f"[{','.join(text for text in texts if text is not None)}]"

    def _members(self, machine: MemberMachine, value: dict[str, JsonValue]) -> str | None:
        """Depth first, over states and what is left of the members; each pair is tried once."""
        tried: set[tuple[int, frozenset[str]]] = set()

        def go(state: int, left: frozenset[str], texts: tuple[str, ...]) -> tuple[str, ...] | None:
            if (state, left) in tried:
                return None
            tried.add((state, left))
            self._try()
            here = machine.states[state]
            if not left and here.is_final:
                return texts
            for move in here.moves:
                # Undeclared members come last, and their order among each other decides nothing.
                name = move.names if isinstance(move.names, str) else next((one for one in value if one in left), None)
                if name in left and (isinstance(move.names, str) or self._holds(move.names, name)):
                    text = self._node(move.value, value[name])
                    if text is not None:
                        found = go(move.target, left - {name}, (*texts, f"{spell_string(name)}:{text}"))
                        if found is not None:
                            return found
            # A declared name has one place on each way: a member that is there is taken there.
            if any(isinstance(move.names, str) and move.names in left for move in here.moves):
                return None
            for target in here.skips:
                found = go(target, left, texts)
                if found is not None:
                    return found
            return None

        members = go(0, frozenset(value), ())
        return None if members is None else "{" + ",".join(members) + "}"

    def _holds(self, language: Language, text: str) -> bool:
        key = (language, text)
        if key not in self._held:
            if language not in self._runs:
                self._runs[language] = LanguageRun(language, self._spending)
            self._held[key] = self._runs[language].contains(text)
        return self._held[key]

    def _value_of(self, text: str) -> str:
        if text not in self._literals:
            self._literals[text] = value_text(parse_json(text, max_bytes=1 << 26, max_nesting=512))
        return self._literals[text]


def number_text(value: "int | Decimal") -> str:
    """All digits in place, no exponent, no idle zeros, and no sign before zero."""
    if isinstance(value, int):
        return str(value)
    text = format(value, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text in {"-0", ""} else text
