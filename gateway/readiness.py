"""Whether the gateway can serve: what `/readyz` says. Liveness (`/healthz`) asks nothing of anybody."""

import asyncio
from dataclasses import dataclass
from typing import Literal

from gateway.auth.store import KeyStore
from gateway.budgets.ledger import BudgetLedger
from gateway.compatibility.service import ComparisonService
from gateway.compilers import Compiler
from gateway.judging import Validator
from gateway.nodes import NodeDirectory

_PING_SECONDS = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    """`degraded` still serves: what is cached, or on fewer nodes. Reasons name the part, not its address."""

    state: Literal["ready", "degraded", "unavailable"]
    reasons: tuple[str, ...]


class ReadinessProbe:
    """Looks at every part that a request needs."""

    def __init__(
        self,
        *,
        store: KeyStore,
        compiler: Compiler,
        nodes: NodeDirectory,
        validator: Validator,
        comparisons: ComparisonService | None = None,
        ledger: BudgetLedger | None = None,
        has_other_backends: bool = False,
    ) -> None:
        self._store = store
        self._compiler = compiler
        self._nodes = nodes
        self._validator = validator
        self._comparisons = comparisons
        self._ledger = ledger
        self._has_other_backends = has_other_backends

    async def check(self) -> Readiness:
        """The state now."""
        fatal: list[str] = []
        partial: list[str] = []
        try:
            async with asyncio.timeout(_PING_SECONDS):
                await self._store.ping()
        except Exception:  # whatever a database driver raises: keys cannot be checked
            fatal.append("database: does not answer")
        down = [node for node in self._nodes.nodes if not node.is_live]
        # Anybody may ask: what the log says of a neighbour (addresses, exceptions) stays in the log.
        reasons = [f"node {number}: does not serve" for number, node in enumerate(self._nodes.nodes) if node in down]
        # Backends that are not ours are not asked: a request finds out. What needs neither node nor compiler is served.
        needed = partial if self._has_other_backends else fatal
        (needed if len(down) == len(self._nodes.nodes) else partial).extend(reasons)
        if self._compiler.identity is None:
            needed.append("compiler pool: does not answer")
        elif not self._compiler.is_live:
            partial.append("compiler pool: does not answer")
        else:
            partial.extend(self._uncompilable())
        if self._validator.num_ready == 0:
            fatal.append("validator: no process is ready")
        if self._comparisons is not None and self._comparisons.num_ready == 0:
            partial.append("comparisons: no process is ready")
        if self._ledger is not None and self._ledger.degradation is not None:
            partial.append(self._ledger.degradation)
        state: Literal["ready", "degraded", "unavailable"] = (
            "unavailable" if fatal else "degraded" if partial else "ready"
        )
        return Readiness(state=state, reasons=(*fatal, *partial))

    def _uncompilable(self) -> list[str]:
        return [
            f"model {offer.model}: the compiler pool has not its tokenizer"
            for offer in self._nodes.offers()
            if offer.tokenizer_digest not in self._compiler.tokenizers
        ]
