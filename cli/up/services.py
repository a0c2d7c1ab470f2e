"""The three services of an embedded installation: what to run, with which environment, and how to ask it."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cli.up.layout import Layout


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """One process of the product. `environment` is laid over the supervisor's own."""

    name: str
    module: str
    port: int
    base_url: str
    log_path: Path
    environment: Mapping[str, str] = field(repr=False)  # holds secrets

    @property
    def command(self) -> list[str]:
        """This very interpreter, so that a service never runs another installation's code."""
        return [sys.executable, "-m", self.module]


def embedded_services(layout: Layout, *, model_dir: Path, artifact_keys: str, pepper: str) -> tuple[Service, ...]:
    """Pool and node first: the gateway asks both who they are."""
    host, ports = layout.host, layout.ports

    def service(name: str, module: str, port: int, environment: Mapping[str, str]) -> Service:
        return Service(
            name=name,
            module=module,
            port=port,
            base_url=layout.url(port),
            log_path=layout.log_dir / f"{name}.log",
            environment=environment,
        )

    return (
        service(
            "pool",
            "compiler_pool",
            ports.pool,
            {
                "SCHEMAGATE_POOL_HOST": host,
                "SCHEMAGATE_POOL_PORT": str(ports.pool),
                "SCHEMAGATE_POOL_TOKENIZERS": str(model_dir),
                "SCHEMAGATE_ARTIFACT_KEYS": artifact_keys,
            },
        ),
        service(
            "node",
            "inference_node",
            ports.node,
            {
                "SCHEMAGATE_NODE_HOST": host,
                "SCHEMAGATE_NODE_PORT": str(ports.node),
                "SCHEMAGATE_NODE_MODEL_DIR": str(model_dir),
                "SCHEMAGATE_ARTIFACT_KEYS": artifact_keys,
            },
        ),
        service(
            "gateway",
            "gateway",
            ports.gateway,
            {
                "SCHEMAGATE_GATEWAY_HOST": host,
                "SCHEMAGATE_GATEWAY_PORT": str(ports.gateway),
                "SCHEMAGATE_GATEWAY_POOL_URL": layout.url(ports.pool),
                "SCHEMAGATE_GATEWAY_NODE_URLS": layout.url(ports.node),
                "SCHEMAGATE_GATEWAY_DATABASE_URL": layout.database_url,
                "SCHEMAGATE_GATEWAY_KEY_PEPPER": pepper,
            },
        ),
    )
