"""A request under its serving policy: what is asked of it, what it is raised to, and whether it is served."""

from dataclasses import replace
from typing import assert_never

from gateway.errors import InvalidRequestError, RequestFault
from gateway.intent import Contract, FunctionTool, GenerationIntent, InlineContract, NamedContract, Tool
from gateway.outcome import TakenContract
from gateway.policies.errors import ServingRefusedError
from policy.serving import Floor, HostedTools, ServingPolicy
from policy.serving_plan import Asked, AskedPart, Capability, ContractOrigin, Granted, NotGranted, decide

_RAISED = "the serving policy's floor is strict: it is enforced as if this were true"


def raised(intent: GenerationIntent, policy: ServingPolicy) -> GenerationIntent:
    """The request with everything strict, and told so, where nothing less is served."""
    if policy.floor is not Floor.STRICT:
        return intent
    notes: dict[str, str] = {}
    contract = intent.contract
    if contract is not None and (strict := strict_enough(contract, policy)) is not contract:
        notes[_strict_beside(contract.param)] = _RAISED
        contract = strict
    toolbox = intent.toolbox
    if toolbox is not None:
        toolbox = replace(toolbox, tools=tuple(_strict_tool(tool, notes) for tool in toolbox.tools))
    return replace(intent, contract=contract, toolbox=toolbox, ignored={**intent.ignored, **notes})


def strict_enough(contract: Contract, policy: ServingPolicy) -> Contract:
    """A contract that is sent, as it is enforced: the same, unless nothing less than strict is served."""
    if policy.floor is not Floor.STRICT or not isinstance(contract, InlineContract) or contract.strict:
        return contract
    return replace(contract, strict=True)


def _strict_tool(tool: Tool, notes: dict[str, str]) -> Tool:
    if not isinstance(tool, FunctionTool) or tool.strict:
        return tool
    notes[_strict_beside(tool.param)] = _RAISED
    return replace(tool, strict=True)


def _strict_beside(param: str) -> str:
    """Where `strict` stands, or would, of the contract whose text stands at `param`."""
    parent = param.rpartition(".")[0]
    return f"{parent}.strict" if parent else "strict"


def tightened(taken: TakenContract, policy: ServingPolicy) -> TakenContract:
    """A registered contract without what its author leaves to the validator, where nothing less is served: what then
    cannot be in the grammar is refused by the compiler, by its pointer."""
    if policy.floor is not Floor.STRICT or not taken.policy.allow_checked_after:
        return taken
    return replace(taken, policy=replace(taken.policy, allow_checked_after=False))


def grant(policy: ServingPolicy, intent: GenerationIntent, able: Capability) -> Granted:
    """How the request is served.

    Raises:
        ServingRefusedError: it is not.
        InvalidRequestError: it has tools that are not run here, and leaving them out is not allowed.
    """
    if intent.left_out_tools and policy.hosted_tools is HostedTools.REFUSE:
        place, kind = next(iter(intent.left_out_tools.items()))
        message = (
            f"`{place}` is of type `{kind}`, which is not supported: nothing here runs tools that are hosted elsewhere"
        )
        raise InvalidRequestError(RequestFault.UNSUPPORTED_PARAMETER, message, param=f"{place}.type")
    answer = decide(policy, asked_of(intent), able)
    if isinstance(answer, NotGranted):
        raise ServingRefusedError(answer.refusal, answer.message, param=_place(answer.part, intent))
    return answer


def asked_of(intent: GenerationIntent) -> Asked:
    """What of a request the policy has a say in."""
    return Asked(
        model=intent.model,
        contract=_origin(intent),
        uses_tools=intent.toolbox is not None,
        is_streamed=intent.stream,
        wants_reasoning=intent.wants_reasoning,
        wants_logprobs=intent.top_logprobs is not None,
    )


def _origin(intent: GenerationIntent) -> ContractOrigin:
    match intent.contract:
        case None:
            return ContractOrigin.NONE
        case InlineContract():
            return ContractOrigin.INLINE
        case NamedContract():
            return ContractOrigin.REGISTERED
        case _:
            assert_never(intent.contract)


def _place(part: AskedPart, intent: GenerationIntent) -> str:
    """Where the caller wrote that part."""
    match part:
        case AskedPart.CONTRACT:
            assert intent.contract is not None
            return intent.contract.param
        case AskedPart.MODEL | AskedPart.TOOLS | AskedPart.STREAM | AskedPart.LOGPROBS | AskedPart.REASONING:
            return part.value
        case _:
            assert_never(part)
