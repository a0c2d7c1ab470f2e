"""The gateway's metrics. Label sets are closed lists: no tenant, key, digest, model name or path of a caller's."""

from collections.abc import Mapping
from typing import Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, ProcessCollector, generate_latest

from gateway.histogram import Durations
from gateway.stages import Stage
from policy.budget import Budget
from policy.prices import PARTS, Cost

_TIERS, _RESULTS = ("l1", "pool"), ("hit", "miss")
_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)


class GatewayMetrics:
    """One registry a gateway, so that two in one process never add up."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self.requests = Counter(
            "schemagate_gateway_requests_total",
            "Answers by route, HTTP status and completion class (`none` where nothing was decoded).",
            ("route", "status", "completion"),
            registry=self.registry,
        )
        self.request_seconds = Durations(
            "schemagate_gateway_request_duration_seconds",
            "From the first byte of a request to the last of its answer.",
            label="route",
            bounds=_SECONDS,
            registry=self.registry,
        )
        self.overhead_seconds = Durations(
            "schemagate_gateway_overhead_seconds",
            "What the gateway added to a chat completion: everything but waiting for tokens.",
            label="cache",
            bounds=_SECONDS,
            registry=self.registry,
        )
        self.stage_seconds = Durations(
            "schemagate_gateway_stage_duration_seconds",
            "Time in each stage of a request.",
            label="stage",
            bounds=_SECONDS,
            registry=self.registry,
        )
        for stage in Stage:
            self.stage_seconds.begin(stage.value)
        self.first_token_seconds = Durations(
            "schemagate_gateway_time_to_first_token_seconds",
            "From the first byte of a request to the first token event of the node.",
            bounds=_SECONDS,
            registry=self.registry,
        )
        self.in_flight = Gauge(
            "schemagate_gateway_requests_in_flight", "Requests being served.", registry=self.registry
        )
        self.cache = Counter(
            "schemagate_gateway_artifact_cache_total",
            "Look-ups of artifacts by tier (`l1` here, `pool` in the compiler pool) and result.",
            ("tier", "result"),
            registry=self.registry,
        )
        self.cache_bytes = Gauge(
            "schemagate_gateway_artifact_cache_bytes", "Size of the L1 artifact cache.", registry=self.registry
        )
        self.compiles = Counter(
            "schemagate_gateway_compile_outcomes_total",
            "What the compiler pool answered.",
            ("outcome",),
            registry=self.registry,
        )
        self.precompiles = Counter(
            "schemagate_gateway_precompiles_total",
            "Governed contracts compiled before anybody asked, by what became of it.",
            ("outcome",),
            registry=self.registry,
        )
        self.precompile_cpu_seconds = Counter(
            "schemagate_gateway_precompile_cpu_seconds_total",
            "CPU time of these compiles, which no tenant is charged for.",
            registry=self.registry,
        )
        self.precompiles_waiting = Gauge(
            "schemagate_gateway_precompiles_waiting",
            "Governed contracts whose turn has not come.",
            registry=self.registry,
        )
        self.contract_refusals = Counter(
            "schemagate_gateway_contract_refusals_total",
            "Contracts refused, by the code of the first rejection.",
            ("code",),
            registry=self.registry,
        )
        self.budget_refusals = Counter(
            "schemagate_gateway_budget_refusals_total",
            "Requests refused by a limit of their key, team or tenant, by limit.",
            ("budget",),
            registry=self.registry,
        )
        for budget in Budget:  # all of them from the start: what has not happened is 0, not unknown
            self.budget_refusals.labels(budget=budget.value)
        self.budget_questions = Counter(
            "schemagate_gateway_budget_questions_total",
            "What the shared ledger of budgets answered; anything but `answered` is why it did not.",
            ("outcome",),
            registry=self.registry,
        )
        self.budget_degraded = Gauge(
            "schemagate_gateway_budget_degraded",
            "1 while the shared ledger of budgets does not answer and this gateway grants its share.",
            registry=self.registry,
        )
        self.budget_owed = Gauge(
            "schemagate_gateway_budget_owed",
            "Ends of requests that the shared ledger has not been told of.",
            registry=self.registry,
        )
        self.lost_reservations = Counter(
            "schemagate_gateway_lost_reservations_total",
            "Reservations that nobody renewed, charged in full.",
            registry=self.registry,
        )
        self.cost = Counter(
            "schemagate_gateway_cost_micro_usd_total",
            "What requests came to, in millionths of a dollar, by part; those without a price are not in it.",
            ("part",),
            registry=self.registry,
        )
        for part in PARTS:
            self.cost.labels(part=part)
        self.accepted_objects = Counter(
            "schemagate_gateway_accepted_objects_total",
            "Answers that were complete under a contract.",
            registry=self.registry,
        )
        self.authentication_refusals = Counter(
            "schemagate_gateway_authentication_refusals_total",
            "Requests whose credentials were not taken, by reason.",
            ("reason",),
            registry=self.registry,
        )
        self.registry_refusals = Counter(
            "schemagate_gateway_registry_refusals_total",
            "What the registry did not do or give out, by error code.",
            ("code",),
            registry=self.registry,
        )
        self.resolutions = Counter(
            "schemagate_gateway_resolutions_total",
            "Contracts resolved by name for requests, by signature status and state.",
            ("signature", "state"),
            registry=self.registry,
        )
        self.replays = Counter(
            "schemagate_gateway_idempotent_replays_total",
            "Writes with an `Idempotency-Key` that was known, by what became of them.",
            ("result",),
            registry=self.registry,
        )
        self.usage_dropped = Counter(
            "schemagate_gateway_usage_dropped_total",
            "Served requests that no revision's usage was counted for, because too many revisions were.",
            registry=self.registry,
        )
        self.validations = Counter(
            "schemagate_gateway_validations_total",
            "Verdicts of the final validator.",
            ("verdict",),
            registry=self.registry,
        )
        self.rules = Counter(
            "schemagate_gateway_rules_total",
            "Operators' rules over finished answers, by kind, where they are evaluated, and verdict.",
            ("kind", "source", "verdict"),
            registry=self.registry,
        )
        self.backend_requests = Counter(
            "schemagate_gateway_backend_requests_total",
            "Attempts at backends that speak OpenAI's API, by the operator's name for them and what became of each.",
            ("backend", "outcome"),
            registry=self.registry,
        )
        self.downgrades = Counter(
            "schemagate_gateway_downgrades_total",
            "Answers under a contract that no grammar enforced, by what stood in for it and completion class.",
            ("downgrade", "completion"),
            registry=self.registry,
        )
        self.tokens = Counter(
            "schemagate_gateway_tokens_total",
            "Tokens by kind; `forced` is a part of `completion`.",
            ("kind",),
            registry=self.registry,
        )
        # Looked up once: by name, each costs as much as what it counts.
        self._of_answers: dict[tuple[str, str, str], Counter] = {}
        self._of_verdicts: dict[str, Counter] = {}
        self._of_cache = {(tier, result): self.cache.labels(tier, result) for tier in _TIERS for result in _RESULTS}
        self._of_tokens = [self.tokens.labels(kind=kind) for kind in ("prompt", "completion", "forced")]
        self.nodes = Gauge("schemagate_gateway_nodes", "Inference nodes by state.", ("state",), registry=self.registry)
        self.pool_live = Gauge(
            "schemagate_gateway_pool_live", "1 while the compiler pool answers.", registry=self.registry
        )

    def count_cost(self, cost: Cost | None) -> None:
        """Count what a request came to, if that is known."""
        for part, amount in ({} if cost is None else cost.parts()).items():
            self.cost.labels(part=part).inc(float(amount * 1_000_000))

    def observe_stages(self, seconds: Mapping[Stage, float]) -> None:
        """Record the stages a request passed."""
        observe = self.stage_seconds.observe
        for stage, value in seconds.items():
            observe(value, stage)

    def count_look_up(self, tier: Literal["l1", "pool"], result: Literal["hit", "miss"]) -> None:
        """Record that an artifact was looked for."""
        self._of_cache[tier, result].inc()

    def count_answer(self, *, route: str, status: int, completion: str) -> None:
        """Record how a request was answered."""
        child = self._of_answers.get(address := (route, str(status), completion))
        if child is None:
            child = self._of_answers[address] = self.requests.labels(*address)
        child.inc()

    def count_verdict(self, verdict: str) -> None:
        """Record what the validator said."""
        child = self._of_verdicts.get(verdict)
        if child is None:
            child = self._of_verdicts[verdict] = self.validations.labels(verdict)
        child.inc()

    def count_tokens(self, *, prompt: int, completion: int, forced: int) -> None:
        """Record what a request used."""
        for child, number in zip(self._of_tokens, (prompt, completion, forced), strict=True):
            if number:
                child.inc(number)

    def exposition(self, *, num_live: int, num_down: int, is_pool_live: bool) -> bytes:
        """The text format, for `/metrics`, with the neighbours' state as it is now."""
        self.nodes.labels(state="live").set(num_live)
        self.nodes.labels(state="down").set(num_down)
        self.pool_live.set(is_pool_live)
        return generate_latest(self.registry)
