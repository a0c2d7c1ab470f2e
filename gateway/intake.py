"""Stages 3 to 5: from a contract as it was sent or named to one that may be compiled, or a refusal by name.

A contract that was seen before is found by its own spelling, or by its revision's id, so that the warm path neither
canonicalises nor negotiates. The memory is per tenant: another tenant's timing must not tell that somebody sent the
same schema.
"""

import asyncio
from dataclasses import replace
from hashlib import sha256

from compiler_pool.bounded_cache import BoundedCache
from compiler_pool.cache import SHARED_PARTITION
from gateway.auth.authenticator import Caller
from gateway.errors import ContractLookupError, ContractRefusedError
from gateway.identifiers import TenantPartition
from gateway.intent import Contract, InlineContract, NamedContract
from gateway.outcome import TakenContract
from gateway.stages import Stage, StageClock
from policy.capability import LLGUIDANCE_1_9_1, Plan, negotiate
from policy.enforcement import EnforcementPolicy
from policy.entitlement import Entitlements
from policy.limits import GOVERNED, TENANT, LimitClass
from policy.text_bounds import UNBOUNDED, TextBounds
from registry.contract import CanonicalContract, ContractKind, JsonValue
from registry.errors import MAX_REJECTIONS, ContractRejectedError, RegistryError, StateError
from registry.reading import read_contract
from registry.resolution import Resolver
from registry.revision import ContractClass, ResolvedRevision, Revision, SignatureStatus, Visibility
from registry.uses import keyword_uses

_INLINE_CHARACTERS = 4096
"""A longer contract is canonicalised beside the event loop."""

_BYTES_PER_CHARACTER = 24
"""Measured: what a canonical contract holds in memory for each character of its text, parsed schema included."""

MATRIX = LLGUIDANCE_1_9_1
"""The engine behind every pool and node of this version."""

STRICT = EnforcementPolicy()
"""`strict: true`: everything is in the grammar, or the contract is refused."""
CHECKED = EnforcementPolicy(allow_checked_after=True)
"""Otherwise: what cannot be in the grammar is left to the validator, and the answer fails if it is broken."""

GOVERNED_PARTITION = TenantPartition(SHARED_PARTITION)
"""Artifacts that all tenants share. No tenant's own partition is called so: those are 64 hexadecimal digits."""


class ContractIntake:
    """Takes contracts in."""

    def __init__(
        self, *, resolver: Resolver, entitlements: Entitlements, memo_bytes: int, bounds: TextBounds = UNBOUNDED
    ) -> None:
        self._resolver = resolver
        self._entitlements = entitlements
        self._bounds = bounds
        self._strict, self._checked = self._bounded(STRICT), self._bounded(CHECKED)
        self._memo: BoundedCache[bytes, CanonicalContract] = BoundedCache(max_bytes=memo_bytes)

    async def take(
        self, contract: Contract, caller: Caller, clock: StageClock, *, serving: bool = True
    ) -> TakenContract:
        """The contract, read. `serving` says that output is to be made under it, which not every revision is for.

        Raises:
            ContractLookupError: it was named, and the registry does not give it out.
            ContractRefusedError: it cannot be read, is over a limit, or uses what is not enforceable.
        """
        match contract:
            case InlineContract():
                return await self._take_inline(contract, caller.partition, clock)
            case NamedContract():
                return await self._take_named(contract, caller, clock, serving=serving)

    async def _take_inline(
        self, inline: InlineContract, partition: TenantPartition, clock: StageClock
    ) -> TakenContract:
        policy = self._strict if inline.strict else self._checked
        with clock.time(Stage.CANONICALISE):
            spelling = repr(inline.schema)  # of exact JSON: injective, in member order, and made in C
            address = _address("sent", partition, inline.kind, policy.digest, spelling)
            known = self._memo.get(address)
        if known is None:
            with clock.time(Stage.CANONICALISE):
                known = await _canonicalise(inline, policy, len(spelling))
            self._remember(address, known, policy, inline.param, clock, owner=partition)
        return TakenContract(
            contract=known,
            policy=policy,
            param=inline.param,
            limits=TENANT,
            partition=partition,
            sent_as=inline.dialect,
        )

    async def _take_named(
        self, named: NamedContract, caller: Caller, clock: StageClock, *, serving: bool
    ) -> TakenContract:
        with clock.time(Stage.RESOLVE):
            try:
                resolved = await self._resolver.resolve(named.name, caller.tenant, serving=serving)
            except RegistryError as error:
                raise ContractLookupError(error, param=named.param) from None
        revision = resolved.revision
        limits = self._limits(resolved, named.param)
        address = _address("revision", caller.partition, revision.revision_id, limits.name)
        known = self._memo.get(address)
        if known is None:
            with clock.time(Stage.CANONICALISE):
                known = await self._canonical(revision, limits, caller, named.param)
            self._remember(address, known, revision.policy, named.param, clock, owner=caller.partition)
        return TakenContract(
            contract=known,
            policy=self._bounded(revision.policy),
            param=named.param,
            limits=limits,
            partition=GOVERNED_PARTITION if _is_common(resolved) else caller.partition,
            resolved=resolved,
        )

    async def take_composed(
        self,
        kind: ContractKind,
        value: JsonValue,
        *,
        may_check_after: bool,
        limits: LimitClass,
        param: str,
        resolved: ResolvedRevision | None,
        caller: Caller,
        clock: StageClock,
    ) -> TakenContract:
        """A structural tag or Lark text that was made of contracts which were taken before, and of markup.

        Its artifact is the caller's own, whatever it was made of: what else stands in it is the caller's.

        Raises:
            ContractRefusedError: together they are over a limit. It points into `value`.
        """
        policy = self._checked if may_check_after else self._strict
        with clock.time(Stage.CANONICALISE):
            spelling = repr(value)
            address = _address("composed", kind, caller.partition, limits.name, policy.digest, spelling)
            known = self._memo.get(address)
            if known is None:
                inline = InlineContract(kind=kind, schema=value, strict=True, param=param)
                # Each part was within its limits for a grammar, and the whole is held to those of a larger one.
                sizes = limits if kind is ContractKind.STRUCTURAL_TAG else GOVERNED
                known = await _canonicalise(inline, policy, len(spelling), limits=sizes)
                self._memo.put(address, known, num_bytes=len(known.text) * _BYTES_PER_CHARACTER, owner=caller.partition)
        return TakenContract(
            contract=known, policy=policy, param=param, limits=limits, partition=caller.partition, resolved=resolved
        )

    def _bounded(self, policy: EnforcementPolicy) -> EnforcementPolicy:
        """The policy within this installation's bounds, which no revision is signed with."""
        return replace(policy, bounds=self._bounds)

    def _limits(self, resolved: ResolvedRevision, param: str) -> LimitClass:
        """The limits of the contract's class, as long as the installation still grants it to the owner."""
        if resolved.contract.contract_class is not ContractClass.GOVERNED:
            return TENANT
        if self._entitlements.may_govern(resolved.contract.tenant):
            return GOVERNED
        message = "this installation no longer lets its owner have governed contracts"
        raise ContractLookupError(StateError("governed_not_allowed", message), param=param)

    async def _canonical(self, revision: Revision, limits: LimitClass, caller: Caller, param: str) -> CanonicalContract:
        try:
            return await self._resolver.canonical(revision, limits.contract, viewer=caller.tenant)
        except RegistryError as error:
            raise ContractLookupError(error, param=param) from None

    def _remember(
        self,
        address: bytes,
        contract: CanonicalContract,
        policy: EnforcementPolicy,
        param: str,
        clock: StageClock,
        *,
        owner: TenantPartition,
    ) -> None:
        """Keep what may be compiled, and refuse the rest."""
        with clock.time(Stage.NEGOTIATE):
            _negotiate(contract, policy, param)
        self._memo.put(address, contract, num_bytes=len(contract.text) * _BYTES_PER_CHARACTER, owner=owner)


def _is_common(resolved: ResolvedRevision) -> bool:
    """Whether its artifact may be shared by all tenants: everybody may know that it is there, and it was promoted.

    A private contract's would tell another tenant, by the time of an answer, that it exists.
    """
    return (
        resolved.contract.contract_class is ContractClass.GOVERNED
        and resolved.contract.visibility is Visibility.SHARED
        and resolved.signature is SignatureStatus.SIGNED
        and resolved.alias is not None
    )


async def _canonicalise(
    inline: InlineContract, policy: EnforcementPolicy, num_characters: int, *, limits: LimitClass = TENANT
) -> CanonicalContract:
    def read() -> CanonicalContract:
        return read_contract(inline.kind, inline.schema, limits=limits.contract, policy=policy)

    try:
        if num_characters <= _INLINE_CHARACTERS:
            return read()
        return await asyncio.to_thread(read)
    except ContractRejectedError as error:
        raise ContractRefusedError(error.rejections, param=inline.param) from None


def _negotiate(contract: CanonicalContract, policy: EnforcementPolicy, param: str) -> None:
    """Refuse what no value of a keyword could make enforceable; the rest is the lowering's to decide, use by use.

    Schemas inside contracts of other kinds are the lowering's altogether.
    """
    if contract.kind is not ContractKind.JSON_SCHEMA:
        return
    answer = negotiate(keyword_uses(contract.schema), MATRIX, policy)
    if not isinstance(answer, Plan):
        rejections = tuple(each.with_pointer(contract.source_pointer(each.pointer)) for each in answer)
        raise ContractRefusedError(rejections[:MAX_REJECTIONS], param=param)


def _address(*parts: str) -> bytes:
    digest = sha256()
    for part in parts:
        data = part.encode()
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.digest()
