"""The notes name everything that the code defines, and lead to nothing that is not there."""

import json
import re
from pathlib import Path

import pytest
from pydantic_settings import BaseSettings

from gateway.openapi.document import OPERATIONS
from tests.conftest import ROOT
from tests.docs.defined import defined_metrics, error_codes, gateway_metrics, node_metrics, settings_classes

DOCS = ROOT / "docs"
NOTES = (ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted(DOCS.rglob("*.md")))
# These two are settings of their own, and tested as such.
NESTED = {"OIDC", "BUDGETS"}


@pytest.mark.parametrize("settings", settings_classes(), ids=lambda each: each.__name__)
def test_the_operators_guide_names_every_setting(settings: type[BaseSettings]) -> None:
    guide = (DOCS / "operators.md").read_text()
    names = {field.upper() for field in settings.model_fields} - NESTED
    missing = {name for name in names if not re.search(rf"`(?:SCHEMAGATE_(?:[A-Z]+_)*)?{name}`", guide)}
    assert missing == set()
    prefix = settings.model_config["env_prefix"]
    assert f"`{prefix}`" in guide


def test_the_operators_guide_names_every_metric_of_the_gateway() -> None:
    guide = (DOCS / "operators.md").read_text()
    assert {name for name in gateway_metrics() if f"`{name}`" not in guide} == set()


def test_the_guide_to_nodes_names_every_metric_of_a_node() -> None:
    guide = (DOCS / "nodes.md").read_text()
    assert {name for name in node_metrics() if f"`{name}`" not in guide} == set()


def test_the_dashboard_names_only_metrics_that_the_code_defines() -> None:
    board = json.loads((ROOT / "dashboards" / "schemagate.json").read_text())
    expressions = [target["expr"] for panel in board["panels"] for target in panel.get("targets", ())]
    named = {name for each in expressions for name in re.findall(r"\bschemagate_[a-z0-9_]+\b", each)}
    assert named <= defined_metrics()


def test_the_reference_names_every_code_of_an_error() -> None:
    reference = (DOCS / "api.md").read_text()
    assert {code for code in error_codes() if f"`{code}`" not in reference} == set()


def test_the_reference_names_every_part_of_every_path() -> None:
    reference = (DOCS / "api.md").read_text()
    facade = (DOCS / "confluent.md").read_text()
    missing: set[str] = set()
    for _, path in OPERATIONS:
        parts = [part for part in path.split("/") if part and not part.startswith("{")]
        texts = (reference,) if path.startswith("/v1/") else (reference, facade)
        missing.update(f"{path}: {part}" for part in parts if not any(part in text for text in texts))
    assert missing == set()


@pytest.mark.parametrize("note", NOTES, ids=lambda note: note.name)
def test_links_lead_to_files_and_headings_that_are_there(note: Path) -> None:
    text = note.read_text()
    for target in re.findall(r"\]\((?!https?:)([^)\s]+)\)", text):
        name, _, anchor = target.partition("#")
        file = (note.parent / name).resolve() if name else note
        assert file.exists(), target
        assert not anchor or anchor in headings(file.read_text()), target
    for name in re.findall(r"`(docs/[\w/-]+\.md)`", text):
        assert (ROOT / name).exists(), name


def headings(text: str) -> set[str]:
    """Anchors as GitHub makes them."""
    titles = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
