"""Signatures of a revision: what to sign, what was signed, and handing a signature in."""

import base64

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from gateway.call import answer, begin
from gateway.contract_answers import PayloadAnswer, SignatureAnswer, SignatureList
from gateway.contract_protocol import SignatureSent
from gateway.idempotency import once
from gateway.paths import revision_number
from gateway.query import Query
from registry.identifiers import SigningKeyId
from registry.revision import SignatureStatus
from registry.signing import SignedBy

router = APIRouter()


@router.get("/v1/contracts/{name}/revisions/{number}/signing-payload")
async def signing_payload(request: Request, name: str, number: str) -> Response:
    """The exact bytes that a signature is over."""
    call = await begin(request, "signatures_payload")
    Query(request, "owner")
    payload = await call.catalogue.signing.payload(call.actor.tenant, call.spelled(name), revision_number(number))
    return answer(PayloadAnswer(base64=base64.b64encode(payload).decode(), text=payload.decode()))


@router.get("/v1/contracts/{name}/revisions/{number}/signatures")
async def list_signatures(request: Request, name: str, number: str) -> Response:
    """Every signature, those that no longer count included."""
    call = await begin(request, "signatures_list")
    Query(request, "owner")
    signed = await call.catalogue.signing.signatures(call.actor.tenant, call.spelled(name), revision_number(number))
    return answer(SignatureList(status=_status(signed).value, data=[_signature(each) for each in signed]))


@router.post("/v1/contracts/{name}/revisions/{number}/signatures")
async def add_signature(request: Request, name: str, number: str) -> Response:
    """Keep a signature that verifies under a trusted key."""
    call = await begin(request, "signatures_add")
    Query(request, "owner")
    body = await call.body(SignatureSent)
    revision = revision_number(number)

    async def add() -> Response:
        signature = await call.catalogue.signing.add_signature(
            call.actor,
            call.spelled(name),
            revision,
            key_id=SigningKeyId(body.sent.key_id),
            signature=body.sent.signature,
        )
        kept = SignatureAnswer(
            key_id=signature.key_id,
            signature=signature.signature,
            signed_by=signature.signed_by,
            signed_at=signature.signed_at,
            counts=True,
        )
        return answer(kept, status=201)

    return await once(call, body.data, add)


def _status(signed: tuple[SignedBy, ...]) -> SignatureStatus:
    if any(each.counts for each in signed):
        return SignatureStatus.SIGNED
    return SignatureStatus.REVOKED if signed else SignatureStatus.UNSIGNED


def _signature(signed: SignedBy) -> SignatureAnswer:
    signature = signed.signature
    return SignatureAnswer(
        key_id=signature.key_id,
        signature=signature.signature,
        signed_by=signature.signed_by,
        signed_at=signature.signed_at,
        counts=signed.counts,
    )
