"""What an operator looks at: every metric of the dashboard exists in a live scrape."""

import json
import re

import httpx
import pytest

from tests.conftest import ROOT
from tests.system.product import Product

pytestmark = pytest.mark.system

DASHBOARD = ROOT / "dashboards" / "schemagate.json"


def live_metric_names(product: Product) -> set[str]:
    names: set[str] = set()
    for url in (product.gateway_url, product.pool_url, product.node_url):
        answer = httpx.get(f"{url}/metrics", timeout=10)
        assert answer.status_code == httpx.codes.OK
        names.update(re.findall(r"^([a-zA-Z_:][a-zA-Z0-9_:]*)[{ ]", answer.text, flags=re.MULTILINE))
    return names


def dashboard_metric_names() -> set[str]:
    board = json.loads(DASHBOARD.read_text())
    expressions = [target["expr"] for panel in board["panels"] for target in panel.get("targets", ())]
    assert expressions
    return {name for expression in expressions for name in re.findall(r"\bschemagate_[a-z0-9_]+\b", expression)}


def test_every_metric_of_the_dashboard_is_in_a_live_scrape(product: Product) -> None:
    model = httpx.get(f"{product.gateway_url}/v1/models", headers=product.headers, timeout=10).json()["data"][0]["id"]
    for body in ({"response_format": {"type": "json_object"}, "max_tokens": 8}, {"max_tokens": 8}):
        httpx.post(
            f"{product.gateway_url}/v1/chat/completions",
            headers=product.headers,
            json={"model": model, "messages": [{"role": "user", "content": "hi"}], **body},
            timeout=60,
        )
    missing = dashboard_metric_names() - live_metric_names(product)
    assert not missing


@pytest.mark.parametrize("probe", ["healthz", "readyz"])
def test_every_service_answers_its_probes(product: Product, probe: str) -> None:
    for url in (product.gateway_url, product.pool_url, product.node_url):
        assert httpx.get(f"{url}/{probe}", timeout=10).status_code == httpx.codes.OK
