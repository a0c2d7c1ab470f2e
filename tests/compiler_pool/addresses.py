"""Addresses and sealed artifacts for tests of what keeps them."""

import json
from dataclasses import replace

from compiler_pool.artifact import Artifact, ArtifactAddress, TokenizerDigest
from compiler_pool.cache import CachedFrame
from compiler_pool.frame import KeyRing, seal
from policy.limits import TENANT
from registry.contract import ContractDigest

RING = KeyRing.from_text("k1:" + "ab" * 32)
COST = {
    "queue_ms": 1.0, "lower_ms": 1.0, "compile_ms": 1.0, "trial_ms": 1.0, "cpu_ms": 20.0, "first_mask_ms": 0.1,
    "worst_mask_us": 9.0, "num_trial_steps": 256,
}  # fmt: skip


def an_address(name: str = "a", *, partition: str = "t", limits: str = "tenant") -> ArtifactAddress:
    """One address for each name."""
    return ArtifactAddress(
        contract_digest=ContractDigest(f"sha256:{name}"),
        tokenizer_digest=TokenizerDigest("sha256:tokenizer"),
        engine="llguidance",
        engine_version="1",
        lowering_version="1",
        policy_digest="sha256:policy",
        limits=limits,
        tenant_partition=partition,
    )


def an_entry(
    address: ArtifactAddress, ring: KeyRing = RING, *, num_characters: int = 100, cpu_ms: float = 20.0
) -> CachedFrame:
    """A sealed artifact for the address."""
    artifact = Artifact(
        address=address,
        grammar="x" * num_characters,
        engine_budget=replace(TENANT.engine),
        report=(),
        compile_ms=3.0,
        cpu_ms=cpu_ms,
    )
    return CachedFrame(frame=seal(artifact, ring), cost=json.dumps(COST | {"cpu_ms": cpu_ms}).encode(), cpu_ms=cpu_ms)
