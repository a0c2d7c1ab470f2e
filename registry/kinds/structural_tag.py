"""Structural tags as a contract: free text in which marked regions are constrained.

Two wire formats say the same in two ways: `structures` with `triggers`, and a tree under `format`. The first is the
second's `triggered_tags` under an older name, so both become one tree. What stands for a repetition is written as one.
"""

from policy.rejection import RejectionCode
from registry.contract import CanonicalContract, ContractKind, JsonValue
from registry.kinds.faults import check_value, refuse, shown
from registry.kinds.members import Members
from registry.kinds.parts import Parts
from registry.kinds.tag_formats import FormatReader
from registry.kinds.tag_triggers import read_tags
from registry.kinds.terms import Terms

_FORMAT = "/format"


def read_structural_tag(value: JsonValue, terms: Terms) -> CanonicalContract:
    """The contract that a structural tag is, in either wire format. Raises `ContractRejectedError`."""
    members = Members(value, what="A structural tag", pointer="")
    nesting = check_value(value, terms.limits)
    kind = members.text("type")
    if kind != "structural_tag":
        message = f"A structural tag has the type `structural_tag`, not {shown(kind)}."
        refuse(RejectionCode.INVALID_SCHEMA, message, pointer="/type", keyword="type")
    parts = Parts(terms)
    parts.observe("max_nesting", nesting)
    reader = FormatReader(terms, parts)
    if members.has("structures"):
        tree = read_tags(members, reader, canonical=_FORMAT, legacy=True)
    else:
        tree = reader.read(members.value("format"), source=_FORMAT, canonical=_FORMAT)
    members.close()
    canonical: dict[str, JsonValue] = {"format": tree, "type": kind}
    return parts.finish(ContractKind.STRUCTURAL_TAG, canonical, depth=reader.depth)
