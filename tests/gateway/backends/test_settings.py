"""How an operator names other backends, and what is wrong with a setting, said without its secrets."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from gateway.settings import GatewaySettings
from tests.gateway.backends.world import asked, gateway_before, sent
from tests.gateway.openai_stub import OpenAIStub
from tests.gateway.twins import PEPPER, NodeTwin, PoolTwin, until

ONE: dict[str, Any] = {"name": "cloud", "base_url": "https://host/v1/", "api_key": "sk-secret", "models": {"a": "b"}}


def settings(backends: Any, **others: Any) -> GatewaySettings:
    return GatewaySettings(key_pepper=PEPPER, openai_backends=backends, **others)


def test_backends_are_json_or_a_file_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "backends.json"
    file.write_text(json.dumps([ONE]))
    monkeypatch.setenv("SCHEMAGATE_GATEWAY_KEY_PEPPER", PEPPER)
    for text in (json.dumps([ONE]), str(file)):
        monkeypatch.setenv("SCHEMAGATE_GATEWAY_OPENAI_BACKENDS", text)
        (backend,) = GatewaySettings().openai_backends
        assert (backend.name, backend.base_url, backend.key, backend.capability) == (
            "cloud",
            "https://host/v1",
            "sk-secret",
            "none",
        )


@pytest.mark.parametrize(
    "backends",
    [
        "[{",
        "/nowhere/backends.json",
        [ONE, ONE],
        [ONE, ONE | {"name": "other"}],
        [ONE | {"name": "Not A Name"}],
        [ONE | {"base_url": "ftp://host"}],
        [ONE | {"base_url": "https://user:password@host/v1"}],
        [ONE | {"base_url": "https://host/v1?key=1"}],
        [ONE | {"base_url": "host"}],
        [ONE | {"models": {}}],
        [ONE | {"models": {"a": ""}}],
        [ONE | {"capability": "grammar"}],
        [ONE | {"context_tokens": 0}],
        [ONE | {"modles": {}}],
        [ONE | {"api_key_file": "/nowhere"}],
        [{name: value for name, value in ONE.items() if name != "api_key"} | {"api_key_file": "/nowhere"}],
    ],
    ids=str,
)
def test_a_wrong_setting_is_refused_without_telling_its_secret(backends: Any) -> None:
    with pytest.raises(ValidationError) as refused:
        settings(backends)
    assert "sk-secret" not in str(refused.value)
    assert "password" not in str(refused.value)


def test_a_key_is_in_no_text_of_the_settings() -> None:
    assert "sk-secret" not in repr(settings([ONE]))


def test_there_has_to_be_some_backend() -> None:
    with pytest.raises(ValidationError):
        settings([], node_urls="")
    assert settings([ONE], node_urls="").node_urls == ()


async def test_a_gateway_without_nodes_serves_what_needs_none(tmp_path: Path) -> None:
    pool = PoolTwin(is_down=True)
    async with gateway_before(tmp_path, OpenAIStub(), node_urls="", nodes={"none": NodeTwin()}, pool=pool) as world:
        assert (await sent(world, asked())).status_code == 200
        ready = await world.client.get("/readyz")
        assert (ready.status_code, ready.json()["status"]) == (200, "degraded")


async def test_when_all_nodes_are_down_another_backend_still_serves(tmp_path: Path) -> None:
    node = NodeTwin()
    async with gateway_before(tmp_path, OpenAIStub(), node=node) as world:
        node.is_down = True
        await until(lambda: not world.app.state.schemagate_services.nodes.offers())
        assert (await world.client.get("/readyz")).json()["status"] == "degraded"
        assert (await sent(world, asked())).status_code == 200
