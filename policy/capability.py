"""What an engine can do with each keyword, before any value is looked at; and what a policy makes of that.

The matrix is a promise per keyword of JSON Schema 2020-12: a keyword without a row is refused, and a test fails. Where
the answer depends on values, the lowering has the last word and reports it per use.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from policy.enforcement import EnforcementPolicy, KeywordStatus, ReportEntry
from policy.rejection import Rejection, RejectionCode


class Capability(StrEnum):
    """What an engine, with the lowering in front of it, does with a keyword."""

    ENFORCED = "enforced"
    """Always in the grammar, exactly."""
    DECIDED_BY_LOWERING = "decided_by_lowering"
    """In the grammar for some values, or in some company; the lowering says, use by use."""
    CHECKABLE = "checkable"
    """Never in the grammar; the validator can judge it afterwards."""
    ANNOTATION = "annotation"
    """Asserts nothing."""
    RESOLVED = "resolved"
    """Names and references, which the canonical form has followed before any engine sees it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeywordUse:
    """A keyword at a place."""

    pointer: str
    keyword: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CapabilityMatrix:
    """The rows of one engine at one version."""

    engine: str
    engine_version: str
    rows: Mapping[str, Capability]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Nothing is refused yet. `decided` is final; `undecided` waits for the lowering."""

    decided: tuple[ReportEntry, ...]
    undecided: tuple[KeywordUse, ...]


def negotiate(
    uses: Iterable[KeywordUse], matrix: CapabilityMatrix, policy: EnforcementPolicy
) -> Plan | tuple[Rejection, ...]:
    """The fate of each use under a policy: a plan, or every refusal at once."""
    decided: list[ReportEntry] = []
    undecided: list[KeywordUse] = []
    rejections: list[Rejection] = []
    for use in uses:
        match matrix.rows.get(use.keyword):
            case Capability.ENFORCED | Capability.RESOLVED:
                decided.append(_entry(use, KeywordStatus.ENFORCED))
            case Capability.ANNOTATION:
                decided.append(_entry(use, KeywordStatus.ANNOTATION))
            case Capability.DECIDED_BY_LOWERING:
                undecided.append(use)
            case Capability.CHECKABLE if policy.allow_checked_after:
                decided.append(_entry(use, KeywordStatus.CHECKED_AFTER))
            case Capability.CHECKABLE:
                rejections.append(_refused(use, matrix, "and the policy does not allow to check it afterwards"))
            case None:
                rejections.append(_refused(use, matrix, "and nothing is known of it"))
    return tuple(rejections) or Plan(decided=tuple(decided), undecided=tuple(undecided))


def _entry(use: KeywordUse, status: KeywordStatus) -> ReportEntry:
    return ReportEntry(pointer=use.pointer, keyword=use.keyword, status=status)


def _refused(use: KeywordUse, matrix: CapabilityMatrix, why: str) -> Rejection:
    return Rejection(
        code=RejectionCode.UNSUPPORTED_KEYWORD,
        message=f"{matrix.engine} {matrix.engine_version} cannot enforce `{use.keyword}`, {why}.",
        pointer=use.pointer,
        keyword=use.keyword,
    )


LLGUIDANCE_1_9_1: Final = CapabilityMatrix(
    engine="llguidance",
    engine_version="1.9.1",
    rows=MappingProxyType(
        {
            # In the grammar, exactly, in every company; only a limit on size can still refuse the contract.
            "type": Capability.ENFORCED,
            "minimum": Capability.ENFORCED,
            "maximum": Capability.ENFORCED,
            "exclusiveMinimum": Capability.ENFORCED,
            "exclusiveMaximum": Capability.ENFORCED,
            "minLength": Capability.ENFORCED,
            "maxLength": Capability.ENFORCED,
            "required": Capability.ENFORCED,
            "properties": Capability.ENFORCED,
            "additionalProperties": Capability.ENFORCED,
            "minProperties": Capability.ENFORCED,
            "maxProperties": Capability.ENFORCED,
            "dependentRequired": Capability.ENFORCED,
            "dependentSchemas": Capability.ENFORCED,
            "items": Capability.ENFORCED,
            "prefixItems": Capability.ENFORCED,
            "minItems": Capability.ENFORCED,
            "maxItems": Capability.ENFORCED,
            "allOf": Capability.ENFORCED,
            "anyOf": Capability.ENFORCED,
            "oneOf": Capability.ENFORCED,
            "if": Capability.ENFORCED,
            "then": Capability.ENFORCED,
            "else": Capability.ENFORCED,
            # Exact but for what is named: many or large excluded objects, names in a format that has no grammar.
            "enum": Capability.DECIDED_BY_LOWERING,
            "const": Capability.DECIDED_BY_LOWERING,
            "not": Capability.DECIDED_BY_LOWERING,
            "propertyNames": Capability.DECIDED_BY_LOWERING,
            # Some expressions are not regular, some formats have no grammar, or none for what is not in them.
            "pattern": Capability.DECIDED_BY_LOWERING,
            "patternProperties": Capability.DECIDED_BY_LOWERING,
            "format": Capability.DECIDED_BY_LOWERING,
            # Steps with too many remainders to count along.
            "multipleOf": Capability.DECIDED_BY_LOWERING,
            # Exact where items can have few values in common; counts together are a product.
            "uniqueItems": Capability.DECIDED_BY_LOWERING,
            "contains": Capability.DECIDED_BY_LOWERING,
            "minContains": Capability.DECIDED_BY_LOWERING,
            "maxContains": Capability.DECIDED_BY_LOWERING,
            # Where few subschemas decide what they speak of.
            "unevaluatedItems": Capability.DECIDED_BY_LOWERING,
            "unevaluatedProperties": Capability.DECIDED_BY_LOWERING,
            "title": Capability.ANNOTATION,
            "description": Capability.ANNOTATION,
            "default": Capability.ANNOTATION,
            "examples": Capability.ANNOTATION,
            "deprecated": Capability.ANNOTATION,
            "readOnly": Capability.ANNOTATION,
            "writeOnly": Capability.ANNOTATION,
            "$comment": Capability.ANNOTATION,
            "contentEncoding": Capability.ANNOTATION,
            "contentMediaType": Capability.ANNOTATION,
            "contentSchema": Capability.ANNOTATION,
            "$schema": Capability.RESOLVED,
            "$id": Capability.RESOLVED,
            "$ref": Capability.RESOLVED,
            "$anchor": Capability.RESOLVED,
            "$dynamicRef": Capability.RESOLVED,
            "$dynamicAnchor": Capability.RESOLVED,
            "$vocabulary": Capability.RESOLVED,
            "$defs": Capability.RESOLVED,
            "definitions": Capability.RESOLVED,
        }
    ),
)
"""Measured over the official suite and 11,305 real schemas (`docs/policy.md`)."""
