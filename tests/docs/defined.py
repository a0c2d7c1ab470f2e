"""What the code defines and the notes have to name: settings, metrics, error codes."""

import re

from prometheus_client import CollectorRegistry
from pydantic_settings import BaseSettings

from compiler_pool.metrics import PoolMetrics
from compiler_pool.settings import PoolSettings
from gateway.auth.oidc.settings import OidcSettings
from gateway.budgets.settings import BudgetSettings
from gateway.metrics import GatewayMetrics
from gateway.problem_rows import NODE_FAULTS, REASONS, REJECTIONS, REQUEST_FAULTS, SERVING_REFUSALS, UPSTREAM_FAULTS
from gateway.settings import GatewaySettings
from inference_node.metrics import NodeMetrics
from inference_node.settings import NodeSettings
from tests.conftest import ROOT


def settings_classes() -> tuple[type[BaseSettings], ...]:
    """Of all three processes, with those that are settings of their own."""
    return (GatewaySettings, BudgetSettings, OidcSettings, PoolSettings, NodeSettings)


def defined_metrics() -> set[str]:
    """The names of all series, as expressions spell them."""
    return {name for registry in _registries() for name in _names(registry)}


def gateway_metrics() -> set[str]:
    """The names of the gateway's own metrics, as the operator's guide spells them."""
    return _own_names(GatewayMetrics().registry)


def node_metrics() -> set[str]:
    """The names of a node's metrics, as its guide spells them."""
    return _own_names(NodeMetrics().registry)


def error_codes() -> set[str]:
    """Every code that an answer in OpenAI's shape can have, but for those of states, which have a test of their own."""
    rows = {row.code for table in (NODE_FAULTS, UPSTREAM_FAULTS, REASONS) for row in table.values()}
    closed = {str(code) for table in (REQUEST_FAULTS, REJECTIONS, SERVING_REFUSALS) for code in table}
    written: set[str] = set()
    for name in ("problems.py", "registry_problems.py"):
        source = (ROOT / "gateway" / name).read_text()
        written.update(re.findall(r'code="(\w+)"', source))
        written.update(re.findall(r'_(?:refused|conflict)\(error, (?:\d+, )?"(\w+)"', source))
    # Nobody reads it: the caller has gone.
    return (rows | closed | written) - {"cancelled"}


def _own_names(registry: CollectorRegistry) -> set[str]:
    return {
        f"{metric.name}_total" if metric.type == "counter" else metric.name
        for metric in registry.collect()
        if metric.name.startswith("schemagate_")
    }


def _registries() -> tuple[CollectorRegistry, ...]:
    pool = PoolMetrics()
    # Gauges that the running pool reads at each scrape.
    for name in (
        "schemagate_compile_queue_depth",
        "schemagate_compile_workers_ready",
        "schemagate_compile_cache_bytes",
    ):
        pool.watch(name, name, lambda: 0.0)
    pool.watch_waiting(lambda urgency: 0)
    return (GatewayMetrics().registry, pool.registry, NodeMetrics().registry)


def _names(registry: CollectorRegistry) -> set[str]:
    names: set[str] = set()
    for metric in registry.collect():
        match metric.type:
            case "counter":
                names.add(f"{metric.name}_total")
            case "histogram":
                names.update(f"{metric.name}_{part}" for part in ("bucket", "sum", "count"))
            case _:
                names.add(metric.name)
    return names
