"""The smallest pieces of a Lark grammar: literals, ranges, expressions, names, embedded JSON, and their repetition."""

import re
from typing import Final, NoReturn

from policy.rejection import RejectionCode
from registry.contract import CanonicalContract, JsonValue
from registry.errors import ContractRejectedError, UnsupportedPatternError
from registry.kinds.faults import check_encodable, refuse, shown, told
from registry.kinds.grammar import (
    EMPTY_TEXT,
    Alternative,
    Complement,
    EmbeddedSchema,
    Expression,
    Group,
    Item,
    Literal,
    Reference,
    Repetition,
    Substring,
)
from registry.kinds.lark_parameters import read_argument
from registry.kinds.lark_stream import LarkStream
from registry.kinds.lark_tokens import LarkToken
from registry.kinds.parts import Parts
from registry.kinds.regex import check_pattern_sizes
from registry.kinds.rust_patterns import parse_rust_pattern
from registry.kinds.terms import Terms
from registry.parsing import parse_json
from registry.pattern_syntax import EMPTY, Characters

_MAX_BOUND: Final = 2**31 - 2
"""Of one repetition; the engine reads 32 bits."""
_HEX_ESCAPE: Final = re.compile(r"(?<!\\)((?:\\\\)*+)\\x([0-9a-fA-F]{2})")
_FLAGS: Final = frozenset("isu")
_SUBSTRINGS: Final = frozenset({"substring_chunks", "substring_words", "substring_chars"})


class LarkItems:
    """Reads items from a stream."""

    def __init__(self, stream: LarkStream, terms: Terms, parts: Parts) -> None:
        self._stream = stream
        self._terms = terms
        self._parts = parts

    def value(self) -> Item:
        """One item without repetition, group or complement."""
        stream = self._stream
        token = stream.peek()
        match token.kind:
            case "string":
                return self._string()
            case "regex":
                stream.next()
                return self._expression(token)
            case "rule" | "terminal":
                return self._reference()
            case "directive" if token.text == "%json":
                stream.next()
                return self._schema(token)
            case "directive" if token.text == "%regex":
                stream.next()
                return self._substring(token)
            case "special":
                self._unsupported(token, token.text, "special tokens belong to one tokenizer")
            case "grammar":
                self._unsupported(token, token.text, "a contract holds no other grammars")
            case "directive" if token.text in {"%lark", "%llguidance"}:
                self._unsupported(token, token.text, "it is not supported here")
            case _:
                stream.fail("An item is missing")
        raise AssertionError("refused above")

    def plain_string(self) -> str:
        """A string without flag."""
        token = self._stream.peek()
        if token.kind != "string" or token.text.endswith("i"):
            self._stream.fail("A string without flag is missing")
        self._stream.next()
        return self._text(token)

    def repeated(self, item: Item) -> tuple[Item, bool]:
        """The item with the repetition that follows it, and whether it may be left out."""
        stream = self._stream
        start = stream.peek().at
        if stream.take_sign("*"):
            bounds: tuple[int, int | None] = (0, None)
        elif stream.take_sign("+"):
            bounds = (1, None)
        elif stream.take_sign("?"):
            bounds = (0, 1)
        elif stream.is_sign("~") and stream.peek_second().kind == "number":
            stream.next()
            least = self._bound()
            bounds = (least, self._bound() if stream.take_sign("..") else least)
        elif stream.take_sign("{"):
            bounds = self._braces()
        else:
            return item, isinstance(item, Repetition) and item.minimum == 0
        return self._repetition(item, *bounds, at=start), bounds[0] == 0

    def optional(self, item: Item) -> Item:
        """The item, or nothing."""
        return self._repetition(item, 0, 1, at=self._stream.peek().at)

    def complement(self, item: Item, at: int) -> Item:
        """Every other text."""
        if isinstance(item, EmbeddedSchema):
            message = f"`~` at {self._stream.place(at)} stands before JSON, which is no terminal."
            refuse(RejectionCode.UNSUPPORTED_KEYWORD, message, keyword="~")
        return Complement(item=_unwrapped(item))

    def _repetition(self, item: Item, minimum: int, maximum: int | None, *, at: int) -> Item:
        if maximum == 0 or (maximum is not None and maximum < minimum):
            message = f"The bounds of the repetition at {self._stream.place(at)} allow nothing, or only nothing."
            refuse(RejectionCode.INVALID_GRAMMAR, message)
        inner = _unwrapped(item)
        found = Repetition(item=inner, minimum=minimum, maximum=maximum)
        self._parts.check("max_grammar_repeat_product", repeat_product(found), "The product of repeats")
        return found

    def _braces(self) -> tuple[int, int | None]:
        stream = self._stream
        least = 0 if stream.is_sign(",") else self._bound()
        most: int | None = least
        if stream.take_sign(","):
            most = None if stream.is_sign("}") else self._bound()
        stream.expect_sign("}")
        return least, most

    def _bound(self) -> int:
        found = self._stream.take_number(_MAX_BOUND) if self._stream.peek().kind == "number" else None
        if found is None:
            self._stream.fail("The bound of a repetition is missing")
        return found

    def _string(self) -> Item:
        token = self._stream.next()
        ignore_case = token.text.endswith("i")
        text = self._text(token)
        if self._stream.take_sign(".."):
            if ignore_case:
                self._stream.fail("The ends of a range have no flag")
            return self._range(token, text, self.plain_string())
        return Literal(text=text, ignore_case=ignore_case) if text else EMPTY_TEXT

    def _text(self, token: LarkToken) -> str:
        written = token.text.removesuffix("i")
        # `\xHH` is not JSON's; the engine reads it as `\u00HH`.
        value = parse_json(_HEX_ESCAPE.sub(r"\1\\u00\2", written), max_bytes=2**31, max_nesting=0)
        assert isinstance(value, str)
        check_encodable(value)
        self._check("max_literal_bytes", len(value.encode()), "The size of the string", token)
        return value

    def _range(self, token: LarkToken, low: str, high: str) -> Item:
        if len(low) != 1 or len(high) != 1 or low > high:
            message = f"The range at {self._where(token)} needs two single characters in their order."
            refuse(RejectionCode.INVALID_GRAMMAR, message)
        return Expression(node=Characters(ranges=((ord(low), ord(high)),)))

    def _expression(self, token: LarkToken) -> Item:
        body, _, flags = token.text.rpartition("/")
        unknown = set(flags) - _FLAGS
        if unknown:
            message = f"The flag `{min(unknown)}` of the expression at {self._where(token)} is not supported."
            refuse(RejectionCode.UNSUPPORTED_REGEX, message)
        pattern = body[1:]
        self._check("max_pattern_bytes", len(pattern.encode()), "The size of the expression", token)
        try:
            node, profile = parse_rust_pattern(pattern, dot_all="s" in flags)
        except UnsupportedPatternError as error:
            message = f"The expression at {self._where(token)} is not supported: {error}."
            refuse(RejectionCode.UNSUPPORTED_REGEX, message)
        check_pattern_sizes(profile, self._parts)
        return EMPTY_TEXT if node == EMPTY else Expression(node=node, ignore_case="i" in flags)

    def _reference(self) -> Item:
        stream = self._stream
        token = stream.next()
        if token.text[0] in "!?":
            message = f"{shown(token.text)} at {self._where(token)} is no name; put a blank after `?`."
            refuse(RejectionCode.INVALID_GRAMMAR, message)
        if stream.is_sign("{") and not (stream.peek_second().kind == "number" or stream.peek_second().text == ","):
            self._unsupported(token, "template", "rules with parameters in braces are not supported")
        argument = read_argument(stream) if stream.take_sign("::") else None
        return Reference(name=token.text, position=token.at, argument=argument)

    def _schema(self, token: LarkToken) -> Item:
        return EmbeddedSchema(contract=self._embedded(token))

    def _embedded(self, token: LarkToken) -> CanonicalContract:
        try:
            contract = self._terms.schema(self._json(token))
        except ContractRejectedError as error:
            raise told(error, f"In `%json` at {self._where(token)}") from error
        self._parts.add_in_text(contract, name=f"%json {len(self._parts)}")
        return contract

    def _json(self, token: LarkToken) -> JsonValue:
        limits = self._terms.limits
        return parse_json(
            token.value,
            max_bytes=limits.max_contract_bytes,
            max_nesting=limits.max_nesting,
            bytes_limit_name="max_contract_bytes",
        )

    def _substring(self, token: LarkToken) -> Item:
        try:
            members = self._json(token)
        except ContractRejectedError as error:
            raise told(error, f"In `%regex` at {self._where(token)}") from error
        if not isinstance(members, dict) or len(members) != 1 or not members.keys() <= _SUBSTRINGS:
            message = f"`%regex` at {self._where(token)} has one member: {', '.join(sorted(_SUBSTRINGS))}."
            refuse(RejectionCode.UNSUPPORTED_VALUE, message, keyword="%regex")
        keyword, value = next(iter(members.items()))
        chunks = [*value] if keyword == "substring_chars" and isinstance(value, str) else value
        pieces = [value] if keyword == "substring_words" else chunks
        if not isinstance(pieces, list) or not all(isinstance(piece, str) for piece in pieces):
            message = f"`%regex` at {self._where(token)}: `{keyword}` is a string, or a list of strings for chunks."
            refuse(RejectionCode.INVALID_GRAMMAR, message, keyword="%regex")
        size = sum(len(str(piece).encode()) for piece in pieces)
        self._check("max_literal_bytes", size, "The text of `%regex`", token)
        if keyword == "substring_words":
            return Substring(keyword=keyword, value=value)
        return Substring(keyword="substring_chunks", value=[*pieces])

    def _check(self, limit: str, observed: int, what: str, token: LarkToken) -> None:
        """Hold a size against its limit. Finding a place costs the length of the text: only a refusal pays it."""
        allowed: int = getattr(self._terms.limits, limit)
        self._parts.check(limit, observed, what if observed <= allowed else f"{what} at {self._where(token)}")

    def _where(self, token: LarkToken) -> str:
        return self._stream.place(token.at)

    def _unsupported(self, token: LarkToken, name: str, reason: str) -> NoReturn:
        message = f"{shown(name)} at {self._where(token)} is not supported: {reason}."
        refuse(RejectionCode.UNSUPPORTED_KEYWORD, message, keyword=name[:64])


def _unwrapped(item: Item) -> Item:
    """A group of a single item is that item."""
    match item:
        case Group(alternatives=(Alternative(conjuncts=((inner,),), condition=None),)):
            return inner
        case _:
            return item


def repeat_product(item: Item) -> int:
    """The largest product of bounds of repetitions within each other. Recurses over groups."""
    match item:
        case Repetition():
            bound = item.minimum if item.maximum is None else item.maximum
            return max(bound, 1) * repeat_product(item.item)
        case Complement():
            return repeat_product(item.item)
        case Group():
            inner = (i for a in item.alternatives for c in a.conjuncts for i in c)
            return max(map(repeat_product, inner), default=1)
        case _:
            return 1
