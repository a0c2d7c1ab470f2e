"""A request's address, and answers: from what a worker made or from what a cache kept."""

import base64
from dataclasses import replace

from pydantic import ValidationError

from compiler_pool.artifact import Artifact, ArtifactAddress, TokenizerDigest
from compiler_pool.cache import CachedFrame, CacheEntry
from compiler_pool.engine import ENGINE, ENGINE_VERSION
from compiler_pool.errors import FrameError
from compiler_pool.frame import KeyRing, open_frame
from compiler_pool.lowering.version import LOWERING_VERSION
from compiler_pool.order import CompiledGrammar
from compiler_pool.protocol import CompileCost, Compiled, CompileRequest, Rejected, ReportEntryWire
from compiler_pool.wire_values import policy_of, text_of, text_wire
from policy.enforcement import KeywordStatus, ReportEntry
from policy.limits import LIMIT_CLASSES
from registry.contract import ContractDigest


def address_of(request: CompileRequest) -> ArtifactAddress:
    """Under which address the request's artifact is kept."""
    return ArtifactAddress(
        contract_digest=ContractDigest(request.contract_digest),
        tokenizer_digest=TokenizerDigest(request.tokenizer_digest),
        engine=ENGINE,
        engine_version=ENGINE_VERSION,
        lowering_version=LOWERING_VERSION,
        policy_digest=policy_of(request.policy).digest,
        limits=request.limits,
        tenant_partition=request.tenant_partition,
    )


def artifact_of(compilation: CompiledGrammar, address: ArtifactAddress, cost: CompileCost) -> Artifact:
    """What a worker made, as an artifact."""
    report = tuple(
        ReportEntry(pointer=entry.pointer, keyword=entry.keyword, status=KeywordStatus(entry.status))
        for entry in compilation.report
    )
    return Artifact(
        address=address,
        grammar=compilation.grammar,
        engine_budget=replace(LIMIT_CLASSES[address.limits].engine),
        report=report,
        text=text_of(compilation.text),
        compile_ms=cost.lower_ms + cost.compile_ms + cost.trial_ms,
        cpu_ms=cost.cpu_ms,
    )


def compiled(artifact: Artifact, frame: bytes, cost: CompileCost, *, is_hit: bool) -> Compiled:
    """An artifact as an answer."""
    report = [
        ReportEntryWire(pointer=entry.pointer, keyword=entry.keyword, status=entry.status.value)
        for entry in artifact.report
    ]
    return Compiled(
        artifact_key=artifact.key,
        frame=base64.b64encode(frame).decode(),
        report=report,
        text=text_wire(artifact.text),
        cost=_free(cost) if is_hit else cost,
        cache="hit" if is_hit else "miss",
    )


def kept_answer(entry: CacheEntry, ring: KeyRing) -> Compiled | Rejected | None:
    """What a cache kept, as an answer; None for what cannot be read any more: signed with a key that was retired, or
    written by another version."""
    try:
        if isinstance(entry, CachedFrame):
            cost = CompileCost.model_validate_json(entry.cost)
            return compiled(open_frame(entry.frame, ring), entry.frame, cost, is_hit=True)
        rejected = Rejected.model_validate_json(entry.answer)
    except (FrameError, ValidationError):
        return None
    return free_of_charge(rejected)


def is_deterministic(rejected: Rejected) -> bool:
    """Whether the same contract is refused again, whatever the machine does: no reason is a limit in seconds."""
    return not any((rejection.limit_name or "").endswith("_seconds") for rejection in rejected.rejections)


def free_of_charge(answer: Compiled | Rejected) -> Compiled | Rejected:
    """The answer for who had it made by somebody else: that one pays for all."""
    if isinstance(answer, Compiled):
        return answer.model_copy(update={"cost": _free(answer.cost), "cache": "hit"})
    return answer if answer.cost is None else answer.model_copy(update={"cost": _free(answer.cost)})


def _free(cost: CompileCost) -> CompileCost:
    """A hit costs its caller nothing: neither time in the queue nor CPU."""
    return cost.model_copy(update={"queue_ms": 0.0, "cpu_ms": 0.0})
