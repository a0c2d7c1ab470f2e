"""Between a level's document, as it is sent and stored, and the values that `policy` computes with."""

from pydantic import ValidationError

from gateway.policies.protocol import EffectivePolicy, ServingPolicySent
from policy.serving import Downgrade, Floor, HostedTools, RunningTwin, ServingPolicy, StreamMode
from policy.serving_levels import ANY_BELOW, SaidPolicy
from registry.contract import JsonValue
from registry.naming import ByAlias, read_reference

FAMILY = "family:"
"""Before the name of a family, the subject of its document; a tenant's own has none."""
MAX_FAMILY_CHARACTERS = 150
"""What the subject's column has room for."""
FAMILY_RULE = f"write a contract's name, or a prefix and `{ANY_BELOW}`, with owner/ before it for another tenant's"


def said_in(sent: ServingPolicySent) -> SaidPolicy:
    """What a document says."""
    return SaidPolicy(
        floor=None if sent.floor is None else Floor(sent.floor),
        models=None if sent.models is None else frozenset(sent.models),
        allow_tools=sent.allow_tools,
        allow_streaming=sent.allow_streaming,
        allow_reasoning=sent.allow_reasoning,
        max_thinking_tokens=sent.max_thinking_tokens,
        allow_refusal=sent.allow_refusal,
        allow_inline=sent.allow_inline,
        downgrade=None if sent.downgrade is None else Downgrade(sent.downgrade),
        max_repairs=sent.max_repairs,
        stream_mode=None if sent.stream_mode is None else StreamMode(sent.stream_mode),
        hosted_tools=None if sent.hosted_tools is None else HostedTools(sent.hosted_tools),
        running_twin=None if sent.running_twin is None else RunningTwin(sent.running_twin),
        fail_open_webhooks=None if sent.fail_open_webhooks is None else frozenset(sent.fail_open_webhooks),
    )


def stored(sent: ServingPolicySent) -> JsonValue:
    """The document as it is kept: what is not said is not there."""
    document: dict[str, JsonValue] = sent.model_dump(exclude_none=True)
    return document


def read_stored(document: JsonValue) -> ServingPolicySent | None:
    """A kept document; None where it cannot be read, as one that a newer gateway wrote."""
    try:
        return ServingPolicySent.model_validate(document)
    except ValidationError:
        return None


def told(policy: ServingPolicy) -> EffectivePolicy:
    """A policy in the words of the API."""
    return EffectivePolicy(
        floor=policy.floor.value,
        models=None if policy.models is None else sorted(policy.models),
        allow_tools=policy.allow_tools,
        allow_streaming=policy.allow_streaming,
        allow_reasoning=policy.allow_reasoning,
        max_thinking_tokens=policy.max_thinking_tokens,
        allow_refusal=policy.allow_refusal,
        allow_inline=policy.allow_inline,
        downgrade=policy.downgrade.value,
        max_repairs=policy.max_repairs,
        stream_mode=policy.stream_mode.value,
        hosted_tools=policy.hosted_tools.value,
        running_twin=policy.running_twin.value,
        fail_open_webhooks=sorted(policy.fail_open_webhooks),
    )


def is_family(text: str) -> bool:
    """Whether `text` may name a family."""
    if len(text) > MAX_FAMILY_CHARACTERS:
        return False
    reference = read_reference(text.removesuffix(ANY_BELOW))
    return isinstance(reference, ByAlias) and reference.is_bare
