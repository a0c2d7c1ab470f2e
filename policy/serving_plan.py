"""Whether and how a request is served: one pure function of the policy, what is asked, and what the backend can.

Decided before a token is spent. A contract is enforced by the backend's grammar, or by the validator alone where the
policy allows that and the answer says so, or the request is refused by name.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from policy.serving import Downgrade, Floor, ServingPolicy


class Capability(StrEnum):
    """What a backend does about a contract, strongest first. Only `GRAMMAR` is a promise that we can check."""

    GRAMMAR = "grammar"
    """One of our nodes: it decodes under our artifact."""
    JSON_SCHEMA = "json_schema"
    """It claims to follow a JSON Schema."""
    JSON_OBJECT = "json_object"
    """It claims to answer with some JSON object."""
    NONE = "none"


class ContractOrigin(StrEnum):
    """Where a request's contract comes from."""

    NONE = "none"
    INLINE = "inline"
    REGISTERED = "registered"


class Enforcer(StrEnum):
    """Who sees to it that an answer keeps its contract."""

    NOBODY = "nobody"
    """There is no contract."""
    GRAMMAR = "grammar"
    VALIDATOR = "validator"
    """Alone, after the text is finished: a downgrade, and labelled as one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What of a request the policy has a say in."""

    model: str
    contract: ContractOrigin
    uses_tools: bool = False
    is_streamed: bool = False
    wants_reasoning: bool = False
    wants_logprobs: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Granted:
    """The request is served so. `max_repairs` is 0 unless the validator is alone and the policy allows repairs."""

    enforcer: Enforcer
    max_repairs: int = 0


class ServingRefusal(StrEnum):
    """Why a request is not served; these are the error codes that callers see."""

    MODEL_NOT_ALLOWED = "model_not_allowed"
    TOOLS_NOT_ALLOWED = "tools_not_allowed"
    STREAMING_NOT_ALLOWED = "streaming_not_allowed"
    REASONING_NOT_ALLOWED = "reasoning_not_allowed"
    INLINE_CONTRACT_NOT_ALLOWED = "inline_contract_not_allowed"
    CAPABILITY_UNAVAILABLE = "capability_unavailable"


class AskedPart(StrEnum):
    """The part of a request that a refusal is about."""

    MODEL = "model"
    CONTRACT = "contract"
    TOOLS = "tools"
    STREAM = "stream"
    REASONING = "reasoning"
    LOGPROBS = "logprobs"


@dataclass(frozen=True, slots=True, kw_only=True)
class NotGranted:
    """The request is refused."""

    refusal: ServingRefusal
    part: AskedPart
    message: str


def decide(policy: ServingPolicy, asked: Asked, able: Capability) -> Granted | NotGranted:
    """Serve it, and how; or the first reason not to."""
    return _not_allowed(policy, asked) or _not_able(asked, able) or _enforced(policy, asked, able)


def _not_allowed(policy: ServingPolicy, asked: Asked) -> NotGranted | None:
    if policy.models is not None and asked.model not in policy.models:
        return NotGranted(
            refusal=ServingRefusal.MODEL_NOT_ALLOWED,
            part=AskedPart.MODEL,
            message=f"the serving policy does not allow the model `{asked.model[:128]}` here",
        )
    for is_asked, is_allowed, refusal, part, what in (
        (
            asked.contract is ContractOrigin.INLINE,
            policy.allow_inline,
            ServingRefusal.INLINE_CONTRACT_NOT_ALLOWED,
            AskedPart.CONTRACT,
            "contracts sent with the request: name a registered one",
        ),
        (asked.uses_tools, policy.allow_tools, ServingRefusal.TOOLS_NOT_ALLOWED, AskedPart.TOOLS, "tools"),
        (
            asked.is_streamed,
            policy.allow_streaming,
            ServingRefusal.STREAMING_NOT_ALLOWED,
            AskedPart.STREAM,
            "streamed answers: send `stream: false`",
        ),
        (
            asked.wants_reasoning,
            policy.allow_reasoning,
            ServingRefusal.REASONING_NOT_ALLOWED,
            AskedPart.REASONING,
            "reasoning: ask for no effort of it",
        ),
    ):
        if is_asked and not is_allowed:
            return NotGranted(refusal=refusal, part=part, message=f"the serving policy does not allow {what}")
    return None


def _not_able(asked: Asked, able: Capability) -> NotGranted | None:
    """What needs our own decoding, and is neither imitated nor left out on a backend that has none."""
    if able is Capability.GRAMMAR:
        return None
    for is_asked, part, what in (
        (asked.uses_tools, AskedPart.TOOLS, "holds a tool's arguments to their schema"),
        (asked.wants_reasoning, AskedPart.REASONING, "keeps reasoning apart from the answer"),
        (asked.wants_logprobs, AskedPart.LOGPROBS, "tells log probabilities"),
    ):
        if is_asked:
            return _unavailable(part, f"the backend of the model `{asked.model[:128]}` has no way that {what}")
    return None


def _enforced(policy: ServingPolicy, asked: Asked, able: Capability) -> Granted | NotGranted:
    if asked.contract is ContractOrigin.NONE:
        return Granted(enforcer=Enforcer.NOBODY)
    if able is Capability.GRAMMAR:
        return Granted(enforcer=Enforcer.GRAMMAR)
    cannot = f"the backend of the model `{asked.model[:128]}` decodes under no grammar, so it cannot enforce a contract"
    if policy.floor is Floor.STRICT:
        return _unavailable(AskedPart.CONTRACT, f"{cannot}, and the serving policy asks for nothing less")
    match policy.downgrade:
        case Downgrade.NONE:
            return _unavailable(AskedPart.CONTRACT, f"{cannot}; choose another model")
        case Downgrade.VALIDATE:
            return Granted(enforcer=Enforcer.VALIDATOR)
        case Downgrade.REPAIR:
            return Granted(enforcer=Enforcer.VALIDATOR, max_repairs=policy.max_repairs)
        case _:
            assert_never(policy.downgrade)


def _unavailable(part: AskedPart, message: str) -> NotGranted:
    return NotGranted(refusal=ServingRefusal.CAPABILITY_UNAVAILABLE, part=part, message=message)
