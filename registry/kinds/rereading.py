"""Canonical texts of grammars read again, by who compiles or judges under them.

A canonical text can be longer than what its author sent and was measured by, so sizes are not asked about again; what
bounds recursion stays bounded. Whoever reads here stands in a process that may be killed.
"""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Final

from policy.enforcement import EnforcementPolicy, Unknown
from policy.limits import UNLIMITED, ContractLimits
from registry.canonical import MAX_CANONICAL_NESTING
from registry.kinds.gbnf_parser import GbnfParser
from registry.kinds.grammar import Definition
from registry.kinds.lark_parser import LarkParser, LarkText
from registry.kinds.parts import Parts
from registry.kinds.terms import Terms

_NO_BOUND: Final = 2**40
_RECURSED_OVER: Final = ("max_path", "max_pattern_depth", "max_grammar_depth")

_LIMITS: Final = replace(
    ContractLimits(**{field.name: _NO_BOUND for field in fields(ContractLimits)}),
    max_nesting=MAX_CANONICAL_NESTING,
    **{name: getattr(UNLIMITED.contract, name) for name in _RECURSED_OVER},
)
_TERMS: Final = Terms(
    limits=_LIMITS,
    policy=EnforcementPolicy(unknown_keyword=Unknown.ANNOTATION, unknown_format=Unknown.ANNOTATION),
)


def gbnf_definitions(canonical_text: str) -> Mapping[str, Definition]:
    """The rules of a canonical GBNF grammar. Raises `ContractRejectedError` if it is none."""
    return GbnfParser(canonical_text, Parts(_TERMS)).parse()


def lark_definitions(canonical_text: str) -> LarkText:
    """The definitions of a canonical Lark grammar. Raises `ContractRejectedError` if it is none."""
    return LarkParser(canonical_text, _TERMS, Parts(_TERMS)).parse()
