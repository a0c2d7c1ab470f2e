"""`POST /v1/contracts` and `POST /v1/contracts/check`: a new revision, kept or only tried."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from gateway.call import Call, answer, begin
from gateway.contract_answers import CheckAnswer, RegisterAnswer
from gateway.contract_members import compatibility_member, contract_answer, revision_member, signature_member
from gateway.contract_protocol import CheckRequest, RegisterRequest
from gateway.definitions import Definition, read_definition, refused_at
from gateway.idempotency import once
from gateway.protocol import SignatureMember
from gateway.query import Query
from registry.compatibility.modes import CompatibilityMode
from registry.naming import ByNumber
from registry.registration import Registration, RegistrationOutcome
from registry.revision import ContractClass, RevisionState, SignatureStatus, Visibility

router = APIRouter()


@router.post("/v1/contracts")
async def register_contract(request: Request) -> Response:
    """Register a revision: 201 if it is new, 200 if its contract has it already, or on a dry run."""
    call = await begin(request, "contracts_register")
    Query(request)
    body = await call.body(RegisterRequest)
    definition = read_definition(body.sent)
    registration = _registration(body.sent, definition)

    async def register() -> Response:
        with refused_at(definition.param):
            outcome = await call.catalogue.registrar.register(call.actor, registration, dry_run=body.sent.dry_run)
        return await _registered(call, outcome)

    if body.sent.dry_run:
        return await register()
    return await once(call, body.data, register)


@router.post("/v1/contracts/check")
async def check_contract(request: Request) -> Response:
    """Whether a revision would be taken, under its contract's level or another. Nothing is kept."""
    call = await begin(request, "contracts_check")
    Query(request)
    sent = (await call.body(CheckRequest)).sent
    definition = read_definition(sent)
    registration = Registration(
        name=sent.name,
        kind=definition.kind,
        definition=definition.value,
        dialect=definition.dialect,
        policy=definition.policy,
    )
    with refused_at(definition.param):
        outcome = await call.catalogue.comparisons.check(
            call.actor, registration, level=None if sent.mode is None else CompatibilityMode(sent.mode)
        )
    return answer(
        CheckAnswer(
            digest=outcome.contract.digest,
            annotation_digest=outcome.contract.annotation_digest,
            transformations=list(outcome.contract.transformations),
            compatibility=compatibility_member(outcome),
        )
    )


def _registration(sent: RegisterRequest, definition: Definition) -> Registration:
    return Registration(
        name=sent.name,
        kind=definition.kind,
        definition=definition.value,
        dialect=definition.dialect,
        policy=definition.policy,
        state=RevisionState(sent.state),
        message=sent.message,
        team=sent.team,
        visibility=None if sent.visibility is None else Visibility(sent.visibility),
        contract_class=None if sent.class_ is None else ContractClass(sent.class_),
        compatibility=None if sent.compatibility is None else CompatibilityMode(sent.compatibility),
        description=sent.description,
    )


async def _registered(call: Call, outcome: RegistrationOutcome) -> Response:
    contract, stored = outcome.contract, outcome.stored
    signature = None
    if stored is not None:
        signature = SignatureMember(status=SignatureStatus.UNSIGNED.value, key_id=None)
        if not stored.is_new:
            reference = ByNumber(name=stored.revision.name, number=stored.revision.number)
            known = await call.catalogue.resolver.resolve(reference, call.actor.tenant, serving=False)
            signature = signature_member(known)
    body = RegisterAnswer(
        contract=None if stored is None else contract_answer(stored.contract),
        revision=None if stored is None else revision_member(stored.revision, stored.status, signature),
        is_new=stored is not None and stored.is_new,
        dry_run=stored is None,
        digest=contract.digest,
        annotation_digest=contract.annotation_digest,
        transformations=list(contract.transformations),
        compatibility=compatibility_member(outcome),
    )
    if stored is None:
        return answer(body)
    place = f"/v1/contracts/{stored.revision.name}@{stored.revision.number}"
    return answer(body, status=201 if stored.is_new else 200, headers={"Location": place})
