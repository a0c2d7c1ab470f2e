"""Promotions that wait for a second person: seeing them, and deciding."""

from collections.abc import Awaitable, Callable

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from gateway.call import answer, begin
from gateway.contract_answers import AliasAnswer, PromotionPage
from gateway.contract_members import alias_member, promotion_member
from gateway.contract_protocol import ApprovalSent, ReasonSent
from gateway.idempotency import once
from gateway.paths import promotion_id as promotion_of
from gateway.query import PAGE, Query, etag
from registry.promotion import Promoter
from registry.revision import Promotion, PromotionState

router = APIRouter()


@router.get("/v1/promotions")
async def list_promotions(request: Request) -> Response:
    """The tenant's proposals, newest first."""
    call = await begin(request, "promotions_list")
    query = Query(request, "state", *PAGE)
    cursor, limit = query.page()
    page = await call.catalogue.promoter.promotions(
        call.actor, state=query.choice("state", tuple(PromotionState)), cursor=cursor, limit=limit
    )
    return answer(PromotionPage(data=[promotion_member(each) for each in page.items], next_cursor=page.next_cursor))


@router.get("/v1/promotions/{promotion_id}")
async def get_promotion(request: Request, promotion_id: str) -> Response:
    """One proposal."""
    call = await begin(request, "promotions_get")
    Query(request)
    return answer(promotion_member(await call.catalogue.promoter.promotion(call.actor, promotion_of(promotion_id))))


@router.post("/v1/promotions/{promotion_id}/approve")
async def approve_promotion(request: Request, promotion_id: str) -> Response:
    """Apply a proposal: the alias as it is now. Everything is checked again."""
    call = await begin(request, "promotions_approve")
    Query(request)
    body = await call.body(ApprovalSent)

    async def approve() -> Response:
        alias = await call.catalogue.promoter.approve(
            call.actor, promotion_of(promotion_id), reason=body.sent.reason, override=body.sent.override
        )
        call.services.precompiler.alias_moved(alias)
        moved = AliasAnswer(owner=alias.tenant, name=alias.name, alias=alias_member(alias))
        return answer(moved, headers=etag(alias.version))

    return await once(call, body.data, approve)


@router.post("/v1/promotions/{promotion_id}/reject")
async def reject_promotion(request: Request, promotion_id: str) -> Response:
    """Turn a proposal down."""
    return await _close(request, promotion_id, "promotions_reject", Promoter.reject)


@router.post("/v1/promotions/{promotion_id}/withdraw")
async def withdraw_promotion(request: Request, promotion_id: str) -> Response:
    """Take one's own proposal back."""
    return await _close(request, promotion_id, "promotions_withdraw", Promoter.withdraw)


async def _close(
    request: Request, promotion_id: str, route: str, decide: Callable[..., Awaitable[Promotion]]
) -> Response:
    call = await begin(request, route)
    Query(request)
    body = await call.body(ReasonSent)

    async def close() -> Response:
        closed = await decide(call.catalogue.promoter, call.actor, promotion_of(promotion_id), reason=body.sent.reason)
        return answer(promotion_member(closed))

    return await once(call, body.data, close)
