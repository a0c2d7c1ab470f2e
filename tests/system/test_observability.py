"""What an operator looks at: every metric of the dashboard exists in a live scrape."""

import json
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from tests.conftest import ROOT
from tests.system.product import Product, free_ports

pytestmark = pytest.mark.system

DASHBOARD = ROOT / "dashboards" / "schemagate.json"
ALERTS = ROOT / "deploy" / "prometheus" / "alerts.yml"


def live_metric_names(product: Product) -> set[str]:
    names: set[str] = set()
    for url in (product.gateway_url, product.pool_url, product.node_url):
        answer = httpx.get(f"{url}/metrics", timeout=10)
        assert answer.status_code == httpx.codes.OK
        names.update(re.findall(r"^([a-zA-Z_:][a-zA-Z0-9_:]*)[{ ]", answer.text, flags=re.MULTILINE))
        # What has happened to nobody yet, and needs rules or other backends to happen, has a type and no value.
        names.update(re.findall(r"^# TYPE (schemagate_gateway_\w+_total) counter$", answer.text, flags=re.MULTILINE))
    return names


def dashboard_expressions() -> list[str]:
    board = json.loads(DASHBOARD.read_text())
    expressions = [target["expr"] for panel in board["panels"] for target in panel.get("targets", ())]
    assert expressions
    return expressions


def alert_expressions() -> list[str]:
    groups = yaml.safe_load(ALERTS.read_text())["groups"]
    expressions = [rule["expr"] for group in groups for rule in group["rules"]]
    assert expressions
    return expressions


def metric_names(expressions: list[str]) -> set[str]:
    return {name for each in expressions for name in re.findall(r"\bschemagate_[a-z0-9_]+\b", each)}


def ask_the_registry(product: Product) -> None:
    """A revision, twice under one key; a look at it, and one at what is not there."""
    model = httpx.get(f"{product.gateway_url}/v1/models", headers=product.headers, timeout=10).json()["data"][0]["id"]
    headers = {**product.headers, "Idempotency-Key": "the-dashboard"}
    body = {"name": "dashboard", "schema": {"enum": ["yes"]}}
    for _ in range(2):
        httpx.post(f"{product.gateway_url}/v1/contracts", headers=headers, json=body, timeout=60).raise_for_status()
    for reference in ("dashboard@1", "dashboard@2"):
        explained = {"contract": reference, "model": model}
        url = f"{product.gateway_url}/v1/contracts/explain"
        httpx.post(url, headers=product.headers, json=explained, timeout=60)


def test_every_metric_of_dashboard_and_alerts_is_in_a_live_scrape(product: Product) -> None:
    model = httpx.get(f"{product.gateway_url}/v1/models", headers=product.headers, timeout=10).json()["data"][0]["id"]
    refused = {"type": "json_schema", "json_schema": {"name": "x", "strict": True, "schema": {"not": {}, "x": 1}}}
    answered = {"type": "json_schema", "json_schema": {"name": "x", "strict": True, "schema": {"enum": ["yes"]}}}
    for body in (
        {"response_format": {"type": "json_object"}, "max_tokens": 8},
        {"response_format": answered, "max_tokens": 8},
        {"response_format": refused, "max_tokens": 8},
        {"max_tokens": 8},
    ):
        httpx.post(
            f"{product.gateway_url}/v1/chat/completions",
            headers=product.headers,
            json={"model": model, "messages": [{"role": "user", "content": "hi"}], **body},
            timeout=60,
        )
    ask_the_registry(product)
    missing = metric_names(dashboard_expressions() + alert_expressions()) - live_metric_names(product)
    assert not missing


@pytest.mark.parametrize("probe", ["healthz", "readyz"])
def test_every_service_answers_its_probes(product: Product, probe: str) -> None:
    for url in (product.gateway_url, product.pool_url, product.node_url):
        assert httpx.get(f"{url}/{probe}", timeout=10).status_code == httpx.codes.OK


PROMETHEUS = shutil.which("prometheus")


@pytest.mark.skipif(
    PROMETHEUS is None, reason="prometheus is not installed (Debian, Ubuntu: apt-get install prometheus)"
)
def test_a_real_prometheus_scrapes_all_and_evaluates_every_panel_and_alert(product: Product, tmp_path: Path) -> None:
    config = yaml.safe_load((ROOT / "deploy" / "prometheus" / "prometheus.yml").read_text())
    here = {
        "schemagate-gateway": product.gateway_url,
        "schemagate-pool": product.pool_url,
        "schemagate-node": product.node_url,
    }
    config["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    for job in config["scrape_configs"]:
        job["static_configs"] = [{"targets": [here[job["job_name"]].removeprefix("http://")]}]
    (tmp_path / "prometheus.yml").write_text(yaml.safe_dump(config))
    shutil.copy(ALERTS, tmp_path)
    (port,) = free_ports(1)
    with running_prometheus(tmp_path, port) as query:
        deadline = time.monotonic() + 60
        while len([one for one in query("up") if one["value"][1] == "1"]) < len(here):
            assert time.monotonic() < deadline, query("up")
            time.sleep(0.2)
        for expression in dashboard_expressions() + alert_expressions():
            query(expression.replace("$__rate_interval", "30s"))  # an error answer raises


@contextmanager
def running_prometheus(directory: Path, port: int) -> Iterator[Callable[[str], list[dict[str, Any]]]]:
    """A Prometheus of the test's own; yields instant queries."""
    assert PROMETHEUS is not None
    with (directory / "prometheus.log").open("wb") as log:
        process = subprocess.Popen(
            [
                PROMETHEUS,
                f"--config.file={directory / 'prometheus.yml'}",
                f"--storage.tsdb.path={directory / 'data'}",
                f"--web.listen-address=127.0.0.1:{port}",
            ],
            stdout=log,
            stderr=log,
        )

    def query(expression: str) -> list[dict[str, Any]]:
        try:
            answer = httpx.get(f"http://127.0.0.1:{port}/api/v1/query", params={"query": expression}, timeout=10)
        except httpx.TransportError:
            return []  # not up yet
        if answer.status_code == httpx.codes.SERVICE_UNAVAILABLE:
            return []
        assert answer.json()["status"] == "success", (expression, answer.text)
        result: list[dict[str, Any]] = answer.json()["data"]["result"]
        return result

    try:
        yield query
    finally:
        process.terminate()
        process.wait(timeout=15)
