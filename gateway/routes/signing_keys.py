"""`/v1/signing-keys`: the public keys whose signatures count for a tenant."""

from datetime import UTC, datetime

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from gateway.call import answer, begin
from gateway.contract_answers import SigningKeyList
from gateway.contract_members import signing_key_member
from gateway.contract_protocol import ReasonSent, SigningKeySent
from gateway.errors import InvalidRequestError, RequestFault
from gateway.idempotency import once
from gateway.paths import signing_key_id
from gateway.query import Query
from registry.identifiers import PrincipalId

router = APIRouter()


@router.get("/v1/signing-keys")
async def list_signing_keys(request: Request) -> Response:
    """Every key of the tenant, the revoked ones included."""
    call = await begin(request, "signing_keys_list")
    Query(request)
    keys = await call.catalogue.signing.keys(call.actor.tenant)
    return answer(SigningKeyList(data=[signing_key_member(key) for key in keys]))


@router.post("/v1/signing-keys")
async def trust_signing_key(request: Request) -> Response:
    """Trust a public key from now on."""
    call = await begin(request, "signing_keys_trust")
    Query(request)
    body = await call.body(SigningKeySent)
    expires_at = _moment(body.sent.expires_at)

    async def trust() -> Response:
        key = await call.catalogue.signing.trust_key(
            call.actor,
            body.sent.public_key,
            label=body.sent.label,
            principal=PrincipalId(body.sent.principal or call.actor.principal),
            expires_at=expires_at,
        )
        return answer(signing_key_member(key), status=201)

    return await once(call, body.data, trust)


@router.post("/v1/signing-keys/{key_id}/revoke")
async def revoke_signing_key(request: Request, key_id: str) -> Response:
    """End trust in a key and in every signature it made."""
    call = await begin(request, "signing_keys_revoke")
    Query(request)
    body = await call.body(ReasonSent)

    async def revoke() -> Response:
        key = await call.catalogue.signing.revoke_key(call.actor, signing_key_id(key_id), reason=body.sent.reason)
        return answer(signing_key_member(key))

    return await once(call, body.data, revoke)


def _moment(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
        # Without an offset it is nobody's moment; with one, it may lie beyond what a year has digits for.
        in_utc = None if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        in_utc = None
    if in_utc is None:
        message = "`expires_at` is a moment such as `2027-01-31T12:00:00Z`, with its offset"
        raise InvalidRequestError(RequestFault.INVALID_VALUE, message, param="expires_at")
    return in_utc
