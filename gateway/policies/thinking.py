"""Who tells a thought from the answer, and under which limit."""

from gateway.intent import GenerationIntent
from gateway.nodes import ModelOffer
from gateway.policies.errors import ServingRefusedError
from gateway.reasoning import ThoughtAsked, within, without_degrees
from policy.serving import ServingPolicy
from policy.serving_plan import ServingRefusal


def thought_apart(
    intent: GenerationIntent, offer: ModelOffer, policy: ServingPolicy
) -> tuple[ThoughtAsked | None, dict[str, str]]:
    """The thought that the node tells apart, if there is one, and what of the wish has no effect.

    Raises:
        InvalidRequestError: a number of tokens was asked for, and nobody would keep to it.
        ServingRefusedError: the policy has a limit, and nobody would keep to it.
    """
    if intent.thought is None:
        return None, {}
    if offer.reasoning is not None:
        return within(intent.thought, policy.max_thinking_tokens)
    if policy.max_thinking_tokens is not None:
        message = "the serving policy limits the tokens of a thought, which cannot be done with this model"
        raise ServingRefusedError(ServingRefusal.REASONING_NOT_ALLOWED, message, param="reasoning")
    return None, without_degrees(intent.thought)
