"""`GET /v1/models` and `GET /v1/models/{id}`: what can be asked for now."""

from fastapi import APIRouter
from starlette.requests import Request

from gateway.errors import ModelNotFoundError
from gateway.nodes import ModelOffer
from gateway.protocol import ModelCard, ModelList
from gateway.services import record_of, services_of

router = APIRouter()

_CREATED = 0
"""A node does not say when its model was made; OpenAI's field is a number, so it is the epoch."""


@router.get("/v1/models")
async def list_models(request: Request) -> ModelList:
    """Every model that a live node serves."""
    services, record = services_of(request), record_of(request, "models")
    await services.authenticate(request, record)
    return ModelList(data=[_card(offer) for offer in services.nodes.offers()])


@router.get("/v1/models/{model:path}")
async def get_model(request: Request, model: str) -> ModelCard:
    """One of them."""
    services, record = services_of(request), record_of(request, "models")
    await services.authenticate(request, record)
    offers = services.nodes.offers()
    for offer in offers:
        if offer.model == model:
            return _card(offer)
    raise ModelNotFoundError(model, offered=tuple(offer.model for offer in offers))


def _card(offer: ModelOffer) -> ModelCard:
    return ModelCard(
        id=offer.model,
        created=_CREATED,
        schemagate={
            "tokenizer_digest": offer.tokenizer_digest,
            "context_tokens": offer.context_tokens,
            "engine": offer.engine,
            "engine_version": offer.engine_version,
        },
    )
