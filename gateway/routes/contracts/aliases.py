"""Aliases: where they point, moving them, and moving them back."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from gateway.call import answer, begin
from gateway.contract_answers import AliasAnswer, AliasList
from gateway.contract_members import alias_member, promotion_member
from gateway.contract_protocol import AliasSent, ReasonSent
from gateway.idempotency import once
from gateway.query import Query, etag, if_match, must_be_new
from gateway.visible import visible_contract
from registry.errors import NotFoundError
from registry.identifiers import RevisionNumber
from registry.permissions import alias_name
from registry.promotion import Promoted, Proposed
from registry.revision import Alias

router = APIRouter()


@router.get("/v1/contracts/{name}/aliases")
async def list_aliases(request: Request, name: str) -> Response:
    """All aliases of a contract; there are at most a hundred."""
    call = await begin(request, "aliases_list")
    Query(request, "owner")
    contract = await visible_contract(call.catalogue, call.actor.tenant, call.spelled(name))
    aliases = await call.catalogue.contracts.aliases(contract.tenant, contract.name)
    return answer(AliasList(data=[alias_member(alias) for alias in aliases]))


@router.get("/v1/contracts/{name}/aliases/{alias}")
async def get_alias(request: Request, name: str, alias: str) -> Response:
    """One alias; its version is the ETag."""
    call = await begin(request, "aliases_get")
    Query(request, "owner")
    wanted = alias_name(alias)
    contract = await visible_contract(call.catalogue, call.actor.tenant, call.spelled(name))
    found = await call.catalogue.contracts.alias(contract.tenant, contract.name, wanted)
    if found is None:
        raise NotFoundError("alias", f"{call.spelled(name)}@{alias}")
    return _alias(found)


@router.put("/v1/contracts/{name}/aliases/{alias}")
async def move_alias(request: Request, name: str, alias: str) -> Response:
    """Promote: 200 (201 for a new alias) where it has moved, 202 with the proposal where a second person decides."""
    call = await begin(request, "aliases_move")
    Query(request, "owner")
    body = await call.body(AliasSent)
    version, is_new = if_match(request), must_be_new(request)

    async def promote() -> Response:
        result = await call.catalogue.promoter.promote(
            call.actor,
            call.spelled(name),
            alias,
            RevisionNumber(body.sent.revision),
            expected_version=version,
            must_be_new=is_new,
            reason=body.sent.reason,
            override=body.sent.override,
        )
        match result:
            case Promoted(alias=moved, is_new=is_made):
                call.services.precompiler.alias_moved(moved)
                return _alias(moved, status=201 if is_made else 200)
            case Proposed(promotion=promotion):
                place = {"Location": f"/v1/promotions/{promotion.promotion_id}"}
                return answer(promotion_member(promotion), status=202, headers=place)

    return await once(call, body.data, promote)


@router.delete("/v1/contracts/{name}/aliases/{alias}")
async def drop_alias(request: Request, name: str, alias: str) -> Response:
    """Remove an alias."""
    call = await begin(request, "aliases_drop")
    Query(request, "owner")
    body = await call.body(ReasonSent)
    version = if_match(request)

    async def drop() -> Response:
        await call.catalogue.promoter.drop(
            call.actor, call.spelled(name), alias, expected_version=version, reason=body.sent.reason
        )
        return Response(status_code=204)

    return await once(call, body.data, drop)


@router.post("/v1/contracts/{name}/aliases/{alias}/rollback")
async def roll_back_alias(request: Request, name: str, alias: str) -> Response:
    """Move an alias back to what it named before."""
    call = await begin(request, "aliases_roll_back")
    Query(request, "owner")
    body = await call.body(ReasonSent)
    version = if_match(request)

    async def roll_back() -> Response:
        moved = await call.catalogue.promoter.rollback(
            call.actor, call.spelled(name), alias, expected_version=version, reason=body.sent.reason
        )
        call.services.precompiler.alias_moved(moved)
        return _alias(moved)

    return await once(call, body.data, roll_back)


def _alias(alias: Alias, *, status: int = 200) -> Response:
    body = AliasAnswer(owner=alias.tenant, name=alias.name, alias=alias_member(alias))
    return answer(body, status=status, headers=etag(alias.version))
