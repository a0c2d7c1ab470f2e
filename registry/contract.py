"""What a contract is once its text has been read: kind, canonical form, identity, profile."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import NewType, TypeAlias

from policy.enforcement import ReportEntry

ContractDigest = NewType("ContractDigest", str)
"""`sha256:<64 hex>` of the canonical form: content identity."""

AnnotationDigest = NewType("AnnotationDigest", str)
"""`sha256:<64 hex>` of the annotations that the canonical form leaves out."""

JsonValue: TypeAlias = "bool | int | Decimal | str | list[JsonValue] | dict[str, JsonValue] | None"
"""Parsed JSON. Numbers are exact: `int` where the value is integral (`2.0` is 2), else `Decimal`. Never `float`."""


class ContractKind(StrEnum):
    """The kinds of contract a caller can send; a closed list."""

    JSON_SCHEMA = "json_schema"
    REGEX = "regex"
    LARK = "lark"
    GBNF = "gbnf"
    CHOICE = "choice"
    STRUCTURAL_TAG = "structural_tag"
    TOOL_SET = "tool_set"


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Sizes of a contract, measured on its canonical form; the numbers that limits speak about."""

    contract_bytes: int
    depth: int
    num_subschemas: int
    num_enum_members: int
    max_pattern_bytes: int
    num_references: int
    is_recursive: bool
    observed: Mapping[str, int | float]
    """By name of limit, the largest value that was held against it; a limit that nothing touched is absent."""
    num_rules: int = 0
    """Rules and terminals of grammars; a schema has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CanonicalContract:
    """A contract that was parsed, resolved, measured and named.

    `text` is the canonical form whose SHA-256 is `digest`. `source_pointers` leads from a pointer into the canonical
    form to the caller's own spelling, for every subschema (longest known prefix wins), because refusals and reports
    must point at what the caller wrote. `annotations` are the keywords that the canonical form leaves out (caller's
    pointers); with the compiler's report on the rest they make the whole enforcement report.
    """

    kind: ContractKind
    text: str
    schema: JsonValue
    digest: ContractDigest
    annotation_digest: AnnotationDigest
    profile: Profile
    source_pointers: Mapping[str, str]
    annotations: tuple[ReportEntry, ...]
    transformations: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()
    """URIs of the approved documents that references led to, the contracts among them as `schemagate:` URIs."""

    def source_pointer(self, canonical_pointer: str) -> str:
        """Translate a pointer into the canonical form to one into the caller's text."""
        head = canonical_pointer
        while head not in self.source_pointers:
            if not head:
                return canonical_pointer
            head = head.rpartition("/")[0]
        return self.source_pointers[head] + canonical_pointer[len(head) :]
