"""A choice as a contract: the whole output is one of the texts that are listed.

It is a set: order and repetition do not matter. The empty text may be a member (the output may then end at once);
an empty list is refused, because nothing would be allowed.
"""

from policy.rejection import RejectionCode
from registry.contract import CanonicalContract, ContractKind, JsonValue
from registry.kinds.faults import check_encodable, check_value, refuse
from registry.kinds.parts import Parts
from registry.kinds.terms import Terms
from registry.pointers import join
from registry.text import canonical_json, member_order


def read_choice(value: JsonValue, terms: Terms) -> CanonicalContract:
    """The contract that a list of texts is. Raises `ContractRejectedError`."""
    if not isinstance(value, list):
        refuse(RejectionCode.INVALID_SCHEMA, "A choice is a list of strings.")
    parts = Parts(terms)
    parts.check("max_enum_scalars", len(value), "The number of choices")
    members: dict[str, int] = {}
    for index, member in enumerate(value):
        pointer = join("", index)
        if not isinstance(member, str):
            refuse(RejectionCode.INVALID_SCHEMA, "Every choice is a string.", pointer=pointer)
        check_encodable(member, pointer=pointer)
        parts.check("max_literal_bytes", len(member.encode()), "The length of the choice", pointer=pointer)
        members.setdefault(member, index)
    if not members:
        refuse(RejectionCode.UNSATISFIABLE, "The list of choices is empty: nothing would be allowed.")
    parts.observe("max_nesting", check_value(value, terms.limits))
    ordered: list[JsonValue] = [*sorted(members, key=member_order)]
    parts.check("max_enum_bytes", len(canonical_json(ordered).encode()), "The size of the choices")
    parts.check("max_shortest_instance_bytes", min(len(member.encode()) for member in members), "The shortest choice")
    if len(members) < len(value):
        parts.transform("choices that were listed twice are listed once")
    for number, member in enumerate(ordered):
        parts.place(canonical=join("", number), source=join("", members[str(member)]))
    return parts.finish(ContractKind.CHOICE, ordered, depth=1, num_enum_members=len(members))
