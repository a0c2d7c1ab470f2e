"""What every API says of an outcome: the extension member, the error that it is, and server-sent events."""

import json
from collections.abc import Mapping
from typing import Any, assert_never

from gateway.completion import CompletionClass, NotAsked
from gateway.decoding import decoding_member
from gateway.errors import OutputError
from gateway.outcome import BoundContract, Outcome, TakenContract
from gateway.problem_rows import REASONS
from gateway.protocol import (
    ChoiceMember,
    CompositionMember,
    ContractMember,
    CostMember,
    EnforcementCounts,
    NodeMember,
    SchemagateMember,
    SignatureMember,
    ThoughtMember,
    ValidationMember,
)
from gateway.record import RequestRecord
from gateway.rules.members import rule_members
from gateway.rules.verdict import Failed, RulesVerdict
from gateway.validation.verdict import Invalid, Unjudged, Valid
from policy.enforcement import KeywordStatus
from registry.contract import ContractKind
from registry.revision import ResolvedRevision, RevisionState
from registry.uses import keyword_uses


def output_error(outcome: Outcome, record: RequestRecord) -> OutputError | None:
    """The error that an outcome is, or None where it is an answer."""
    reason = outcome.classified.reason
    if reason is None:
        return None
    message = REASONS[reason].message or "the answer failed"
    pointer = None
    if isinstance(outcome.verdict, Invalid) and outcome.classified.completion is CompletionClass.INVALID:
        pointer = outcome.verdict.pointer
        message = (
            f"the finished answer does not satisfy the contract: `{outcome.verdict.keyword}` fails at "
            f"{f'`{pointer}`' if pointer else 'the root'}; ask again"
        )
    deciding = outcome.rules.deciding if isinstance(outcome.rules, RulesVerdict) else None
    if deciding is not None and isinstance(deciding.verdict, Failed):
        message = f"the finished answer does not pass the rule `{deciding.name}`: {deciding.verdict.message}"
    return OutputError(
        reason,
        message,
        completion=outcome.classified.completion,
        pointer=pointer,
        rule=None if deciding is None else deciding.name,
        member=member_of(outcome, record).model_dump(by_alias=True),
    )


DONE = b"data: [DONE]\n\n"


def sse_data(value: Mapping[str, Any]) -> bytes:
    """One server-sent event. JSON has no raw line break, so one `data:` line holds it."""
    return b"data: " + json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n\n"


def member_of(outcome: Outcome, record: RequestRecord) -> SchemagateMember:
    """The extension member."""
    bound, cost = outcome.bound, record.cost
    return SchemagateMember(
        completion=str(outcome.classified.completion),
        contract=_downgraded_member(outcome) if bound is None else contract_member(bound, outcome.contract),
        composition=_composition(outcome),
        branch=outcome.branch.value,
        reasoning=_thought(outcome),
        choices=[_choice(each) for each in record.outcomes] if len(record.outcomes) > 1 else [],
        ignored=dict(outcome.ignored),
        downgrade=None if outcome.downgrade is None else outcome.downgrade.value,
        repairs=sum(each.num_repairs for each in record.outcomes or (outcome,)),
        artifact_key=None if bound is None else bound.key,
        tokenizer_digest=outcome.offer.tokenizer_digest,
        cache=None if bound is None else bound.tier.value,
        validation=_validation(outcome),
        node=NodeMember(
            model=outcome.node.model, engine=outcome.node.engine, engine_version=outcome.node.engine_version
        ),
        seed=outcome.seed,
        stop_cause=outcome.end,
        forced_tokens=sum(each.usage.forced_tokens for each in record.outcomes or (outcome,)),
        decoding=decoding_member(outcome),
        compile_cpu_ms=None if bound is None else round(bound.compile_cpu_ms, 3),
        cost=None if cost is None else CostMember(**cost.members()),
        timings=record.clock.milliseconds(),
    )


def _composition(outcome: Outcome) -> CompositionMember | None:
    composed, bound = outcome.composed, outcome.bound
    if composed is None:
        return None
    return CompositionMember(
        digest=None if bound is None else bound.contract.digest,
        num_tools=composed.num_tools,
        may_refuse=composed.may_refuse,
        may_think=composed.may_think,
    )


def _thought(outcome: Outcome) -> ThoughtMember | None:
    thought = outcome.thought
    if thought is None:
        return None
    is_apart = outcome.composed is None or not outcome.composed.may_think
    return ThoughtMember(
        dialect=outcome.offer.reasoning if is_apart else None,
        state=thought.state,
        tokens=thought.tokens,
        budget_tokens=outcome.thought_budget_tokens,
        num_repeated_markers=thought.num_repeated_markers,
    )


def _choice(outcome: Outcome) -> ChoiceMember:
    return ChoiceMember(
        index=outcome.index,
        completion=str(outcome.classified.completion),
        stop_cause=outcome.end,
        seed=outcome.seed,
        validation=_validation(outcome),
    )


def contract_member(bound: BoundContract, own: TakenContract | None = None) -> ContractMember:
    """Identity of a contract and where its name led, with the enforcement summary of all that was compiled with it."""
    return _contract_member(own or bound.taken, enforcement_counts(bound))


def _downgraded_member(outcome: Outcome) -> ContractMember | None:
    """The same of a contract that no grammar enforced: whatever it asks for is the validator's."""
    taken = outcome.contract
    if taken is None:
        return None
    contract = taken.contract
    is_schema = contract.kind is ContractKind.JSON_SCHEMA
    num_checked = sum(1 for _ in keyword_uses(contract.schema)) if is_schema else 1
    counts = EnforcementCounts(enforced=0, checked_after=num_checked, annotation=len(contract.annotations))
    return _contract_member(taken, counts)


def _contract_member(taken: TakenContract, enforcement: EnforcementCounts) -> ContractMember:
    resolved = taken.resolved
    return ContractMember(
        kind=str(taken.contract.kind),
        digest=taken.contract.digest,
        annotation_digest=taken.contract.annotation_digest,
        enforcement=enforcement,
        sent_as=taken.sent_as,
        **({} if resolved is None else _registered(resolved)),
    )


def _registered(resolved: ResolvedRevision) -> dict[str, Any]:
    contract, revision, status = resolved.contract, resolved.revision, resolved.status
    return {
        "owner": contract.tenant,
        "name": contract.name,
        "team": contract.team,
        "contract_class": contract.contract_class.value,
        "visibility": contract.visibility.value,
        "alias": resolved.alias,
        "revision": revision.number,
        "revision_id": revision.revision_id,
        "state": status.state.value,
        "signature": SignatureMember(status=resolved.signature.value, key_id=resolved.signed_by),
        "deprecated": status.reason if status.state is RevisionState.DEPRECATED else None,
    }


def enforcement_counts(bound: BoundContract) -> EnforcementCounts:
    """Keywords by fate; there is no fourth, because a contract with a rejected keyword has no answer."""
    counts = bound.counts
    return EnforcementCounts(
        enforced=counts.get(KeywordStatus.ENFORCED, 0),
        checked_after=counts.get(KeywordStatus.CHECKED_AFTER, 0),
        annotation=counts.get(KeywordStatus.ANNOTATION, 0),
    )


def _validation(outcome: Outcome) -> ValidationMember:
    match outcome.verdict:
        case Valid():
            return ValidationMember(verdict="valid", rules=rule_members(outcome.rules))
        case Invalid(pointer=pointer, keyword=keyword, message=message):
            return ValidationMember(verdict="invalid", pointer=pointer, keyword=keyword, message=message)
        case Unjudged(reason=reason):
            return ValidationMember(verdict="unjudged", message=str(reason))
        case NotAsked():
            return ValidationMember(verdict="not_applicable")
        case verdict:
            assert_never(verdict)
