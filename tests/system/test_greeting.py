"""The first thing a new user does is to paste the printed line."""

import json
import shlex
import subprocess

import jsonschema
import pytest

from cli.up.greeting import example_request
from tests.system.product import Product

pytestmark = pytest.mark.system


def test_the_printed_curl_line_returns_a_complete_object(product: Product) -> None:
    line = next(line for line in product.greeting.splitlines() if line.startswith("curl "))
    answer = json.loads(subprocess.run(shlex.split(line), check=True, capture_output=True, timeout=120).stdout)
    request = example_request("any")
    schema = request["response_format"]["json_schema"]["schema"]  # type: ignore[index]
    document = json.loads(answer["choices"][0]["message"]["content"])
    jsonschema.validate(document, schema)
    extension = answer["schemagate"]
    assert extension["completion"] == "complete"
    assert extension["contract"]["digest"].startswith("sha256:")
    assert extension["tokenizer_digest"].startswith("sha256:")
    assert extension["artifact_key"]
    assert extension["contract"]["enforcement"]["enforced"] > 0
    assert extension["timings"]
