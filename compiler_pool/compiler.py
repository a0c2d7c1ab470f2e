"""The compile of one canonical contract for one tokenizer: lower, compile, try. Runs in a killable child."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from compiler_pool.blame import blame
from compiler_pool.forcing import with_safe_forcing, without_forcing
from compiler_pool.lowering.lower import lower
from compiler_pool.lowering.outcome import Refused
from compiler_pool.tokenizer import BoundTokenizer
from compiler_pool.trial import CompileFailed, Passed, TrialFailed, TrialOutcome, compile_error, try_grammar
from policy.enforcement import EnforcementPolicy, KeywordStatus, ReportEntry
from policy.limits import LimitClass, TrialBudget
from policy.rejection import Rejection, RejectionCode
from registry.canonical import read_canonical
from registry.contract import ContractKind, JsonValue
from registry.errors import ContractRejectedError
from registry.pointers import join


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledContract:
    """A grammar that passed its trial. Times are thread CPU seconds."""

    grammar: str
    report: tuple[ReportEntry, ...]
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
    if kind != ContractKind.JSON_SCHEMA:
        message = f"contracts of kind {kind!r} are not compiled yet"
        return _refused([Rejection(code=RejectionCode.UNSUPPORTED_KIND, message=message)], (), started)
    try:
        schema = read_canonical(canonical_text)
    except ContractRejectedError as error:
        return _refused(error.rejections, (), started)
    return _compile_schema(schema, tokenizer, policy, limits, started)


def _compile_schema(
    schema: JsonValue, tokenizer: BoundTokenizer, policy: EnforcementPolicy, limits: LimitClass, started: float
) -> Compilation:
    lowered = lower(schema, limits=limits.contract, policy=policy)
    lower_seconds = time.thread_time() - started
    if isinstance(lowered, Refused):
        return _refused(lowered.rejections, lowered.report, started)
    grammar, outcome = _tried(lowered.grammar, tokenizer, limits)
    if isinstance(outcome, CompileFailed) and outcome.is_counting:
        # Where schemas meet (`allOf`, references) only the engine sees which members are optional in the end.
        lowered = lower(schema, limits=limits.contract, policy=policy, counts_properties=False)
        if isinstance(lowered, Refused):
            return _refused(lowered.rejections, lowered.report, started)
        grammar, outcome = _tried(lowered.grammar, tokenizer, limits)
    match outcome:
        case Passed():
            return CompiledContract(
                grammar=grammar,
                report=lowered.report,
                lower_seconds=lower_seconds,
                passed=outcome,
                cpu_seconds=time.thread_time() - started,
            )
        case CompileFailed():
            pointer = blame(
                schema if isinstance(schema, dict) else {},
                outcome,
                attempt=lambda grammar: compile_error(grammar, tokenizer, engine=limits.engine),
                limits=limits.contract,
                policy=policy,
            )
            rejection = _engine_refusal(outcome, pointer)
            report = tuple(_marked(entry, rejection) for entry in lowered.report)
            return replace(_refused([rejection], report, started), lower_seconds=lower_seconds)
        case TrialFailed():
            rejection = _trial_refusal(outcome, limits.trial)
            return replace(_refused([rejection], lowered.report, started), lower_seconds=lower_seconds)


def _tried(grammar: str, tokenizer: BoundTokenizer, limits: LimitClass) -> tuple[str, TrialOutcome]:
    """The grammar as it is to be run, and its trial. What fails with forced runs gets a second trial without."""
    safe = with_safe_forcing(grammar, tokenizer)
    outcome = try_grammar(safe, tokenizer, engine=limits.engine, trial=limits.trial)
    if isinstance(outcome, TrialFailed) and outcome.observed_seconds is None:
        safe = without_forcing(grammar)
        outcome = try_grammar(safe, tokenizer, engine=limits.engine, trial=limits.trial)
    return safe, outcome


def _marked(entry: ReportEntry, rejection: Rejection) -> ReportEntry:
    """The entry, as rejected if it is the very keyword that the engine refused."""
    return replace(entry, status=KeywordStatus.REJECTED) if entry.pointer == rejection.pointer else entry


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


def _engine_refusal(failure: CompileFailed, pointer: str) -> Rejection:
    if failure.is_unsatisfiable:
        message = "no value satisfies this schema"
        return Rejection(code=RejectionCode.UNSATISFIABLE, message=message, pointer=pointer)
    if "patternProperty" in failure.engine_words:
        message = "two patterns can match the same property name; make them exclusive"
        code, keyword = RejectionCode.UNSUPPORTED_KEYWORD, "patternProperties"
        return Rejection(code=code, message=message, pointer=join(pointer, keyword), keyword=keyword)
    if failure.is_limit:
        message = "this schema is too large for the grammar engine's limits; simplify it"
    else:
        message = "the grammar engine does not take this schema"
    return Rejection(code=RejectionCode.COMPILE_REFUSED, message=message, pointer=pointer)


def _refused(
    rejections: "tuple[Rejection, ...] | list[Rejection]", report: tuple[ReportEntry, ...], started: float
) -> RefusedContract:
    spent = time.thread_time() - started
    return RefusedContract(rejections=tuple(rejections), report=report, lower_seconds=spent, cpu_seconds=spent)
