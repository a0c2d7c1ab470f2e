"""What happens to each keyword of a contract, and what a caller's policy allows to happen."""

from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from hashlib import sha256

from policy.text_bounds import UNBOUNDED, TextBounds


class KeywordStatus(StrEnum):
    """The four fates of a keyword; there is no fifth, so nothing can be dropped in silence."""

    ENFORCED = "enforced"
    CHECKED_AFTER = "checked_after"
    ANNOTATION = "annotation"
    REJECTED = "rejected"


class Unknown(StrEnum):
    """What an unknown keyword or format means: the specification's answer, or ours for callers' inline contracts."""

    ANNOTATION = "annotation"
    REJECT = "reject"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportEntry:
    """One line of the enforcement report: the keyword at `pointer` (RFC 6901, of the keyword itself)."""

    pointer: str
    keyword: str
    status: KeywordStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class EnforcementPolicy:
    """How much a contract may lean on the validator, and how far text may run on. The default is the strictest."""

    allow_checked_after: bool = False
    unknown_keyword: Unknown = Unknown.REJECT
    unknown_format: Unknown = Unknown.REJECT
    bounds: TextBounds = UNBOUNDED
    """An operator's, not a revision's: they change with no contract, and go with every one."""

    @property
    def digest(self) -> str:
        """Part of an artifact's address: the same contract under another policy is another artifact."""
        return _digest(self)


@lru_cache(maxsize=1024)
def _digest(policy: EnforcementPolicy) -> str:
    text = f"{int(policy.allow_checked_after)};{policy.unknown_keyword};{policy.unknown_format}"
    if policy.bounds != UNBOUNDED:
        # Without bounds the digest is the one that signatures of revisions were made over.
        text += f";{policy.bounds.spelling}"
    return sha256(text.encode()).hexdigest()
