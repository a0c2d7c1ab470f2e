"""`GET /v1/models` and `GET /v1/models/{id}`: what can be asked for now, and how much of it."""

from fastapi import APIRouter
from starlette.requests import Request

from gateway.capabilities.protocol import ModelCard, ModelList
from gateway.capabilities.statement import model_card
from gateway.errors import ModelNotFoundError
from gateway.nodes import ModelOffer
from gateway.services import record_of, services_of
from policy.serving import ServingPolicy

router = APIRouter()


@router.get("/v1/models")
async def list_models(request: Request) -> ModelList:
    """Every model that a live node or another backend serves, and the tenant's policy allows."""
    offers, policy = await offered(request)
    return ModelList(data=[model_card(offer, policy) for offer in offers])


@router.get("/v1/models/{model:path}")
async def get_model(request: Request, model: str) -> ModelCard:
    """One of them."""
    offers, policy = await offered(request)
    for offer in offers:
        if offer.model == model:
            return model_card(offer, policy)
    raise ModelNotFoundError(model, offered=tuple(offer.model for offer in offers))


async def offered(request: Request, route: str = "models") -> tuple[list[ModelOffer], ServingPolicy]:
    """What the caller may ask for, and under which policy."""
    services, record = services_of(request), record_of(request, route)
    caller = await services.authenticate(request, record)
    policy = (await services.policies.of_tenant(caller.tenant)).of_contract(None)
    offers = services.offers.all()
    return [offer for offer in offers if policy.models is None or offer.model in policy.models], policy
