"""What lowering a contract can come to, and the ledger in which it is written down keyword by keyword."""

from collections.abc import Iterator
from dataclasses import dataclass

from policy.enforcement import EnforcementPolicy, KeywordStatus, ReportEntry
from policy.rejection import Rejection, RejectionCode
from policy.text_bounds import BoundedPlace
from registry.contract import JsonValue
from registry.keywords import SHAPES, Shape
from registry.pointers import join


@dataclass(frozen=True, slots=True, kw_only=True)
class Lowered:
    """Grammar text that generates only what the contract allows; `report` has every keyword, none rejected."""

    grammar: str
    report: tuple[ReportEntry, ...]
    bounded: tuple[BoundedPlace, ...] = ()
    """Where a policy's bounds narrow what is generated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """At least one rejection; `report` says of the other keywords what would have become of them."""

    rejections: tuple[Rejection, ...]
    report: tuple[ReportEntry, ...]


MAX_REJECTIONS = 16
"""One answer lists so many faults; the report marks them all."""


class Ledger:
    """The status of each keyword, written once."""

    def __init__(self, policy: EnforcementPolicy) -> None:
        self._policy = policy
        self._entries: dict[str, ReportEntry] = {}
        self._rejections: list[Rejection] = []

    @property
    def report(self) -> tuple[ReportEntry, ...]:
        """All entries in the order they were written."""
        return tuple(self._entries.values())

    @property
    def rejections(self) -> tuple[Rejection, ...]:
        """The first `MAX_REJECTIONS` of them."""
        return tuple(self._rejections[:MAX_REJECTIONS])

    def write(self, pointer: str, keyword: str, status: KeywordStatus) -> None:
        """Note what became of the keyword at `pointer`."""
        self._entries[pointer] = ReportEntry(pointer=pointer, keyword=keyword, status=status)

    def write_subtree(self, pointer: str, keyword: str, value: JsonValue, status: KeywordStatus) -> None:
        """Note one fate for a keyword and everything below it."""
        pending: list[tuple[str, str, JsonValue]] = [(pointer, keyword, value)]
        while pending:
            at, name, inner = pending.pop()
            self.write(at, name, status)
            found = [(join(below, key), key, node[key]) for below, node in subschemas(at, name, inner) for key in node]
            pending.extend(reversed(found))  # in the contract's order

    def reject(self, rejection: Rejection, value: JsonValue) -> None:
        """Refuse the contract for the keyword at the rejection's pointer, whatever the policy."""
        self._rejections.append(rejection)
        self.write_subtree(rejection.pointer, rejection.keyword or "", value, KeywordStatus.REJECTED)

    def leave_to_validator(self, rejection: Rejection, value: JsonValue) -> None:
        """Let the validator judge the keyword afterwards if the policy allows that, otherwise refuse the contract."""
        if not self._policy.allow_checked_after:
            self.reject(rejection, value)
            return
        self.write_subtree(rejection.pointer, rejection.keyword or "", value, KeywordStatus.CHECKED_AFTER)

    def unsupported(self, pointer: str, keyword: str, value: JsonValue, message: str) -> None:
        """`leave_to_validator` for what the engine cannot express."""
        code = RejectionCode.UNSUPPORTED_KEYWORD
        self.leave_to_validator(Rejection(code=code, message=message, pointer=pointer, keyword=keyword), value)


def subschemas(pointer: str, keyword: str, value: JsonValue) -> Iterator[tuple[str, dict[str, JsonValue]]]:
    """The object schemas directly inside a keyword's value, with their pointers."""
    match SHAPES.get(keyword):
        case Shape.SCHEMA if isinstance(value, dict):
            yield pointer, value
        case Shape.SCHEMAS if isinstance(value, list):
            for at, item in enumerate(value):
                if isinstance(item, dict):
                    yield join(pointer, at), item
        case Shape.SCHEMAS_BY_NAME if isinstance(value, dict):
            for name, item in value.items():
                if isinstance(item, dict):
                    yield join(pointer, name), item
        case _:
            return
