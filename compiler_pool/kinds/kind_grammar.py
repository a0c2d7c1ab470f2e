"""One entry for every contract kind but JSON Schema: canonical text in, Lark text and report out, or a refusal."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from compiler_pool.form.languages import Among, Matching
from compiler_pool.form.spending import ExpansionSpending, ExpansionSpentError
from compiler_pool.kinds.embedding import Embedding
from compiler_pool.kinds.gbnf import gbnf_texts
from compiler_pool.kinds.lark import lark_rules
from compiler_pool.kinds.lark_text import write_texts
from compiler_pool.kinds.lexing import CannotBeToldApartError, with_lexemes
from compiler_pool.kinds.members import member_entries
from compiler_pool.kinds.productive import productive
from compiler_pool.kinds.structural_tag import tag_texts
from compiler_pool.kinds.texts import TextGrammar
from compiler_pool.kinds.tool_set import call_texts
from compiler_pool.lark.grammar import LarkGrammar, LarkRules
from compiler_pool.lark.strings import raw_terminal
from compiler_pool.lowering.outcome import MAX_REJECTIONS, Lowered, Refused
from policy.enforcement import EnforcementPolicy, KeywordStatus, ReportEntry
from policy.limits import LimitClass
from policy.rejection import Rejection, RejectionCode
from policy.text_bounds import MAX_BOUNDED
from registry.canonical import read_canonical
from registry.contract import ContractKind, JsonValue
from registry.errors import ContractRejectedError, UnsupportedPatternError
from registry.full_match import full_match_tree
from registry.pattern_program import pattern_program
from registry.pointers import tokens_of

_START: Final = "start"


def kind_grammar(
    kind: ContractKind,
    canonical_text: str,
    *,
    limits: LimitClass,
    policy: EnforcementPolicy,
) -> Lowered | Refused:
    """The grammar of a canonical contract with its enforcement report. Pure, and free of the engine.

    Pointers lead into the canonical value, where it has structure; of a text as a whole they are empty.
    """
    lowering = _Lowering(limits, policy)
    try:
        return lowering.run(kind, canonical_text)
    except ContractRejectedError as error:
        return lowering.refused(*error.rejections)
    except UnsupportedPatternError as error:
        return lowering.refused(Rejection(code=RejectionCode.UNSUPPORTED_REGEX, message=f"The pattern: {error}."))
    except CannotBeToldApartError as error:
        code = RejectionCode.UNSUPPORTED_VALUE
        return lowering.refused(Rejection(code=code, message=error.reason, pointer=error.pointer))
    except ExpansionSpentError as error:
        return lowering.refused(
            Rejection(
                code=RejectionCode.LIMIT_EXCEEDED,
                message=f"written out as a grammar, this contract passes {error.limit_name} {error.limit}; simplify it",
                limit_name=error.limit_name,
                limit=error.limit,
            )
        )
    except RecursionError:
        message = "this contract is nested too deeply to be compiled"
        return lowering.refused(Rejection(code=RejectionCode.COMPILE_REFUSED, message=message))


class _Lowering:
    """Lowers one contract, once."""

    def __init__(self, limits: LimitClass, policy: EnforcementPolicy) -> None:
        self._rules = LarkRules(max_bytes=limits.expansion.max_expression_bytes)
        self._embedding = Embedding(rules=self._rules, limits=limits, policy=policy)
        self._spending = ExpansionSpending(limits.expansion)
        self._entries: tuple[ReportEntry, ...] = ()

    def run(self, kind: ContractKind, text: str) -> Lowered | Refused:
        """Raises as `kind_grammar` catches."""
        self._entries = (ReportEntry(pointer="", keyword=kind.value, status=KeywordStatus.ENFORCED),)
        if kind is ContractKind.LARK:
            return self._lark(text)
        if kind in _TEXTS:
            return self._texts(_TEXTS[kind](self, text))
        return self._lowered(self._terminal(kind, text))

    def refused(self, *rejections: Rejection) -> Refused:
        """Nothing of the contract is enforced."""
        entries = tuple(
            ReportEntry(pointer=each.pointer, keyword=each.keyword, status=KeywordStatus.REJECTED)
            for each in rejections
            if each.keyword is not None
        )
        rejected = {(entry.pointer, entry.keyword) for entry in entries}
        others = (each for each in self._report() if (each.pointer, each.keyword) not in rejected)
        return Refused(rejections=rejections[:MAX_REJECTIONS], report=(*others, *entries))

    def _report(self) -> tuple[ReportEntry, ...]:
        return (*self._entries, *self._embedding.report)

    def _terminal(self, kind: ContractKind, text: str) -> str:
        if kind is ContractKind.CHOICE:
            members = read_canonical(text)
            assert isinstance(members, list)
            return raw_terminal(Among(texts=tuple(map(str, members))), self._rules)
        pattern = f"^(?:{text})$"
        # A text that could be generated and never judged would be a contract under which every answer fails.
        pattern_program(pattern)
        return raw_terminal(Matching(tree=full_match_tree(pattern)), self._rules)

    def gbnf(self, text: str) -> TextGrammar:
        """The texts of a GBNF grammar."""
        return gbnf_texts(text, self._spending)

    def structural_tag(self, text: str) -> TextGrammar:
        """The texts of a structural tag."""
        value = self._structured(text)
        assert isinstance(value, dict)
        return tag_texts(value["format"], self._embedding)

    def tool_set(self, text: str) -> TextGrammar:
        """The texts of calls."""
        return call_texts(self._structured(text), self._embedding)

    def _structured(self, text: str) -> JsonValue:
        value = read_canonical(text)
        self._entries = tuple(member_entries(value))
        return value

    def _texts(self, texts: TextGrammar) -> Lowered | Refused:
        if self._embedding.rejections:
            return self.refused(*sorted(self._embedding.rejections, key=_place))
        kept = productive(texts)
        if kept is None:
            message = "no finite text satisfies this contract"
            return self.refused(Rejection(code=RejectionCode.UNSATISFIABLE, message=message))
        return self._lowered(write_texts(with_lexemes(kept, self._spending), self._rules))

    def _lark(self, text: str) -> Lowered | Refused:
        lines = lark_rules(text, self._embedding, self._spending)
        if self._embedding.rejections:
            return self.refused(*sorted(self._embedding.rejections, key=_place))
        if lines is None:
            message = "no finite text is a parse of `start`"
            return self.refused(Rejection(code=RejectionCode.UNSATISFIABLE, message=message, keyword=_START))
        written = [f"{head} {body}" if head.startswith("%") else f"{head}: {body}" for head, body in lines]
        written += [f"{name}: {body}" for name, body in self._all_rules()]
        return self._finished("\n".join(written) + "\n")

    def _lowered(self, start: str) -> Lowered:
        grammar = LarkGrammar(start=start, rules=self._all_rules())
        return self._finished(grammar.text())

    def _finished(self, grammar: str) -> Lowered:
        return Lowered(grammar=grammar, report=self._report(), bounded=tuple(self._embedding.bounded[:MAX_BOUNDED]))

    def _all_rules(self) -> tuple[tuple[str, str], ...]:
        return (*self._rules.entries(), *self._embedding.written)


def _place(rejection: Rejection) -> list[tuple[int, str]]:
    """In the order of the contract: items of lists by their number."""
    return [(int(token), "") if token.isdecimal() else (0, token) for token in tokens_of(rejection.pointer)]


_TEXTS: Final[Mapping[ContractKind, Callable[[_Lowering, str], TextGrammar]]] = MappingProxyType(
    {
        ContractKind.GBNF: _Lowering.gbnf,
        ContractKind.STRUCTURAL_TAG: _Lowering.structural_tag,
        ContractKind.TOOL_SET: _Lowering.tool_set,
    }
)
