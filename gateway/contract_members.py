"""From the registry's values to the contract API's shapes. Pure: whoever calls has asked what may be seen."""

from gateway.contract_answers import (
    AliasMember,
    ChangeMember,
    ComparisonMember,
    CompatibilityMember,
    ContractAnswer,
    DependencyMember,
    DiffAnswer,
    ExampleMember,
    PromotionMember,
    RevisionMember,
    SigningKeyMember,
    VerdictMember,
)
from gateway.protocol import PolicyMember, SignatureMember
from policy.enforcement import EnforcementPolicy
from registry.compatibility.changes import Change, Example
from registry.compatibility.comparison import Comparison
from registry.compatibility.modes import Compatible
from registry.compatibility.verdicts import Answer, Safe, Unknown, Unsafe
from registry.registration import RegistrationOutcome
from registry.revision import (
    Alias,
    Contract,
    Promotion,
    ResolvedRevision,
    Revision,
    RevisionStatus,
    SigningKey,
)
from registry.text import value_text


def contract_answer(contract: Contract) -> ContractAnswer:
    """A name."""
    return ContractAnswer(
        owner=contract.tenant,
        name=contract.name,
        kind=contract.kind.value,
        team=contract.team,
        visibility=contract.visibility.value,
        contract_class=contract.contract_class.value,
        compatibility=None if contract.compatibility is None else contract.compatibility.value,
        description=contract.description,
        created_at=contract.created_at,
        created_by=contract.created_by,
        version=contract.version,
        latest=contract.latest,
        retired_at=contract.tombstoned_at,
    )


def policy_member(policy: EnforcementPolicy) -> PolicyMember:
    """An enforcement policy."""
    return PolicyMember(
        allow_checked_after=policy.allow_checked_after,
        unknown_keyword=policy.unknown_keyword.value,
        unknown_format=policy.unknown_format.value,
    )


def signature_member(resolved: ResolvedRevision) -> SignatureMember:
    """What the signatures amounted to."""
    return SignatureMember(status=resolved.signature.value, key_id=resolved.signed_by)


def revision_member(
    revision: Revision, status: RevisionStatus, signature: SignatureMember | None = None
) -> RevisionMember:
    """A revision without its texts."""
    return RevisionMember(
        id=revision.revision_id,
        number=revision.number,
        schema_id=revision.schema_id,
        kind=revision.kind.value,
        digest=revision.digest,
        annotation_digest=revision.annotation_digest,
        source_digest=revision.source_digest,
        dialect=revision.dialect,
        state=status.state.value,
        state_changed_at=status.changed_at,
        state_changed_by=status.changed_by,
        state_reason=status.reason,
        author=revision.author,
        message=revision.message,
        created_at=revision.created_at,
        transformations=list(revision.transformations),
        profile=dict(revision.profile),
        policy=policy_member(revision.policy),
        dependencies=[
            DependencyMember(uri=each.uri, digest=each.digest, revision_id=each.revision_id)
            for each in revision.dependencies
        ],
        signature=signature,
        retired_at=status.tombstoned_at,
    )


def alias_member(alias: Alias) -> AliasMember:
    """An alias."""
    return AliasMember(
        alias=alias.alias,
        revision=alias.number,
        revision_id=alias.revision_id,
        version=alias.version,
        moved_at=alias.moved_at,
        moved_by=alias.moved_by,
        previous=alias.previous,
    )


def promotion_member(promotion: Promotion) -> PromotionMember:
    """A proposal."""
    return PromotionMember(
        id=promotion.promotion_id,
        name=promotion.name,
        alias=promotion.alias,
        revision=promotion.number,
        state=promotion.state.value,
        proposed_by=promotion.proposed_by,
        proposed_at=promotion.proposed_at,
        reason=promotion.reason,
        decided_by=promotion.decided_by,
        decided_at=promotion.decided_at,
    )


def signing_key_member(key: SigningKey) -> SigningKeyMember:
    """A public key."""
    return SigningKeyMember(
        id=key.key_id,
        public_key=key.public_key,
        label=key.label,
        principal=key.principal,
        added_at=key.added_at,
        expires_at=key.expires_at,
        revoked_at=key.revoked_at,
        revocation_reason=key.revocation_reason,
    )


def verdict_member(answer: Answer) -> VerdictMember:
    """One question's answer."""
    match answer:
        case Safe():
            return VerdictMember(verdict="safe", proof=list(answer.proof))
        case Unsafe():
            return VerdictMember(
                verdict="unsafe",
                message=answer.message,
                witness=answer.witness_text,
                old_pointer=answer.old_pointer,
                new_pointer=answer.new_pointer,
            )
        case Unknown():
            return VerdictMember(verdict="unknown", message=answer.message, reason=answer.reason.value)


def diff_answer(comparison: Comparison) -> DiffAnswer:
    """Both answers and the changes."""
    return DiffAnswer(
        consumer_safe=verdict_member(comparison.consumer_safe),
        producer_safe=verdict_member(comparison.producer_safe),
        changes=[_change(change) for change in comparison.changes],
        changes_left_out=comparison.changes_left_out,
    )


def _change(change: Change) -> ChangeMember:
    example = None
    if isinstance(change.example, Example):
        example = ExampleMember(document=value_text(change.example.document), is_allowed=change.example.is_allowed)
    return ChangeMember(
        kind=change.kind.value,
        effect=change.effect.value,
        message=change.message,
        old_pointer=change.old_pointer,
        new_pointer=change.new_pointer,
        example=example,
    )


def compatibility_member(outcome: RegistrationOutcome) -> CompatibilityMember:
    """What a registration was measured against."""
    return CompatibilityMember(
        level=None if outcome.level is None else outcome.level.value,
        enforced=outcome.is_enforced,
        accepted=None if outcome.level is None else isinstance(outcome.verdict, Compatible),
        comparisons=[
            ComparisonMember(
                against=measured.number,
                consumer_safe=verdict_member(measured.comparison.consumer_safe),
                producer_safe=verdict_member(measured.comparison.producer_safe),
            )
            for measured in outcome.against
        ],
    )
