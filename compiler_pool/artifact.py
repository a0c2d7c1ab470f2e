"""The artifact: everything a node needs to decode under a contract, and everything a report says about it."""

from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import NewType

from policy.enforcement import ReportEntry
from policy.limits import EngineBudget as EngineBudget  # noqa: PLC0414 - a re-export: nodes meet it here
from policy.text_bounds import TextReport
from registry.contract import ContractDigest

TokenizerDigest = NewType("TokenizerDigest", str)
"""`sha256:<64 hex>` over what decides which bytes a token id stands for (`compiler_pool.tokenizer`)."""

ArtifactKey = NewType("ArtifactKey", str)
"""64 hex characters: a cache address, derived from identities. Says nothing to who cannot compute it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactAddress:
    """The parts of an artifact key. Change any and it is another artifact."""

    contract_digest: ContractDigest
    tokenizer_digest: TokenizerDigest
    engine: str
    engine_version: str
    lowering_version: str
    policy_digest: str
    limits: str
    tenant_partition: str

    @property
    def key(self) -> ArtifactKey:
        """SHA-256 over the parts, each preceded by its length, so that no two addresses can run together."""
        return _key(self)


@lru_cache(maxsize=4096)
def _key(address: ArtifactAddress) -> ArtifactKey:
    digest = sha256()
    for part in (
        address.contract_digest, address.tokenizer_digest, address.engine, address.engine_version,
        address.lowering_version, address.policy_digest, address.limits, address.tenant_partition,
    ):  # fmt: skip
        data = part.encode()
        digest.update(len(data).to_bytes(4, "big") + data)
    return ArtifactKey(digest.hexdigest())


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """A compiled contract. The portable form is Lark text: the engine's automaton cannot be serialised."""

    address: ArtifactAddress
    grammar: str
    engine_budget: EngineBudget
    report: tuple[ReportEntry, ...]
    text: TextReport = TextReport()
    compile_ms: float
    cpu_ms: float

    @property
    def key(self) -> ArtifactKey:
        """The address's key; a node recomputes it and refuses an artifact filed under another."""
        return self.address.key
