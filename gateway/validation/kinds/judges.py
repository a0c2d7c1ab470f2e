"""The judge of each kind of contract."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Protocol

from gateway.validation.errors import UnjudgeableError, UnjudgeablePatternError
from gateway.validation.judge import DEFAULT_LIMITS, DocumentLimits, Judge
from gateway.validation.kinds.grammar_networks import grammar_networks
from gateway.validation.kinds.json_texts import UnjudgedPartError
from gateway.validation.kinds.networks import Networks
from gateway.validation.kinds.recogniser import recognises
from gateway.validation.kinds.tag_networks import ROOT as TAG_ROOT
from gateway.validation.kinds.tag_networks import tag_networks
from gateway.validation.kinds.tool_calls import tool_call_schema
from gateway.validation.verdict import Invalid, Unjudged, UnjudgedReason, Valid, Verdict
from registry.algebra.budgeting import BudgetSpentError
from registry.canonical import read_canonical
from registry.contract import ContractKind
from registry.errors import ContractRejectedError, UnsupportedPatternError
from registry.kinds.gbnf import ROOT as GBNF_ROOT
from registry.kinds.lark_rules import START
from registry.kinds.rereading import gbnf_definitions, lark_definitions
from registry.pattern_program import pattern_program
from registry.text import canonical_json


class DocumentJudge(Protocol):
    """A prepared contract of any kind."""

    def judge(self, document: bytes) -> Verdict:
        """The verdict on a finished text."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TextJudge:
    """Judges whole texts by one question; what it was asked stands in the verdict as `keyword`."""

    keyword: str
    allows: Callable[[str], bool]
    limits: DocumentLimits

    def judge(self, document: bytes) -> Verdict:
        """The verdict on a text."""
        if len(document) > self.limits.max_document_bytes:
            message = f"the document has more than {self.limits.max_document_bytes} bytes"
            return Unjudged(reason=UnjudgedReason.DOCUMENT_LIMIT, message=message)
        try:
            text = document.decode()
        except UnicodeDecodeError:
            return Invalid(pointer="", keyword="invalid_encoding", message="the text is not UTF-8")
        try:
            is_allowed = self.allows(text)
        except UnjudgedPartError as error:
            return error.verdict
        except (UnjudgeableError, BudgetSpentError) as error:
            return Unjudged(reason=UnjudgedReason.CONTRACT, message=str(error))
        except RecursionError:
            return Unjudged(reason=UnjudgedReason.DEPTH, message="document and contract recurse too deep together")
        if is_allowed:
            return Valid()
        return Invalid(pointer="", keyword=self.keyword, message=f"the {self.keyword} does not allow this text")


def prepare_judge(
    kind: ContractKind, canonical_text: str, *, limits: DocumentLimits = DEFAULT_LIMITS
) -> "DocumentJudge | Unjudged":
    """The judge of a canonical contract, or why there is none."""
    if kind is ContractKind.JSON_SCHEMA:
        return Judge.prepare(canonical_text, limits=limits)
    try:
        if kind is ContractKind.TOOL_SET:
            return Judge.prepare(canonical_json(tool_call_schema(canonical_text)), limits=limits)
        return TextJudge(keyword=kind.value, allows=_QUESTIONS[kind](canonical_text), limits=limits)
    except ContractRejectedError as error:
        return Unjudged(reason=UnjudgedReason.CONTRACT, message=error.rejections[0].message)
    except (UnsupportedPatternError, UnjudgeablePatternError) as error:
        return Unjudged(reason=UnjudgedReason.PATTERN, message=str(error))
    except (UnjudgeableError, BudgetSpentError) as error:
        return Unjudged(reason=UnjudgedReason.CONTRACT, message=str(error))


def _regex(canonical_text: str) -> Callable[[str], bool]:
    program = pattern_program(f"^(?:{canonical_text})$")
    return lambda text: program.search(text) is not None


def _choice(canonical_text: str) -> Callable[[str], bool]:
    members = read_canonical(canonical_text)
    return frozenset(members if isinstance(members, list) else ()).__contains__


def _lark(canonical_text: str) -> Callable[[str], bool]:
    found = lark_definitions(canonical_text)
    ignored = tuple(alternatives for _, alternatives in found.ignores)
    return _recognising(grammar_networks(found.definitions, ignored), START)


def _gbnf(canonical_text: str) -> Callable[[str], bool]:
    return _recognising(grammar_networks(gbnf_definitions(canonical_text)), GBNF_ROOT)


def _structural_tag(canonical_text: str) -> Callable[[str], bool]:
    value = read_canonical(canonical_text)
    tree = value.get("format") if isinstance(value, dict) else None
    return _recognising(tag_networks(tree), TAG_ROOT)


def _recognising(networks: Networks, root: str) -> Callable[[str], bool]:
    return lambda text: recognises(networks, root, text)


_QUESTIONS: Final[Mapping[ContractKind, Callable[[str], Callable[[str], bool]]]] = MappingProxyType(
    {
        ContractKind.REGEX: _regex,
        ContractKind.CHOICE: _choice,
        ContractKind.LARK: _lark,
        ContractKind.GBNF: _gbnf,
        ContractKind.STRUCTURAL_TAG: _structural_tag,
    }
)
