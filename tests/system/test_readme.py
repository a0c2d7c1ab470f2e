"""The requests and programs of the README and of what follows it, as they are printed, against the running product."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.conftest import ROOT
from tests.system.product import Product

pytestmark = [pytest.mark.system, pytest.mark.timeout(600)]

README = (ROOT / "README.md").read_text()
CLIENTS = (ROOT / "docs" / "clients.md").read_text()
PRINTED_URL = "http://127.0.0.1:8080"
INVOICE = {
    "type": "object",
    "properties": {"number": {"type": "string", "pattern": "^INV-[0-9]{4}$"}, "total": {"type": "integer"}},
    "required": ["number", "total"],
    "additionalProperties": False,
}


def here(text: str, product: Product) -> str:
    return text.replace(PRINTED_URL, product.gateway_url).replace("sg_…", product.api_key)


def test_every_program_runs_one_after_another(product: Product, tmp_path: Path) -> None:
    contracts = f"{product.gateway_url}/v1/contracts"
    registered = httpx.post(contracts, headers=product.headers, json={"name": "invoice", "schema": INVOICE}, timeout=60)
    registered.raise_for_status()
    named = httpx.put(
        f"{contracts}/invoice/aliases/prod",
        headers={**product.headers, "If-None-Match": "*"},
        json={"revision": 1, "reason": "first"},
        timeout=60,
    )
    named.raise_for_status()
    programs = re.findall(r"^```python\n(.*?)^```$", README + CLIENTS, flags=re.MULTILINE | re.DOTALL)
    assert len(programs) == 5
    script = tmp_path / "readme.py"
    script.write_text(here("\n".join(programs), product))
    run = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False, timeout=300)
    assert run.returncode == 0, run.stderr
    lines = run.stdout.splitlines()
    assert re.fullmatch(r"city='.*' degrees=-?\d+ complete", lines[0])
    assert re.fullmatch(r"forecast city='.*' days=-?\d+", lines[1])
    assert lines[3] == "complete"
    assert re.fullmatch(r"completed city='.*' degrees=-?\d+", lines[4])
    assert re.fullmatch(r"TICKET-[0-9]{4}", lines[5])
    assert "'alias': 'prod'" in lines[6]


def test_every_request_gets_the_status_and_the_body_that_are_printed(product: Product) -> None:
    requests = re.findall(r"^\$ (curl .*?\}'$)", README, flags=re.MULTILINE | re.DOTALL)
    assert len(requests) == 2
    environment = {**os.environ, "SCHEMAGATE_API_KEY": product.api_key}
    answered, refused = (
        subprocess.run(
            ["bash", "-c", here(request, product)],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        ).stdout
        for request in requests
    )
    printed = json.loads(next(iter(re.findall(r"^```json\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL))))
    answer = json.loads(answered)
    # The values are the model's, and another processor's arithmetic may pick others.
    content, printed_content = (json.loads(each["choices"][0]["message"]["content"]) for each in (answer, printed))
    assert list(content) == list(printed_content)
    member, shown = answer["schemagate"], printed["schemagate"]
    for name in ("completion", "tokenizer_digest", "seed", "stop_cause"):
        assert member[name] == shown[name], name
    assert member["contract"]["digest"] == shown["contract"]["digest"]
    assert member["contract"]["enforcement"] == shown["contract"]["enforcement"]
    assert set(shown) <= set(member)
    head, _, body = refused.partition("\n\n")
    assert head.startswith("HTTP/1.1 400")
    error = json.loads(body)["error"]
    assert f'"message": "{error["message"]}"' in README
    assert f'"pointer": "{error["pointer"]}", "keyword": "{error["keyword"]}"' in README
