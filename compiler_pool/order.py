"""What the service and its workers say to each other: an order in, a grammar or a refusal out. No engine in sight."""

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from compiler_pool.protocol import (
    CompileCost,
    PolicyWire,
    Rejected,
    ReportEntryWire,
    TextReportWire,
    TokenizerIdentity,
    Wire,
)


class CompileOrder(Wire):
    """Compile one canonical contract for one tokenizer."""

    order: Literal["compile"] = "compile"
    kind: str
    canonical_text: str
    tokenizer_digest: str
    policy: PolicyWire
    limits: Literal["tenant", "governed", "none"]


class IdentityOrder(Wire):
    """Say which tokenizers this worker holds."""

    order: Literal["identity"] = "identity"


class CompiledGrammar(Wire):
    """A grammar that passed its trial. `cost.queue_ms` is the service's to fill in."""

    outcome: Literal["grammar"] = "grammar"
    grammar: str
    report: list[ReportEntryWire]
    text: TextReportWire = TextReportWire()
    cost: CompileCost


class WorkerIdentity(Wire):
    """The answer to `IdentityOrder`."""

    tokenizers: list[TokenizerIdentity]


ORDER: TypeAdapter[CompileOrder | IdentityOrder] = TypeAdapter(
    Annotated[CompileOrder | IdentityOrder, Field(discriminator="order")]
)
COMPILATION: TypeAdapter[CompiledGrammar | Rejected] = TypeAdapter(
    Annotated[CompiledGrammar | Rejected, Field(discriminator="outcome")]
)
