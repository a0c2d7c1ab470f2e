"""Stages 3 to 5: from a contract as it was sent to one that has a name and may be compiled, or a refusal by name.

A contract that was seen before is found by its own spelling, so that the warm path neither canonicalises nor
negotiates. The memory is per tenant: another tenant's timing must not tell that somebody sent the same schema.
"""

import asyncio
from hashlib import sha256

from gateway.bounded_cache import BoundedCache
from gateway.chat_request import Contract, InlineContract, NamedContract
from gateway.errors import ContractNotFoundError, ContractRefusedError
from gateway.identifiers import TenantPartition
from gateway.outcome import TakenContract
from gateway.stages import Stage, StageClock
from policy.capability import LLGUIDANCE_1_9_1, Plan, negotiate
from policy.enforcement import EnforcementPolicy
from policy.limits import LimitClass
from registry.contract import CanonicalContract
from registry.errors import MAX_REJECTIONS, ContractRejectedError
from registry.json_schema import read_json_schema
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


class ContractIntake:
    """Takes contracts in, under one limit class."""

    def __init__(self, *, limits: LimitClass, memo_bytes: int) -> None:
        self.limits = limits
        self._memo: BoundedCache[bytes, CanonicalContract] = BoundedCache(max_bytes=memo_bytes)

    async def take(self, contract: Contract, partition: TenantPartition, clock: StageClock) -> TakenContract:
        """The contract, read.

        Raises:
            ContractNotFoundError: it was named, and there is none of that name.
            ContractRefusedError: it cannot be read, is over a limit, or uses what is not enforceable.
        """
        with clock.time(Stage.RESOLVE):
            inline = _resolve(contract)
        policy = STRICT if inline.strict else CHECKED
        with clock.time(Stage.CANONICALISE):
            spelling = repr(inline.schema)  # of exact JSON: injective, in member order, and made in C
            address = _address(inline, policy, partition, spelling)
            known = self._memo.get(address)
        if known is None:
            with clock.time(Stage.CANONICALISE):
                known = await self._canonicalise(inline, policy, len(spelling))
            with clock.time(Stage.NEGOTIATE):
                _negotiate(known, policy, inline.param)
            self._memo.put(address, known, num_bytes=len(known.text) * _BYTES_PER_CHARACTER)
        return TakenContract(contract=known, policy=policy, param=inline.param)

    async def _canonicalise(
        self, inline: InlineContract, policy: EnforcementPolicy, num_characters: int
    ) -> CanonicalContract:
        def read() -> CanonicalContract:
            return read_json_schema(inline.schema, limits=self.limits.contract, policy=policy)

        try:
            if num_characters <= _INLINE_CHARACTERS:
                return read()
            return await asyncio.to_thread(read)
        except ContractRejectedError as error:
            raise ContractRefusedError(error.rejections, param=inline.param) from None


def _negotiate(contract: CanonicalContract, policy: EnforcementPolicy, param: str) -> None:
    """Refuse what no value of a keyword could make enforceable; the rest is the lowering's to decide, use by use."""
    answer = negotiate(keyword_uses(contract.schema), MATRIX, policy)
    if not isinstance(answer, Plan):
        rejections = tuple(each.with_pointer(contract.source_pointer(each.pointer)) for each in answer)
        raise ContractRefusedError(rejections[:MAX_REJECTIONS], param=param)


def _resolve(contract: Contract) -> InlineContract:
    match contract:
        case InlineContract():
            return contract
        case NamedContract():
            raise ContractNotFoundError(contract.name)


def _address(inline: InlineContract, policy: EnforcementPolicy, partition: TenantPartition, spelling: str) -> bytes:
    digest = sha256()
    for part in (partition, inline.kind, policy.digest, spelling):
        data = part.encode()
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.digest()
