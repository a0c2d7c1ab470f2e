"""Runs named cases against the gateway in the environment and prints what became of each, as one JSON object.

Runs in the clients' own environment, not in the product's: only the standard library and the clients are there.
"""

import json
import os
import sys
import traceback
from collections.abc import Callable, Mapping

BASE_URL = os.environ["SCHEMAGATE_TEST_BASE_URL"]
API_KEY = os.environ["SCHEMAGATE_TEST_API_KEY"]
MODEL = os.environ["SCHEMAGATE_TEST_MODEL"]


def run(cases: Mapping[str, Callable[[], None]]) -> None:
    """Run every case; a case fails by raising."""
    results: dict[str, str] = {}
    for name, case in cases.items():
        try:
            case()
        except BaseException:
            results[name] = traceback.format_exc(limit=-6)
        else:
            results[name] = "passed"
    json.dump(results, sys.stdout)
