"""The deployment files say what is true of the code beside them."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.conftest import ROOT
from tests.docs.defined import defined_metrics, settings_classes

DEPLOY = ROOT / "deploy"
PROMTOOL = shutil.which("promtool")
OURS = ("gateway", "pool", "node")


def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    return loaded


def variables_the_code_reads() -> set[str]:
    """Every `SCHEMAGATE_…` name that a settings class of ours defines."""
    names: set[str] = {"SCHEMAGATE_ARTIFACT_KEYS", "SCHEMAGATE_REDIS_URL"}
    for settings in settings_classes():
        prefix = settings.model_config["env_prefix"]
        names.update(f"{prefix}{field}".upper() for field in settings.model_fields)
    return names


def test_compose_sets_only_variables_that_the_code_reads() -> None:
    known = variables_the_code_reads()
    for name in OURS:
        unknown = set(compose()["services"][name]["environment"]) - known
        assert not unknown, f"{name} sets {unknown}"


def test_the_example_environment_names_only_what_compose_reads() -> None:
    named = set(re.findall(r"^(?:# )?(SCHEMAGATE_\w+)=", (DEPLOY / "example.env").read_text(), flags=re.MULTILINE))
    read = {name for service in OURS for name in compose()["services"][service]["environment"]}
    assert named
    assert named <= read


def test_budgets_are_kept_by_a_redis_that_forgets_nothing() -> None:
    services = compose()["services"]
    command = " ".join(services["budgets"]["command"])
    assert "--appendonly yes" in command
    assert "--maxmemory-policy noeviction" in command
    assert "redis://budgets:" in services["gateway"]["environment"]["SCHEMAGATE_GATEWAY_BUDGET_REDIS_URL"]


def dockerfile_targets() -> Iterator[tuple[str, str]]:
    text = (DEPLOY / "Dockerfile").read_text()
    for block in re.split(r"^FROM ", text, flags=re.MULTILINE)[1:]:
        name = re.match(r"\S+ AS (\w+)", block)
        assert name is not None
        yield name.group(1), block


@pytest.mark.parametrize("service", OURS)
def test_every_image_ends_as_an_unprivileged_user_and_runs_its_module(service: str) -> None:
    block = dict(dockerfile_targets())[service]
    users = re.findall(r"^USER (\S+)", block, flags=re.MULTILINE)
    assert users == ["schemagate"]
    module = {"gateway": "gateway", "pool": "compiler_pool", "node": "inference_node"}[service]
    assert f'CMD ["python", "-m", "{module}"]' in block
    assert (ROOT / module / "__main__.py").exists()


def test_every_package_of_the_product_is_copied_into_the_images() -> None:
    base = dict(dockerfile_targets())["base"]
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py") if path.parent.name != "tests"}
    assert {f"COPY {name} ./{name}" for name in packages} <= set(base.splitlines())


def test_prometheus_scrapes_the_three_services_of_compose() -> None:
    config = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text())
    targets = {
        target for job in config["scrape_configs"] for group in job["static_configs"] for target in group["targets"]
    }
    ports = {"gateway": 8080, "pool": 8081, "node": 8082}
    assert targets == {f"{name}:{port}" for name, port in ports.items()}


def test_prometheus_reads_the_alerts_that_lie_beside_its_configuration() -> None:
    config = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text())
    assert config["rule_files"] == ["alerts.yml"]
    assert compose()["services"]["prometheus"]["volumes"] == ["./prometheus:/etc/prometheus:ro"]
    rules = [rule for group in load_alerts()["groups"] for rule in group["rules"]]
    written = (ROOT / "docs" / "operators.md").read_text()
    assert [rule["alert"] for rule in rules if f"`{rule['alert']}`" not in written] == []


def test_alerts_name_only_metrics_that_the_code_defines() -> None:
    expressions = [rule["expr"] for group in load_alerts()["groups"] for rule in group["rules"]]
    named = {name for each in expressions for name in re.findall(r"\bschemagate_[a-z0-9_]+\b", each)}
    assert named <= defined_metrics()


def load_alerts() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((DEPLOY / "prometheus" / "alerts.yml").read_text())
    return loaded


@pytest.mark.skipif(PROMTOOL is None, reason="promtool is not installed (Debian, Ubuntu: apt-get install prometheus)")
def test_promtool_accepts_the_configuration() -> None:
    assert PROMTOOL is not None
    subprocess.run([PROMTOOL, "check", "config", DEPLOY / "prometheus" / "prometheus.yml"], check=True)
