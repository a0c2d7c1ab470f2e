"""`POST /v1/contracts/explain`: would this contract be enforced, where, and at what cost? No generation takes place."""

from dataclasses import asdict

from fastapi import APIRouter
from starlette.requests import Request

from gateway.caller_watch import CallerWatch
from gateway.envelope import contract_member, enforcement_counts
from gateway.explain_protocol import CompileCostMember, ExplainAnswer, LimitMember, ReportEntryMember, TextMember
from gateway.explain_request import read_explain_request
from gateway.pipeline import Explained
from gateway.protocol import PolicyMember
from gateway.services import record_of, services_of
from gateway.stages import Stage
from policy.limits import LimitClass
from registry.contract import Profile

router = APIRouter()


@router.post("/v1/contracts/explain")
async def explain_contract(request: Request) -> ExplainAnswer:
    """Explain one contract; a contract that would be refused is refused here in the same words."""
    services, record = services_of(request), record_of(request, "contracts_explain")
    caller = await services.authenticate(request, record)
    body = await services.body(request, record)
    with record.clock.time(Stage.PARSE):
        intent = read_explain_request(body)
    async with CallerWatch(request.receive, services.tasks):
        explained = await services.pipeline.explain(intent, caller, record)
    return _answer(explained, record.clock.milliseconds())


def _answer(explained: Explained, timings: dict[str, float]) -> ExplainAnswer:
    bound, contract, policy = explained.bound, explained.taken.contract, explained.taken.policy
    cost, limits = bound.cost, explained.taken.limits
    return ExplainAnswer(
        kind=str(contract.kind),
        digest=contract.digest,
        annotation_digest=contract.annotation_digest,
        contract=contract_member(bound),
        model=explained.offer.model,
        tokenizer_digest=explained.offer.compiled_for,
        artifact_key=bound.key,
        policy=PolicyMember(
            allow_checked_after=policy.allow_checked_after,
            unknown_keyword=policy.unknown_keyword.value,
            unknown_format=policy.unknown_format.value,
        ),
        summary=enforcement_counts(bound),
        report=[
            ReportEntryMember(pointer=entry.pointer, keyword=entry.keyword, status=entry.status.value)
            for entry in bound.report
        ],
        text=TextMember.model_validate(bound.text.members()),
        transformations=list(contract.transformations),
        profile=_profile(contract.profile),
        limit_class=limits.name,
        limits=_limits(contract.profile, limits),
        cache=bound.tier.value,
        cost=CompileCostMember(**cost.model_dump()),
        compile_cpu_ms=round(bound.compile_cpu_ms, 3),
        timings=timings,
    )


def _profile(profile: Profile) -> dict[str, int | bool]:
    """The profile without what `limits` says already."""
    return {
        "contract_bytes": profile.contract_bytes,
        "depth": profile.depth,
        "num_subschemas": profile.num_subschemas,
        "num_enum_members": profile.num_enum_members,
        "max_pattern_bytes": profile.max_pattern_bytes,
        "num_references": profile.num_references,
        "is_recursive": profile.is_recursive,
    }


def _limits(profile: Profile, limits: LimitClass) -> list[LimitMember]:
    """Every limit, and what this contract uses of it; null where nothing in the contract is held against it."""
    return [
        LimitMember(name=name, limit=value, observed=profile.observed.get(name))
        for name, value in asdict(limits.contract).items()
    ]
