"""What is composed for a test, with the real engine, the judge and the splitter to ask."""

from typing import Any, cast

from gateway.auth.authenticator import Caller
from gateway.composition.composer import Allowed, Composer
from gateway.composition.composition import Composition
from gateway.composition.splitter import Splitter
from gateway.identifiers import KeyId, TenantPartition
from gateway.intake import ContractIntake
from gateway.intent import CustomTool, FunctionTool, InlineContract, Tool, Toolbox, ToolMode
from gateway.outcome import TakenContract
from gateway.stages import StageClock
from inference_node.tool_dialects.dialect import ToolDialect
from inference_node.tool_dialects.hermes import NEUTRAL
from policy.entitlement import Entitlements
from policy.roles import Role
from registry.contract import ContractKind, JsonValue
from registry.identifiers import PrincipalId, TenantId
from registry.resolution import Resolver
from registry.revision import Actor
from tests.compiler_pool.kinds.generation import Generation

CALLER = Caller(
    tenant=TenantId("t"),
    key_id=KeyId("k"),
    partition=TenantPartition("p"),
    actor=Actor(tenant=TenantId("t"), principal=PrincipalId("k"), roles=frozenset({Role.CALLER})),
)
VERDICT: JsonValue = {
    "type": "object",
    "properties": {"verdict": {"type": "string"}},
    "required": ["verdict"],
    "additionalProperties": False,
}
ID: JsonValue = {
    "type": "object",
    "properties": {"id": {"type": "integer", "minimum": 1}},
    "required": ["id"],
    "additionalProperties": False,
}


def intake() -> ContractIntake:
    entitlements = Entitlements(governed_tenants=frozenset())
    # Nothing is named here, so nothing is resolved.
    return ContractIntake(resolver=cast("Resolver", None), entitlements=entitlements, memo_bytes=1_000_000)


def function(name: str, parameters: JsonValue, *, index: int = 0, strict: bool = False) -> FunctionTool:
    return FunctionTool(
        name=name,
        description=None,
        parameters=parameters,
        strict=strict,
        param=f"tools[{index}].function.parameters",
    )


def custom(name: str, kind: ContractKind | None = None, definition: str = "") -> CustomTool:
    return CustomTool(name=name, description=None, kind=kind, definition=definition, param="tools[0].custom.format")


def toolbox(*tools: Tool, mode: ToolMode = ToolMode.AUTO, only: str | None = None, is_parallel: bool = True) -> Toolbox:
    names = frozenset({only} if only else {tool.name for tool in tools})
    return Toolbox(tools=tools, callable_names=names, mode=mode, is_parallel=is_parallel)


async def taken(schema: JsonValue, kind: ContractKind = ContractKind.JSON_SCHEMA, **fields: Any) -> TakenContract:
    sent = InlineContract(kind=kind, schema=schema, strict=fields.pop("strict", True), param="response_format")
    return await intake().take(sent, CALLER, StageClock())


async def composed(
    answer: TakenContract | None, box: Toolbox | None, *, dialect: ToolDialect = NEUTRAL, **allowed: bool
) -> Composition:
    return await Composer(intake(), CALLER, StageClock(), dialect).compose(answer, box, Allowed(**allowed))


class World:
    """A composition with the engine and the judge of what it enforces."""

    def __init__(self, composition: Composition) -> None:
        self.shape = composition.shape
        assert composition.taken is not None
        self._generation = Generation(composition.taken.contract.kind.value, composition.taken.contract.schema)

    def allows(self, text: str) -> bool:
        """Whether engine, judge and splitter take the text as a whole; they have to agree."""
        generated, judged = self._generation.generates(text), self._generation.judges(text)
        splitter = Splitter(self.shape)
        splitter.feed(text)
        splitter.end(is_cut=False)
        assert generated == judged, text
        if generated:
            assert splitter.is_closed, text
        return generated


LOOKUP = '<tool_call>\n{"name": "lookup", "arguments": {"id":7}}\n</tool_call>'
