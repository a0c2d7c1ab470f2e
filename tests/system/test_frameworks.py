"""LangChain, `instructor` and `pydantic-ai`, each in the clients' own environment, against the running product."""

import json
import os
import subprocess
from pathlib import Path

import httpx
import pytest

from tests.system.product import Product

pytestmark = pytest.mark.system

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv/clients/bin/python"
CLIENTS = ROOT / "tests/clients"
SECONDS = 300


# `make test` makes that environment; only a bare `pytest` beside it can be without.
@pytest.mark.skipif(not PYTHON.exists(), reason="the clients' environment is not there; `make .venv/clients` makes it")
@pytest.mark.parametrize("framework", ["langchain", "instructor", "pydantic_ai", "responses"])
def test_every_case_of_a_framework_passes(framework: str, product: Product) -> None:
    models = httpx.get(f"{product.gateway_url}/v1/models", headers=product.headers).json()
    finished = subprocess.run(
        [PYTHON, CLIENTS / f"{framework}_cases.py"],
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
        env={
            "PATH": os.environ["PATH"],
            "LANGSMITH_TRACING": "false",
            "SCHEMAGATE_TEST_BASE_URL": f"{product.gateway_url}/v1",
            "SCHEMAGATE_TEST_API_KEY": product.api_key,
            "SCHEMAGATE_TEST_MODEL": models["data"][0]["id"],
        },
    )
    assert finished.returncode == 0, finished.stderr
    results = json.loads(finished.stdout)
    failed = {name: said for name, said in results.items() if said != "passed"}
    assert not failed, "\n\n".join(f"{name}\n{said}" for name, said in failed.items())
    assert len(results) > 5
