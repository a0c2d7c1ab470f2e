"""Cases of the shared corpus of public reports, by their ids."""

import json
from functools import cache
from typing import Any

from tests.gateway.validation.suite import CORPORA


@cache
def field_cases() -> dict[str, Any]:
    """All of them."""
    lines = (CORPORA / "field" / "dev.jsonl").read_text(encoding="utf-8").splitlines()
    return {case["id"]: case for case in map(json.loads, lines)}


def field_case(case_id: str) -> Any:
    """One of them."""
    return field_cases()[case_id]
