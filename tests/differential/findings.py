"""What comes of an examination: disagreements, and how much was looked at."""

from collections import Counter
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A disagreement. `kind` is what disagrees, `path` the way in which the grammar was made."""

    kind: str
    path: str
    detail: str


@dataclass(slots=True, kw_only=True)
class Examined:
    """What came of one schema: disagreements, and how much was looked at."""

    findings: list[Finding] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def find(self, kind: str, path: str, detail: str) -> None:
        """Note a disagreement."""
        self.findings.append(Finding(kind=kind, path=path, detail=detail[:600]))
