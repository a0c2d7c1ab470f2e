"""What answers and calls come to where a tool takes its input under a Lark grammar: one Lark text.

Such an input runs to the end of the text, because nothing else ends a Lark grammar in general: so its call is the last
one, and has no end marker. Everything else is spelled as in the structural tags of `gateway.composition.formats`, in a
dialect whose calls can end so.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from gateway.composition.formats import MAX_REFUSAL_CHARACTERS
from gateway.composition.markup import REFUSAL_BEGIN, REFUSAL_END, THOUGHT_BEGIN, THOUGHT_END
from gateway.composition.shape import Shape, Thought, Words
from registry.contract import CanonicalContract, ContractKind
from registry.full_match import full_match_tree
from registry.kinds.lark_rules import START
from registry.kinds.lark_text import LarkWriter, write_literal
from registry.kinds.rereading import lark_definitions
from registry.kinds.rust_patterns import write_rust_pattern

_BLANK_LINE: Final = "\n\n"


def can_be_embedded(contract: CanonicalContract) -> bool:
    """Whether a Lark grammar can stand within another: what it ignores would be ignored there everywhere."""
    return not lark_definitions(contract.text).ignores


def can_answer(contract: CanonicalContract) -> bool:
    """Whether a contract of this kind can be written beside calls."""
    return contract.kind in {ContractKind.JSON_SCHEMA, ContractKind.REGEX, ContractKind.CHOICE}


def composed_lark(
    answer: CanonicalContract | None, tools: Mapping[str, CanonicalContract | None], shape: Shape, *, is_parallel: bool
) -> str:
    """The text of the grammar. `tools` are those that can be called, with what their calls satisfy."""
    return _Writing(shape, is_parallel=is_parallel).run(answer, tools)


class _Writing:
    def __init__(self, shape: Shape, *, is_parallel: bool) -> None:
        self._shape = shape
        self._dialect = shape.dialect
        self._is_parallel = is_parallel
        self._lines: list[str] = []

    def run(self, answer: CanonicalContract | None, tools: Mapping[str, CanonicalContract | None]) -> str:
        marked, last = self._calls(tools)
        alternatives: list[str] = []
        if answer is not None:
            alternatives.append(self._contract(answer, "answer"))
        if self._shape.words is Words.FREE:
            alternatives += self._after_words(marked, last)
        else:
            begin = write_literal(self._dialect.begin)
            if marked:
                self._lines.append(f"call: {begin} ({' | '.join(marked)})")
            alternatives += self._in_a_row(f"{begin} ({' | '.join(last)})", has_marked=bool(marked))
        if self._shape.may_refuse:
            self._lines.append(f"REFUSAL: /[^<]{{1,{MAX_REFUSAL_CHARACTERS}}}/")
            alternatives.append(f"{write_literal(REFUSAL_BEGIN)} REFUSAL {write_literal(REFUSAL_END)}")
        self._lines.append(f"body: {' | '.join(alternatives)}")
        return f"{START}: {self._before_body()}\n" + "\n".join(self._lines) + "\n"

    def _before_body(self) -> str:
        if self._shape.thought is Thought.NEVER:
            return "body"
        self._lines.append(f"thought[lazy]: /(?s:.*){_expression(THOUGHT_END)}/")
        thought = f"{write_literal(THOUGHT_BEGIN)} thought"
        if self._shape.words in {Words.JSON, Words.NONE}:
            thought += f" {write_literal(_BLANK_LINE)}?"
        return f"{thought} body" if self._shape.thought is Thought.ALWAYS else f"({thought})? body"

    def _after_words(self, marked: Sequence[str], last: Sequence[str]) -> list[str]:
        """Words alone, or words up to the first call's marker; the marker is the end of their lexeme."""
        marker = _expression(self._dialect.begin)
        self._lines.append(f"WORDS: /(?s:.*)/ & ~/(?s:.*){marker}(?s:.*)/")
        self._lines.append(f"words[lazy]: /(?s:.*){marker}/")
        begin = write_literal(self._dialect.begin)
        found = ["WORDS", *(f"words {each}" for each in last)]
        if marked:
            first = f"words ({' | '.join(marked)})"
            if self._is_parallel:
                separator = f"{write_literal(self._dialect.separator)}?"
                again = f"({begin} ({' | '.join(marked)}) {separator})*"
                found.append(f"{first} {separator} {again} ({begin} ({' | '.join(last)}))?")
            else:
                found.append(first)
        return found

    def _in_a_row(self, last: str, *, has_marked: bool) -> list[str]:
        if not has_marked:
            return [last]
        if not self._is_parallel:
            return ["call", last]
        return [f"(call {write_literal(self._dialect.separator)}?)+ ({last})?", last]

    def _calls(self, tools: Mapping[str, CanonicalContract | None]) -> tuple[list[str], list[str]]:
        """Rules of calls without the marker before them: those that have an end marker, and those that have none."""
        marked: list[str] = []
        last: list[str] = []
        for number, (name, contract) in enumerate(tools.items()):
            is_custom = self._shape.customs[name]
            head = self._dialect.head(name, is_custom=is_custom)
            rule = f"c{number}"
            if name in self._shape.open_ended:
                assert contract is not None
                self._lines.append(f"{rule}: {write_literal(head)} {self._embedded(contract, number)}")
                last.append(rule)
                continue
            self._lines.append(f"{rule}: {write_literal(head)} {self._input(contract, number, is_custom=is_custom)}")
            marked.append(rule)
        return marked, last

    def _input(self, contract: CanonicalContract | None, number: int, *, is_custom: bool) -> str:
        """What a call holds, with its end marker."""
        if not is_custom:
            assert contract is not None
            return f"%json {contract.text} {write_literal(self._dialect.tail(is_custom=False))}"
        end = _expression(self._dialect.tail(is_custom=True))
        if contract is None:
            self._lines.append(f"text{number}[lazy]: /(?s:.*){end}/")
            return f"text{number}"
        self._lines.append(f"X{number}: /(?:{_of_regex(contract)}){end}/")
        return f"X{number}"

    def _contract(self, contract: CanonicalContract, name: str) -> str:
        match contract.kind:
            case ContractKind.JSON_SCHEMA:
                self._lines.append(f"{name}: %json {contract.text}")
            case ContractKind.REGEX:
                self._lines.append(f"{name}: /{_of_regex(contract)}/")
            case _:
                assert isinstance(contract.schema, list)
                self._lines.append(f"{name}: " + " | ".join(write_literal(str(each)) for each in contract.schema))
        return name

    def _embedded(self, contract: CanonicalContract, number: int) -> str:
        """The definitions of a grammar under names of their own; its first rule's name."""
        found = lark_definitions(contract.text).definitions
        names = {
            name: f"K{number}_{name}" if definition.is_terminal else f"k{number}_{name}"
            for name, definition in found.items()
        }
        writer = LarkWriter(names)
        self._lines += [writer.definition(definition) for definition in found.values()]
        return names[START]


def _of_regex(contract: CanonicalContract) -> str:
    return write_rust_pattern(full_match_tree(f"^(?:{contract.text})$"))


def _expression(text: str) -> str:
    """Fixed text within a regular expression between slashes."""
    return "".join({"\n": "\\n", "/": "\\/"}.get(character, character) for character in text)
