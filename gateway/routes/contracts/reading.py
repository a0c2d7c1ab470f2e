"""`GET /v1/contracts…`: listing, searching, and the end of a reference."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from gateway.call import Call, answer, begin
from gateway.contract_answers import ContractDetail, ContractPage, RevisionDetail, RevisionPage
from gateway.contract_members import (
    alias_member,
    contract_answer,
    revision_member,
    signature_member,
)
from gateway.query import PAGE, Query, etag
from gateway.visible import visible_contract
from registry.contract import ContractKind
from registry.errors import NotFoundError
from registry.identifiers import TeamName, TenantId
from registry.naming import ByAlias, ByNumber
from registry.revision import RevisionState
from registry.serving import as_reference
from registry.store.records import ContractQuery

router = APIRouter()


@router.get("/v1/contracts")
async def list_contracts(request: Request) -> Response:
    """One's own contracts and those that others share, by name."""
    call = await begin(request, "contracts_list")
    query = Query(request, "q", "team", "kind", "owner", "state", "include_retired", *PAGE)
    team, owner = query.text("team"), query.text("owner")
    cursor, limit = query.page()
    page = await call.catalogue.contracts.contracts(
        call.actor.tenant,
        ContractQuery(
            text=query.text("q"),
            team=None if team is None else TeamName(team),
            kind=query.choice("kind", tuple(ContractKind)),
            owner=None if owner is None else TenantId(owner),
            state=query.choice("state", tuple(RevisionState)),
            include_tombstoned=query.flag("include_retired"),
        ),
        cursor=cursor,
        limit=limit,
    )
    return answer(
        ContractPage(data=[contract_answer(contract) for contract in page.items], next_cursor=page.next_cursor)
    )


@router.get("/v1/contracts/{reference}")
async def get_contract(request: Request, reference: str) -> Response:
    """A name: its contract. A name with `@`, or a digest: the revision that it leads to."""
    call = await begin(request, "contracts_get")
    query = Query(request, "owner", "include_retired")
    spelled = call.spelled(reference)
    read = as_reference(spelled)
    if isinstance(read, ByAlias) and read.is_bare:
        return await _contract(call, spelled, retired=query.flag("include_retired"))
    if isinstance(read, ByNumber) and query.flag("include_retired"):
        return await _retired(call, read, spelled)
    resolved = await call.catalogue.resolver.resolve(read, call.actor.tenant, serving=False)
    return answer(
        RevisionDetail(
            contract=contract_answer(resolved.contract),
            revision=revision_member(resolved.revision, resolved.status, signature_member(resolved)),
            alias=resolved.alias,
        ),
        source=resolved.revision.source_text,
    )


@router.get("/v1/contracts/{name}/revisions")
async def list_revisions(request: Request, name: str) -> Response:
    """A contract's revisions, newest first."""
    call = await begin(request, "contracts_revisions")
    query = Query(request, "owner", "include_retired", *PAGE)
    cursor, limit = query.page()
    retired = query.flag("include_retired")
    contract = await visible_contract(call.catalogue, call.actor.tenant, call.spelled(name), retired=retired)
    page = await call.catalogue.contracts.revisions(
        contract.tenant,
        contract.name,
        cursor=cursor,
        limit=limit,
        include_tombstoned=retired and contract.tenant == call.actor.tenant,
    )
    data = [revision_member(stored.revision, stored.status) for stored in page.items]
    return answer(RevisionPage(data=data, next_cursor=page.next_cursor))


async def _retired(call: Call, read: ByNumber, spelled: str) -> Response:
    """A revision by its number, also if it or its contract was retired: that is told to its own tenant alone."""
    owner = call.actor.tenant if read.owner is None else read.owner
    contract = await visible_contract(call.catalogue, call.actor.tenant, f"{owner}/{read.name}", retired=True)
    stored = await call.catalogue.contracts.revision(contract.tenant, contract.name, read.number)
    is_own = contract.tenant == call.actor.tenant
    if stored is None or (stored.status.tombstoned_at is not None and not is_own):
        raise NotFoundError("revision", spelled)
    return answer(
        RevisionDetail(
            contract=contract_answer(contract), revision=revision_member(stored.revision, stored.status), alias=None
        ),
        source=stored.revision.source_text,
    )


async def _contract(call: Call, spelled: str, *, retired: bool) -> Response:
    contract = await visible_contract(call.catalogue, call.actor.tenant, spelled, retired=retired)
    aliases = await call.catalogue.contracts.aliases(contract.tenant, contract.name)
    newest = await call.catalogue.contracts.revisions(contract.tenant, contract.name, cursor=None, limit=1)
    latest = next((revision_member(stored.revision, stored.status) for stored in newest.items), None)
    body = ContractDetail(
        contract=contract_answer(contract), aliases=[alias_member(alias) for alias in aliases], latest=latest
    )
    return answer(body, headers=etag(contract.version))
