"""One line of output."""

import json
from dataclasses import asdict, dataclass, field
from enum import StrEnum

from policy.enforcement import ReportEntry
from policy.text_bounds import TextReport


class ConformVerdict(StrEnum):
    """What became of the contract."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    TIMEOUT = "timeout"
    CRASHED = "crashed"


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceAnswer:
    """`generable`: consumed token by token by the matcher, ending where the text is complete. `valid`: the final
    validator's answer, `None` where there is none."""

    generable: bool
    valid: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskTimes:
    """Times of single mask fills in microseconds, over every token of every instance."""

    p50: float = 0.0
    p99: float = 0.0
    max: float = 0.0
    n: int = 0

    @classmethod
    def of(cls, samples: list[float]) -> "MaskTimes":
        """Percentiles by the nearest rank."""
        if not samples:
            return cls()
        ranked = sorted(samples)

        def at(fraction: float) -> float:
            return round(ranked[min(len(ranked) - 1, int(fraction * len(ranked)))], 1)

        return cls(p50=at(0.50), p99=at(0.99), max=round(ranked[-1], 1), n=len(ranked))


@dataclass(frozen=True, slots=True, kw_only=True)
class ConformAnswer:
    """Everything about one line. Pointers are into the caller's own schema."""

    id: str | None
    verdict: ConformVerdict
    code: str | None = None
    pointer: str | None = None
    message: str | None = None
    report: tuple[ReportEntry, ...] = ()
    text: TextReport | None = None
    """How generated text is laid out and bounded; None where there is none to generate."""
    contract_digest: str | None = None
    compile_ms: float = 0.0
    first_mask_ms: float = 0.0
    mask_us: MaskTimes = field(default_factory=MaskTimes)
    instances: tuple[InstanceAnswer, ...] = ()

    def to_json(self) -> str:
        """The line, without its end."""
        members = {} if self.text is None else {"text": self.text.members()}
        return json.dumps({**asdict(self), **members})
