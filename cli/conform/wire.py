"""What conform and its children say to each other: our own bytes, both ways."""

import json
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any

from cli.conform.answer import ConformAnswer, ConformVerdict, InstanceAnswer, MaskTimes
from policy.enforcement import KeywordStatus, ReportEntry
from policy.text_bounds import BoundedPlace, TextBounds, TextReport


class Phase(Enum):
    """The two jobs of a line."""

    CONTRACT = b"C"
    INSTANCES = b"I"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractAnswer:
    """The first job's answer. `num_instances` sizes the second job's budget."""

    answer: ConformAnswer
    num_instances: int


@dataclass(frozen=True, slots=True, kw_only=True)
class InstancesAnswer:
    """The second job's answer."""

    instances: tuple[InstanceAnswer, ...]
    mask_us: MaskTimes
    first_mask_ms: float


def contract_job(line: bytes) -> bytes:
    """Read the line, compile its contract, keep both."""
    return Phase.CONTRACT.value + line


def instances_job() -> bytes:
    """Try the instances of the line that came before."""
    return Phase.INSTANCES.value


def read_job(payload: bytes) -> tuple[Phase, bytes]:
    """The phase, and the line where there is one."""
    return Phase(payload[:1]), payload[1:]


def write_answer(answer: ContractAnswer | InstancesAnswer) -> bytes:
    """Either answer as JSON."""
    return json.dumps(asdict(answer)).encode()


def read_contract_answer(payload: bytes) -> ContractAnswer:
    """The other half of `write_answer`."""
    members = json.loads(payload)  # noqa: TID251 - our own child wrote it
    fields = members["answer"]
    fields["verdict"] = ConformVerdict(fields["verdict"])
    fields["mask_us"] = MaskTimes(**fields["mask_us"])
    fields["instances"] = tuple(InstanceAnswer(**instance) for instance in fields["instances"])
    fields["report"] = tuple(
        ReportEntry(pointer=entry["pointer"], keyword=entry["keyword"], status=KeywordStatus(entry["status"]))
        for entry in fields["report"]
    )
    if fields["text"] is not None:
        fields["text"] = _text(fields["text"])
    return ContractAnswer(answer=ConformAnswer(**fields), num_instances=members["num_instances"])


def _text(members: dict[str, Any]) -> TextReport:
    return TextReport(
        whitespace=members["whitespace"],
        bounds=TextBounds(**members["bounds"]),
        bounded=tuple(BoundedPlace(**place) for place in members["bounded"]),
    )


def read_instances_answer(payload: bytes) -> InstancesAnswer:
    """The other half of `write_answer`."""
    members = json.loads(payload)  # noqa: TID251 - our own child wrote it
    return InstancesAnswer(
        instances=tuple(InstanceAnswer(**instance) for instance in members["instances"]),
        mask_us=MaskTimes(**members["mask_us"]),
        first_mask_ms=members["first_mask_ms"],
    )
