"""Every model that can be asked for: those of our nodes, and those of backends that speak OpenAI's API."""

from collections.abc import Sequence

from gateway.backends.openai import OpenAIServer
from gateway.errors import ModelNotFoundError
from gateway.nodes import ModelOffer, NodeDirectory
from policy.serving_plan import Capability

ENGINE = "openai-compatible"
"""What a backend of the second kind runs is not known; its name stands for the version."""


class Offers:
    """What may be asked for now. A model that a node is known to serve is a node's, also while that node is down: a
    contract is not moved to a backend without a grammar because of a restart."""

    def __init__(self, nodes: NodeDirectory, servers: Sequence[OpenAIServer]) -> None:
        self._nodes = nodes
        self._servers = {model: server for server in servers for model in server.settings.models}
        self._upstream = {model: _offer(model, server) for model, server in self._servers.items()}

    def all(self) -> tuple[ModelOffer, ...]:
        """One offer a model, the nodes' first."""
        ours = self._nodes.offers()
        taken = self._nodes.known_models
        return (*ours, *(offer for model, offer in self._upstream.items() if model not in taken))

    def offer(self, model: str, compilable: frozenset[str] | None = None) -> ModelOffer:
        """The offer of `model`; of a node's, preferring a tokenizer in `compilable`.

        Raises:
            ModelNotFoundError: every node has been heard, and nothing serves it.
            NoNodeError: it may exist, but no live node serves it.
        """
        upstream = self._upstream.get(model)
        if upstream is not None and model not in self._nodes.known_models:
            return upstream
        try:
            return self._nodes.offer(model, compilable)
        except ModelNotFoundError:
            raise ModelNotFoundError(model, offered=tuple(offer.model for offer in self.all())) from None

    def server(self, offer: ModelOffer) -> OpenAIServer:
        """Who serves an offer whose capability is not `GRAMMAR`."""
        return self._servers[offer.model]


def _offer(model: str, server: OpenAIServer) -> ModelOffer:
    settings = server.settings
    return ModelOffer(
        model=model,
        tokenizer_digest=None,
        context_tokens=settings.context_tokens,
        engine=ENGINE,
        engine_version=settings.name,
        capability=Capability(settings.capability),
    )
