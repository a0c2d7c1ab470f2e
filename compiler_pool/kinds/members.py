"""What a structured contract demands besides its schemas, member by member, for the enforcement report."""

from collections.abc import Iterator
from typing import Final

from policy.enforcement import KeywordStatus, ReportEntry
from registry.contract import JsonValue
from registry.pointers import join

_LOWERED_ELSEWHERE: Final = frozenset({"json_schema", "parameters"})
"""Schemas report for themselves."""
_IDENTITY_ONLY: Final = frozenset({"strict"})
"""Part of what the contract is called, not of what it allows."""


def member_entries(value: JsonValue) -> Iterator[ReportEntry]:
    """Every member of a canonical structural tag or tool set that constrains the output. Without recursion."""
    pending: list[tuple[str, JsonValue]] = [("", value)]
    while pending:
        pointer, node = pending.pop()
        children: list[tuple[str, JsonValue]] = []
        if isinstance(node, list):
            children = [(join(pointer, index), each) for index, each in enumerate(node) if isinstance(each, dict)]
        elif isinstance(node, dict):
            for name, member in node.items():
                if name in _LOWERED_ELSEWHERE:
                    continue
                status = KeywordStatus.ANNOTATION if name in _IDENTITY_ONLY else KeywordStatus.ENFORCED
                yield ReportEntry(pointer=join(pointer, name), keyword=name, status=status)
                children.append((join(pointer, name), member))
        pending.extend(reversed(children))
