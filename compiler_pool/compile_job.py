"""The worker's side of a compile: tokenizers loaded once, then one order a job. Entry of the pool's workers."""

from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path

from compiler_pool.compiler import Compilation, CompiledContract, RefusedContract, compile_contract
from compiler_pool.job import JsonLike
from compiler_pool.order import ORDER, CompiledGrammar, CompileOrder, IdentityOrder, WorkerIdentity
from compiler_pool.protocol import CompileCost, Rejected, RejectionWire, ReportEntryWire, TokenizerIdentity
from compiler_pool.tokenizer import load_tokenizer
from compiler_pool.wire_values import policy_of, text_wire
from policy.enforcement import ReportEntry
from policy.limits import LIMIT_CLASSES


def factory(config: dict[str, JsonLike]) -> Callable[[bytes], bytes]:
    """Load the tokenizers named in `config["tokenizers"]`; an order it cannot read is a bug and ends the worker."""
    paths = config["tokenizers"]
    assert isinstance(paths, list)
    tokenizers = {str(held.digest): held for held in (load_tokenizer(Path(str(path))) for path in paths)}

    def job(payload: bytes) -> bytes:
        match ORDER.validate_json(payload):
            case IdentityOrder():
                identities = [
                    TokenizerIdentity(digest=held.digest, name=held.name, vocabulary_size=held.vocabulary_size)
                    for held in tokenizers.values()
                ]
                return WorkerIdentity(tokenizers=identities).model_dump_json().encode()
            case CompileOrder() as order:
                compilation = compile_contract(
                    order.kind,
                    order.canonical_text,
                    tokenizer=tokenizers[order.tokenizer_digest],
                    policy=policy_of(order.policy),
                    limits=LIMIT_CLASSES[order.limits],
                )
                return spelled(compilation).model_dump_json().encode()

    return job


def spelled(compilation: Compilation) -> CompiledGrammar | Rejected:
    """A compilation on the wire."""
    match compilation:
        case CompiledContract():
            return CompiledGrammar(
                grammar=compilation.grammar,
                report=_report(compilation.report),
                text=text_wire(compilation.text),
                cost=_cost(compilation),
            )
        case RefusedContract():
            return Rejected(
                rejections=[RejectionWire(**asdict(rejection)) for rejection in compilation.rejections],
                report=_report(compilation.report),
                cost=_cost(compilation),
            )


def _report(entries: Iterable[ReportEntry]) -> list[ReportEntryWire]:
    return [
        ReportEntryWire(pointer=entry.pointer, keyword=entry.keyword, status=entry.status.value) for entry in entries
    ]


def _cost(compilation: Compilation) -> CompileCost:
    passed = compilation.passed if isinstance(compilation, CompiledContract) else None
    return CompileCost(
        queue_ms=0.0,
        lower_ms=compilation.lower_seconds * 1e3,
        compile_ms=passed.compile_seconds * 1e3 if passed else 0.0,
        trial_ms=passed.trial_seconds * 1e3 if passed else 0.0,
        cpu_ms=compilation.cpu_seconds * 1e3,
        first_mask_ms=passed.first_mask_seconds * 1e3 if passed else 0.0,
        worst_mask_us=passed.worst_mask_seconds * 1e6 if passed else 0.0,
        num_trial_steps=len(passed.mask_seconds) if passed else 0,
    )
