"""A GBNF text, read into definitions: llama.cpp's grammars, without tokens of one tokenizer.

A rule ends with its line, unless the line ends after `|` or inside parentheses. Groups are read by recursion, no
deeper than the limit allows.
"""

from itertools import groupby
from typing import NoReturn

from policy.rejection import RejectionCode
from registry.kinds.faults import place, refuse, shown
from registry.kinds.gbnf_characters import CharacterError, read_class, read_string
from registry.kinds.gbnf_tokens import GbnfToken, gbnf_tokens
from registry.kinds.grammar import (
    EMPTY_TEXT,
    Alternative,
    Definition,
    Expression,
    Group,
    Item,
    Items,
    Literal,
    Reference,
    Repetition,
)
from registry.kinds.lark_items import repeat_product
from registry.kinds.parts import Parts
from registry.pattern_syntax import ANY

_MAX_BOUND_DIGITS = 9
_QUANTIFIERS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}


class GbnfParser:
    """Reads one text, once."""

    def __init__(self, text: str, parts: Parts) -> None:
        self._text = text
        self._tokens = gbnf_tokens(text)
        self._at = 0
        self._depth = 0
        self._parts = parts
        self._found: dict[str, Definition] = {}

    def parse(self) -> dict[str, Definition]:
        """All rules, by name. Raises `ContractRejectedError`."""
        while True:
            self._skip_newlines()
            token = self._peek()
            if token.kind == "end":
                return self._found
            if token.kind != "name":
                self._fail("A rule starts with its name")
            self._rule()

    def _rule(self) -> None:
        token = self._next()
        if not self._take("::="):
            self._fail("`::=` is missing")
        self._skip_newlines()
        alternatives = self._alternatives()
        if self._peek().kind not in {"newline", "end"}:
            self._fail("The rule should end here")
        if token.text in self._found:
            message = f"The rule {shown(token.text)} is defined twice (again at {place(self._text, token.at)})."
            refuse(RejectionCode.DUPLICATE_NAME, message, keyword=token.text)
        self._found[token.text] = Definition(name=token.text, position=token.at, alternatives=alternatives)
        self._parts.check("max_grammar_rules", len(self._found), "The number of rules")

    def _alternatives(self) -> tuple[Alternative, ...]:
        found = [self._sequence()]
        while self._take("|"):
            self._skip_newlines()
            found.append(self._sequence())
            self._parts.check("max_grammar_alternatives", len(found), "The number of alternatives")
        return tuple(found)

    def _sequence(self) -> Alternative:
        items: list[Item] = []
        optionals = 0
        while True:
            if self._depth:
                self._skip_newlines()
            item = self._atom()
            if item is None:
                break
            item = self._repeated(item)
            optionals = optionals + 1 if isinstance(item, Repetition) and item.minimum == 0 else 0
            if optionals:
                self._parts.check("max_grammar_optionals", optionals, "The number of optional items in a row")
            _append(items, item)
        return Alternative(conjuncts=(self._joined(items),))

    def _joined(self, items: list[Item]) -> Items:
        """Texts in a row are one text: GBNF has no lexemes to keep apart."""
        found: list[Item] = []
        for is_text, run in groupby(items, key=lambda item: isinstance(item, Literal)):
            if not is_text:
                found.extend(run)
                continue
            text = "".join(item.text for item in run if isinstance(item, Literal))
            self._parts.check("max_literal_bytes", len(text.encode()), "The size of a text, neighbours included,")
            found.append(Literal(text=text))
        return tuple(found) or (EMPTY_TEXT,)

    def _atom(self) -> Item | None:
        token = self._peek()
        match token.kind:
            case "string" | "class":
                self._next()
                return self._characters(token)
            case "token":
                message = f"{shown(token.text)} at {place(self._text, token.at)} is one tokenizer's token."
                return refuse(RejectionCode.UNSUPPORTED_KEYWORD, message, keyword=token.text[:64])
            case "name":
                self._next()
                return Reference(name=token.text, position=token.at)
            case "sign" if token.text == ".":
                self._next()
                return Expression(node=ANY)
            case "sign" if token.text == "(":
                return self._group()
            case _:
                return None

    def _characters(self, token: GbnfToken) -> Item:
        body = token.text[1:-1]
        try:
            if token.kind == "string":
                return Literal(text=read_string(body))
            found = read_class(body)
        except CharacterError as fault:
            where = place(self._text, token.at + 1 + fault.offset)
            refuse(RejectionCode.INVALID_GRAMMAR, f"In this {token.kind} {fault.reason} (at {where}).")
        low, high = found.ranges[0]
        is_single = low == high and len(found.ranges) == 1 and not found.negated
        return Literal(text=chr(low)) if is_single else Expression(node=found)

    def _group(self) -> Item:
        self._next()
        self._depth += 1
        self._parts.check("max_grammar_depth", self._depth, "The nesting of groups")
        self._skip_newlines()
        alternatives = self._alternatives()
        if not self._take(")"):
            self._fail("`)` is missing")
        self._depth -= 1
        if len(alternatives) == 1 and len(alternatives[0].conjuncts[0]) == 1:
            return alternatives[0].conjuncts[0][0]
        return Group(alternatives=alternatives)

    def _repeated(self, item: Item) -> Item:
        while True:
            if self._depth:
                self._skip_newlines()
            token = self._peek()
            if token.kind != "sign":
                return item
            if token.text in _QUANTIFIERS:
                self._next()
                minimum, maximum = _QUANTIFIERS[token.text]
            elif token.text == "{":
                self._next()
                minimum, maximum = self._bounds()
            else:
                return item
            if item == EMPTY_TEXT:
                continue  # nothing, however often
            item = Repetition(item=item, minimum=minimum, maximum=maximum)
            self._parts.check("max_grammar_repeat_product", repeat_product(item), "The product of repeats")
            self._depth_of_repeats(item)

    def _depth_of_repeats(self, item: Item) -> None:
        depth = 0
        while isinstance(item, Repetition):
            depth += 1
            item = item.item
        self._parts.check("max_grammar_depth", depth, "The number of repetitions of one item")

    def _bounds(self) -> tuple[int, int | None]:
        minimum = self._bound()
        maximum: int | None = minimum
        if self._take(","):
            maximum = None if self._is("}") else self._bound()
        if not self._take("}"):
            self._fail("`}` is missing")
        if maximum is not None and (maximum < minimum or maximum == 0):
            self._fail("The bounds of a repetition allow nothing, or only nothing")
        return minimum, maximum

    def _bound(self) -> int:
        token = self._peek()
        if token.kind != "name" or not (token.text.isascii() and token.text.isdigit()):
            self._fail("A whole number is missing")
        if len(token.text) > _MAX_BOUND_DIGITS:
            self._fail("The bound of a repetition is absurd")
        self._next()
        return int(token.text)

    def _peek(self) -> GbnfToken:
        return self._tokens[self._at]

    def _next(self) -> GbnfToken:
        token = self._tokens[self._at]
        self._at = min(self._at + 1, len(self._tokens) - 1)
        return token

    def _is(self, sign: str) -> bool:
        token = self._peek()
        return token.kind == "sign" and token.text == sign

    def _take(self, sign: str) -> bool:
        if self._is(sign):
            self._at += 1
            return True
        return False

    def _skip_newlines(self) -> None:
        while self._peek().kind == "newline":
            self._at += 1

    def _fail(self, message: str) -> NoReturn:
        token = self._peek()
        what = {"end": "the end of the text", "newline": "the end of the line"}.get(token.kind, shown(token.text))
        refuse(RejectionCode.INVALID_GRAMMAR, f"{message} (at {place(self._text, token.at)}, before {what}).")


def _append(items: list[Item], item: Item) -> None:
    """A group of one alternative is its items; the empty text adds nothing."""
    match item:
        case Group(alternatives=(Alternative(conjuncts=(inner,)),)):
            items.extend(each for each in inner if each != EMPTY_TEXT)
        case _ if item != EMPTY_TEXT:
            items.append(item)
        case _:
            pass
