"""What changes about a contract after it was registered, and whether it may go."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from gateway.call import answer, begin
from gateway.contract_answers import DayMember, DependentMember, RevisionUsageMember, UsageAnswer
from gateway.contract_members import alias_member, contract_answer, revision_member
from gateway.contract_protocol import ContractPatch, ReasonSent, StateSent
from gateway.errors import InvalidRequestError, RequestFault
from gateway.idempotency import once
from gateway.paths import revision_number
from gateway.query import Query, etag, if_match
from registry.compatibility.modes import CompatibilityMode
from registry.errors import InvalidNameError
from registry.identifiers import TeamName
from registry.naming import read_team
from registry.revision import RevisionState, Visibility
from registry.store.records import UNCHANGED, ContractChanges

router = APIRouter()


@router.patch("/v1/contracts/{name}")
async def change_contract(request: Request, name: str) -> Response:
    """Change team, visibility, level or description."""
    call = await begin(request, "contracts_change")
    Query(request, "owner")
    body = await call.body(ContractPatch)
    changes, version = _changes(body.sent), if_match(request)

    async def change() -> Response:
        contract = await call.catalogue.lifecycle.change_contract(
            call.actor, call.spelled(name), changes, expected_version=version
        )
        return answer(contract_answer(contract), headers=etag(contract.version))

    return await once(call, body.data, change)


@router.delete("/v1/contracts/{name}")
async def retire_contract(request: Request, name: str) -> Response:
    """Retire a contract and all its revisions; name, numbers and bytes stay."""
    call = await begin(request, "contracts_retire")
    Query(request, "owner")
    body = await call.body(ReasonSent)

    async def retire() -> Response:
        contract = await call.catalogue.lifecycle.tombstone_contract(
            call.actor, call.spelled(name), reason=body.sent.reason
        )
        return answer(contract_answer(contract))

    return await once(call, body.data, retire)


@router.delete("/v1/contracts/{name}/revisions/{number}")
async def retire_revision(request: Request, name: str, number: str) -> Response:
    """Retire one revision."""
    call = await begin(request, "contracts_revision_retire")
    Query(request, "owner")
    body = await call.body(ReasonSent)
    revision = revision_number(number)

    async def retire() -> Response:
        stored = await call.catalogue.lifecycle.tombstone_revision(
            call.actor, call.spelled(name), revision, reason=body.sent.reason
        )
        return answer(revision_member(stored.revision, stored.status))

    return await once(call, body.data, retire)


@router.post("/v1/contracts/{name}/revisions/{number}/state")
async def set_state(request: Request, name: str, number: str) -> Response:
    """Move a revision's state forwards."""
    call = await begin(request, "contracts_state")
    Query(request, "owner")
    body = await call.body(StateSent)
    revision = revision_number(number)

    async def move() -> Response:
        stored = await call.catalogue.lifecycle.set_state(
            call.actor, call.spelled(name), revision, RevisionState(body.sent.state), reason=body.sent.reason
        )
        return answer(revision_member(stored.revision, stored.status))

    return await once(call, body.data, move)


@router.get("/v1/contracts/{name}/usage")
async def contract_usage(request: Request, name: str) -> Response:
    """Who uses a contract of one's own, and whether it could be retired."""
    call = await begin(request, "contracts_usage")
    Query(request, "owner")
    # Whoever asks whether it is safe to retire is told of the request before theirs, too.
    await call.services.usage.flush()
    report = await call.catalogue.lifecycle.usage(call.actor, call.spelled(name))
    return answer(
        UsageAnswer(
            revisions=[
                RevisionUsageMember(
                    revision=each.number,
                    revision_id=each.revision_id,
                    requests=each.num_requests,
                    last_used_at=each.last_used_at,
                    days=[DayMember(day=day.day, requests=day.num_requests) for day in each.days],
                )
                for each in report.revisions
            ],
            aliases=[alias_member(alias) for alias in report.aliases],
            num_dependents=report.num_dependents,
            dependents=[
                DependentMember(
                    name=each.revision.name, revision=each.revision.number, revision_id=each.revision.revision_id
                )
                for each in report.own_dependents
            ],
            safe_to_retire=report.safe_to_retire,
            reasons=list(report.reasons),
        )
    )


def _changes(sent: ContractPatch) -> ContractChanges:
    said = sent.model_fields_set
    for name in ("visibility", "description"):
        if name in said and getattr(sent, name) is None:
            message = f"`{name}` is refused: there is always one; leave it out to keep it"
            raise InvalidRequestError(RequestFault.INVALID_TYPE, message, param=name)
    return ContractChanges(
        team=_team(sent.team) if "team" in said else UNCHANGED,
        visibility=UNCHANGED if sent.visibility is None else Visibility(sent.visibility),
        compatibility=(
            UNCHANGED
            if "compatibility" not in said
            else None
            if sent.compatibility is None
            else CompatibilityMode(sent.compatibility)
        ),
        description=UNCHANGED if sent.description is None else sent.description,
    )


def _team(text: str | None) -> TeamName | None:
    if text is None:
        return None
    team = read_team(text)
    if team is None:
        raise InvalidNameError("a team", text)
    return team
