"""A structural tag lowered: free text, marks that end it, and what must stand behind them.

A format is lowered together with what follows it, because where free text ends is a matter of what follows: it ends
at the first of the fixed texts with which that begins, or at the end of the output.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from compiler_pool.kinds.embedding import Embedding
from compiler_pool.kinds.lexing import CannotBeToldApartError
from compiler_pool.kinds.texts import (
    NOTHING,
    InOrder,
    Passage,
    Piece,
    Repeated,
    TextGrammar,
    TextNode,
    Use,
    fixed,
    in_order,
    one_of,
)
from registry.contract import JsonValue
from registry.full_match import full_match_tree
from registry.pointers import join

_ROOT: Final = "root"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A fixed text that something begins with, and the rest of it."""

    text: str
    rest: TextNode


@dataclass(frozen=True, slots=True, kw_only=True)
class Tail:
    """What is still to come. `marks` are how it can begin, `None` where that is not by fixed texts alone."""

    node: TextNode
    marks: tuple[Mark, ...] | None
    may_end: bool
    """It may be empty, and the output end."""


_END: Final = Tail(node=NOTHING, marks=(), may_end=True)
_UNKNOWN: Final = Tail(node=NOTHING, marks=None, may_end=False)


def tag_texts(tree: JsonValue, embedding: Embedding) -> TextGrammar:
    """The texts of a canonical `format` tree. Raises `CannotBeToldApartError`."""
    lowering = _Lowering(embedding)
    whole = lowering.format(tree, "/format", _END)
    return TextGrammar(rules={**lowering.rules, _ROOT: whole.node}, root=_ROOT)


class _Lowering:
    def __init__(self, embedding: Embedding) -> None:
        self.rules: dict[str, TextNode] = {}
        self._embedding = embedding
        self._num_names = 0

    def format(self, value: JsonValue, pointer: str, tail: Tail) -> Tail:
        """The format, and then the tail."""
        members = value
        assert isinstance(members, dict)
        match members["type"]:
            case "const_string":
                return self._fixed(_text(members["value"]), tail)
            case "regex":
                piece = Piece(tree=full_match_tree(f"^(?:{members['pattern']})$"))
                return Tail(node=in_order(piece, tail.node), marks=None, may_end=False)
            case "json_schema":
                embedded = self._embedding.schema(members["json_schema"], join(pointer, "json_schema"))
                return Tail(node=in_order(embedded, tail.node), marks=None, may_end=False)
            case "any_text":
                return self._any_text(members, pointer, self._shared(tail))
            case "sequence":
                for index, element in reversed([*enumerate(_list(members["elements"]))]):
                    tail = self.format(element, join(pointer, "elements", index), tail)
                return tail
            case "or":
                shared = self._shared(tail)
                elements = enumerate(_list(members["elements"]))
                return _either(self.format(each, join(pointer, "elements", index), shared) for index, each in elements)
            case "repeat":
                return self._repeat(members, pointer, self._shared(tail))
            case "tag":
                return self._tag(members, pointer, tail)
            case "triggered_tags":
                return self._triggered(members, pointer, self._shared(tail))
            case kind:
                raise AssertionError(kind)

    def _fixed(self, text: str, tail: Tail) -> Tail:
        if not text:
            return tail
        return Tail(node=in_order(fixed(text), tail.node), marks=(Mark(text=text, rest=tail.node),), may_end=False)

    def _tag(self, tag: dict[str, JsonValue], pointer: str, tail: Tail) -> Tail:
        return self._fixed(_text(tag["begin"]), self._inside(tag, pointer, tail))

    def _inside(self, tag: dict[str, JsonValue], pointer: str, tail: Tail) -> Tail:
        """What comes after the tag's begin, its end included."""
        ends = tag["end"]
        shared = self._shared(tail)
        closed = _either(self._fixed(_text(end), shared) for end in (ends if isinstance(ends, list) else [ends]))
        return self.format(tag["content"], join(pointer, "content"), closed)

    def _repeat(self, repeat: dict[str, JsonValue], pointer: str, tail: Tail) -> Tail:
        least, most = _count(repeat["min"]), _count(repeat["max"])
        if most == 0:
            return tail
        maximum = None if most < 0 else most
        once = self.format(repeat["content"], join(pointer, "content"), _UNKNOWN)
        again = Repeated(part=once.node, minimum=max(least - 1, 0), maximum=None if maximum is None else maximum - 1)
        more = tail.node if maximum == 1 else in_order(again, tail.node)
        first = Tail(
            node=in_order(once.node, more),
            marks=None
            if once.marks is None
            else tuple(Mark(text=m.text, rest=in_order(m.rest, more)) for m in once.marks),
            may_end=False,
        )
        return first if least > 0 else _either((first, tail))

    def _any_text(self, members: dict[str, JsonValue], pointer: str, tail: Tail) -> Tail:
        most = members.get("max_chars")
        excluded = _texts(members.get("excludes"))
        nodes = self._passages((), excluded, None if most is None else _count(most), pointer, tail)
        return Tail(node=one_of(*nodes), marks=None, may_end=tail.may_end)

    def _triggered(self, members: dict[str, JsonValue], pointer: str, tail: Tail) -> Tail:
        triggers = _texts(members["triggers"])
        is_last = members.get("stop_after_first") is True
        at_once = members.get("at_least_one") is True
        name = self._name()
        after = tail if is_last else Tail(node=Use(rule=name), marks=None, may_end=tail.may_end)
        tags: list[tuple[str, TextNode]] = []
        for index, tag in enumerate(_list(members["tags"])):
            assert isinstance(tag, dict)
            inside = self._inside(tag, join(pointer, "tags", index), after)
            tags.append((_text(tag["begin"]), self._shared(inside).node))
        if not (at_once and is_last):
            marks = tuple(
                Mark(
                    text=trigger,
                    rest=one_of(
                        *(
                            in_order(fixed(begin[len(trigger) :]), rest)
                            for begin, rest in tags
                            if begin.startswith(trigger)
                        )
                    ),
                )
                for trigger in triggers
            )
            excluded = _texts(members.get("excludes"))
            self.rules[name] = one_of(*self._passages(marks, excluded, None, pointer, tail))
        if at_once:
            marks = tuple(Mark(text=begin, rest=rest) for begin, rest in tags)
            nodes = (in_order(fixed(begin), rest) for begin, rest in tags)
            return Tail(node=one_of(*nodes), marks=marks, may_end=False)
        return Tail(node=Use(rule=name), marks=None, may_end=tail.may_end)

    def _passages(
        self, marks: tuple[Mark, ...], excluded: tuple[str, ...], most: int | None, pointer: str, tail: Tail
    ) -> list[TextNode]:
        """Free text up to each mark, of its own or of the tail, with what stands behind it."""
        if tail.marks is None:
            reason = "free text is followed by something that does not begin with a fixed text, so nothing would end it"
            raise CannotBeToldApartError(reason, pointer)
        by_text: dict[str, list[TextNode]] = {}
        for mark in (*marks, *tail.marks):
            by_text.setdefault(mark.text, []).append(mark.rest)
        texts = tuple(by_text)
        for text in texts:
            outer = next((other for other in texts if other != text and text in other), None)
            if outer is not None:
                reason = (
                    f"free text would end at {text[:64]!r}, which stands within {outer[:64]!r}, where it would end too"
                )
                raise CannotBeToldApartError(reason, pointer)
        found: list[TextNode] = [
            in_order(
                Passage(marks=texts, end=text, excluded=excluded, max_characters=most, pointer=pointer), one_of(*rest)
            )
            for text, rest in by_text.items()
        ]
        if tail.may_end:
            found.append(Passage(marks=texts, end=None, excluded=excluded, max_characters=most, pointer=pointer))
        return found

    def _shared(self, tail: Tail) -> Tail:
        """The tail under a name: it is used in more than one place."""
        match tail.node:
            case Use() | Piece() | InOrder(parts=()):
                return tail
            case node:
                name = self._name()
                self.rules[name] = node
                return Tail(node=Use(rule=name), marks=tail.marks, may_end=tail.may_end)

    def _name(self) -> str:
        self._num_names += 1
        return f"t{self._num_names}"


def _either(tails: Iterable[Tail]) -> Tail:
    kept = list(tails)
    marks = [tail.marks for tail in kept]
    known = [each for each in marks if each is not None]
    return Tail(
        node=one_of(*(tail.node for tail in kept)),
        marks=tuple(mark for each in known for mark in each) if len(known) == len(marks) else None,
        may_end=any(tail.may_end for tail in kept),
    )


def _text(value: JsonValue) -> str:
    assert isinstance(value, str)
    return value


def _texts(value: JsonValue) -> tuple[str, ...]:
    return tuple(map(_text, value)) if isinstance(value, list) else ()


def _list(value: JsonValue) -> list[JsonValue]:
    assert isinstance(value, list)
    return value


def _count(value: JsonValue) -> int:
    assert isinstance(value, int)
    return value
