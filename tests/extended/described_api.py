"""The API against its own description: thousands of requests that it allows, and thousands that it does not.

A gateway over twins on localhost; the cases are made and judged by schemathesis, in a process of its own. No answer may
be a failure of ours, and every answer has a status, a media type, headers and a body as they are described.

    python -m tests.extended.described_api --cases 5000
"""

import argparse
import asyncio
import json
import math
import os
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import httpx

from gateway.openapi.document import OPERATIONS
from inference_node.protocol import GenerateRequest
from tests.gateway.serving import served_gateway
from tests.gateway.twins import MODEL, NodeTwin, says

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "unsupported_method",
    "ignored_auth",
)
"""What is not allowed has to be refused. What is allowed may be, for what it says: that is no description's matter."""

STATUSES = "DESCRIBED_API_STATUSES"
"""Names the file in which the ends of all requests are written down."""

KNOWN = {
    "name": "invoice",
    "model": MODEL,
    "subject": "invoice",
    "tenant": "local",
    "number": "1",
    "version": "1",
    "alias": "prod",
    "schema_id": "1",
}
"""Names that are there. Half of the requests speak of them (`described_hooks`)."""


def script(request: GenerateRequest) -> Any:
    """An answer that fits some contracts and not others."""
    if request.artifact_key is None:
        return says("{}", end="end_of_sequence", accepting=None)
    return says("{}")


async def run(num_cases: int, *, seed: int, report: Path, only: str | None) -> int:
    """Run the cases; the exit status of schemathesis."""
    Path(f"{report}.statuses").unlink(missing_ok=True)  # noqa: ASYNC240 - before anything runs
    root, place = str(Path.cwd()), str(report.absolute())  # noqa: ASYNC240 - before anything runs
    limits: dict[str, Any] = dict.fromkeys(
        ("requests_per_minute", "tokens_per_minute", "compile_cpu_ms_per_minute", "unique_contracts_per_minute"), 10**9
    )
    with tempfile.TemporaryDirectory() as directory:
        async with served_gateway(Path(directory), node=NodeTwin(script=script), **limits) as (url, key):
            await _prepare(url, key)
            # Each of two modes makes so many for an operation at most; some operations have fewer to make.
            each = math.ceil(num_cases / len(OPERATIONS))
            command = [
                str(Path(sys.executable).with_name("schemathesis")), "run", f"{url}/openapi.json",
                "--header", f"Authorization: Bearer {key}",
                "--checks", ",".join(CHECKS),
                "--phases", "coverage,fuzzing",
                "--max-examples", str(each),
                "--seed", str(seed),
                "--workers", "1",  # Python 3.11 compiles what two threads hand it at once into errors
                "--continue-on-failure",
                "--suppress-health-check", "all",
                "--warnings", "off",
                "--request-timeout", "30",
                "--report", "json",
                "--report-json-path", place,
                "--output-truncate", "true",
                *(("--include-path-regex", only) if only else ()),
            ]  # fmt: skip
            environment = {
                **os.environ,
                "PYTHONPATH": root,
                "SCHEMATHESIS_HOOKS": "tests.extended.described_hooks",
                STATUSES: f"{place}.statuses",
            }
            process = await asyncio.create_subprocess_exec(*command, env=environment, cwd=directory)
            return await process.wait()


async def _prepare(url: str, key: str) -> None:
    """A contract that can be named, so that what lies behind a name is reached."""
    async with httpx.AsyncClient(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=30) as client:
        for schema in ({"type": "object"}, {"type": "object", "properties": {"a": {"type": "integer"}}}):
            sent = {"name": KNOWN["name"], "schema": schema}
            (await client.post("/v1/contracts", json=sent)).raise_for_status()
        moved = await client.put(f"/v1/contracts/{KNOWN['name']}/aliases/prod", json={"revision": 1})
        moved.raise_for_status()


def main() -> int:
    """From the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=5_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only")
    parser.add_argument("--report", type=Path, default=Path(".cache/described_api.json"))
    options = parser.parse_args()
    status = asyncio.run(run(options.cases, seed=options.seed, report=options.report, only=options.only))
    told = summary(options.report)
    print(json.dumps(told))
    return status or int(told["generated"] < options.cases and not options.only)


def summary(report: Path) -> dict[str, Any]:
    """How many cases there were, how many failed, and of how many operations any succeeded."""
    told = json.loads(report.read_text())
    ends = [line.split("\t") for line in Path(f"{report}.statuses").read_text().splitlines()]
    succeeded = {operation for operation, status in ends if status.startswith("2")}
    statuses = Counter(status for _, status in ends)
    return {
        **told["test_cases"],
        "operations": told["operations"]["tested"],
        "with_a_success": len(succeeded),
        "statuses": dict(sorted(statuses.items())),
    }


if __name__ == "__main__":
    sys.exit(main())
