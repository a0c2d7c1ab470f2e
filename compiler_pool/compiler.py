"""The compile of one canonical contract for one tokenizer: lower, compile, try. Runs in a killable child."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from compiler_pool.forcing import with_safe_forcing, without_forcing
from compiler_pool.free_json import bounds_for
from compiler_pool.kinds.kind_grammar import kind_grammar
from compiler_pool.lowering.outcome import Refused
from compiler_pool.schema_grammar import schema_grammar
from compiler_pool.tokenizer import BoundTokenizer
from compiler_pool.trial import CompileFailed, Passed, TrialFailed, TrialOutcome, try_grammar
from policy.enforcement import EnforcementPolicy, ReportEntry
from policy.limits import LimitClass, TrialBudget
from policy.rejection import Rejection, RejectionCode
from policy.text_bounds import TextReport
from registry.canonical import read_canonical
from registry.contract import ContractKind, JsonValue
from registry.errors import ContractRejectedError


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledContract:
    """A grammar that passed its trial. Times are thread CPU seconds."""

    grammar: str
    report: tuple[ReportEntry, ...]
    text: TextReport
    lower_seconds: float
    passed: Passed
    cpu_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedContract:
    """At least one rejection, pointers into the canonical form."""

    rejections: tuple[Rejection, ...]
    report: tuple[ReportEntry, ...]
    lower_seconds: float
    cpu_seconds: float


Compilation = CompiledContract | RefusedContract

_TRIAL_MESSAGES: Mapping[str, str] = MappingProxyType(
    {
        "engine_limit": "the grammar compiles, but runs into the engine's limits while generating; simplify it",
        "dead_end": "generation can come to a point from which no valid value can be finished",
        "special_token": "the grammar names a special token that this tokenizer's declaration does not grant",
        "first_mask_too_slow": "the grammar takes too long to begin generating",
        "step_too_slow": "the grammar takes too long at some step of generating",
    }
)


def compile_contract(
    kind: str,
    canonical_text: str,
    *,
    tokenizer: BoundTokenizer,
    policy: EnforcementPolicy,
    limits: LimitClass,
) -> Compilation:
    """Compile one contract. Deterministic but for times, and for trials that fail on time."""
    started = time.thread_time()
    if kind not in {known.value for known in ContractKind}:
        message = f"contracts of kind {kind!r} are not known"
        return _refused([Rejection(code=RejectionCode.UNSUPPORTED_KIND, message=message)], (), started)
    if kind != ContractKind.JSON_SCHEMA:
        return _compile_kind(ContractKind(kind), canonical_text, tokenizer, policy, limits, started=started)
    try:
        schema = read_canonical(canonical_text)
    except ContractRejectedError as error:
        return _refused(error.rejections, (), started)
    return _compile_schema(schema, tokenizer, policy, limits, started)


def _compile_kind(
    kind: ContractKind,
    canonical_text: str,
    tokenizer: BoundTokenizer,
    policy: EnforcementPolicy,
    limits: LimitClass,
    *,
    started: float,
) -> Compilation:
    lowered = kind_grammar(kind, canonical_text, limits=limits, policy=policy)
    lower_seconds = time.thread_time() - started
    if isinstance(lowered, Refused):
        return replace(_refused(lowered.rejections, lowered.report, started), lower_seconds=lower_seconds)
    text = TextReport(bounds=policy.bounds, bounded=lowered.bounded)
    made = _Made(grammar=lowered.grammar, report=lowered.report, text=text, lower_seconds=lower_seconds)
    return _held_to_trial(made, tokenizer, limits, started)


def _compile_schema(
    schema: JsonValue, tokenizer: BoundTokenizer, policy: EnforcementPolicy, limits: LimitClass, started: float
) -> Compilation:
    lowered = schema_grammar(schema, limits=limits, policy=policy)
    lower_seconds = time.thread_time() - started
    if isinstance(lowered, Refused):
        return replace(_refused(lowered.rejections, lowered.report, started), lower_seconds=lower_seconds)
    text = TextReport(bounds=bounds_for(schema, policy.bounds), bounded=lowered.bounded)
    made = _Made(grammar=lowered.grammar.text(), report=lowered.report, text=text, lower_seconds=lower_seconds)
    return _held_to_trial(made, tokenizer, limits, started)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Made:
    """A grammar that has not been tried yet."""

    grammar: str
    report: tuple[ReportEntry, ...]
    text: TextReport
    lower_seconds: float


def _held_to_trial(made: _Made, tokenizer: BoundTokenizer, limits: LimitClass, started: float) -> Compilation:
    grammar, outcome = _tried(made.grammar, tokenizer, limits)
    if isinstance(outcome, Passed):
        return CompiledContract(
            grammar=grammar,
            report=made.report,
            text=made.text,
            lower_seconds=made.lower_seconds,
            passed=outcome,
            cpu_seconds=time.thread_time() - started,
        )
    rejection = _refusal(outcome, limits.trial)
    return replace(_refused([rejection], made.report, started), lower_seconds=made.lower_seconds)


def _tried(grammar: str, tokenizer: BoundTokenizer, limits: LimitClass) -> tuple[str, TrialOutcome]:
    """The grammar as it is to be run, and its trial. What fails with forced runs gets a second trial without."""
    safe = with_safe_forcing(grammar, tokenizer)
    outcome = try_grammar(safe, tokenizer, engine=limits.engine, trial=limits.trial)
    if isinstance(outcome, TrialFailed) and outcome.observed_seconds is None:
        safe = without_forcing(grammar)
        outcome = try_grammar(safe, tokenizer, engine=limits.engine, trial=limits.trial)
    return safe, outcome


def _refusal(failure: CompileFailed | TrialFailed, budget: TrialBudget) -> Rejection:
    return _engine_refusal(failure) if isinstance(failure, CompileFailed) else _trial_refusal(failure, budget)


def _trial_refusal(failure: TrialFailed, budget: TrialBudget) -> Rejection:
    code, message = RejectionCode.TRIAL_FAILED, _TRIAL_MESSAGES[failure.reason]
    if failure.observed_seconds is None:
        return Rejection(code=code, message=message)
    return Rejection(
        code=code,
        message=message,
        limit_name="max_step_seconds",
        limit=budget.max_step_seconds,
        observed=failure.observed_seconds,
    )


def _engine_refusal(failure: CompileFailed) -> Rejection:
    if failure.is_limit:
        message = "this contract is too large for the grammar engine's limits; simplify it"
    else:
        message = "the grammar engine does not take this contract"
    return Rejection(code=RejectionCode.COMPILE_REFUSED, message=message)


def _refused(
    rejections: "tuple[Rejection, ...] | list[Rejection]", report: tuple[ReportEntry, ...], started: float
) -> RefusedContract:
    spent = time.thread_time() - started
    return RefusedContract(rejections=tuple(rejections), report=report, lower_seconds=spent, cpu_seconds=spent)
