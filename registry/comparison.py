"""Two contracts side by side, registered or sent along, and whether a revision would be let in."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeAlias

from policy.enforcement import EnforcementPolicy
from policy.limits import TENANT
from registry.compatibility.comparison import Comparison
from registry.compatibility.modes import CompatibilityMode
from registry.contract import ContractKind, JsonValue
from registry.dependencies import Dependencies
from registry.identifiers import TenantId
from registry.measuring import Comparer
from registry.naming import ByNumber, Reference
from registry.reader import Reader
from registry.registrar import Registrar
from registry.registration import Registration, RegistrationOutcome
from registry.resolution import Resolving
from registry.revision import Actor


@dataclass(frozen=True, slots=True, kw_only=True)
class InlineDefinition:
    """A contract that is not registered."""

    kind: ContractKind
    definition: JsonValue
    dialect: str | None = None
    policy: EnforcementPolicy = EnforcementPolicy()
    references: Mapping[str, ByNumber] = field(default_factory=lambda: MappingProxyType({}))
    """Revisions that the text refers to by URIs of its own choosing (Confluent references)."""


Side: TypeAlias = Reference | InlineDefinition


class Comparisons:
    """Answers of the comparer on what the asker may see."""

    def __init__(
        self,
        comparer: Comparer,
        resolver: Resolving,
        registrar: Registrar,
        dependencies: Dependencies,
        reader: Reader,
    ) -> None:
        self._comparer = comparer
        self._resolver = resolver
        self._registrar = registrar
        self._dependencies = dependencies
        self._reader = reader

    async def compare(self, viewer: TenantId, old: Side, new: Side) -> Comparison:
        """What `new` allows and forbids against `old`. Raises whatever naming or reading a side may raise."""
        return await self._comparer.compare(await self._text(viewer, old), await self._text(viewer, new))

    async def check(
        self, actor: Actor, registration: Registration, *, level: CompatibilityMode | None = None
    ) -> RegistrationOutcome:
        """What registering would find, under the contract's level or another; nothing is stored.

        An incompatible or undecided verdict is an answer here, not an error.
        """
        return await self._registrar.check(actor, registration, level=level)

    async def _text(self, viewer: TenantId, side: Side) -> tuple[ContractKind, str]:
        if not isinstance(side, InlineDefinition):
            revision = (await self._resolver.resolve(side, viewer, serving=False)).revision
            return revision.kind, revision.canonical_text
        gathered = await self._dependencies.gather(
            viewer, side.kind, side.definition, references=side.references, limits=TENANT.references
        )
        contract = await self._reader.read(
            side.kind,
            side.definition,
            limits=TENANT.contract,
            policy=side.policy,
            texts=gathered.texts,
            dialect=side.dialect,
            tenant=viewer,
        )
        return contract.kind, contract.text
