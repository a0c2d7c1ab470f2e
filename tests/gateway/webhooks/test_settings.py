"""What the installation says of webhooks is refused at the start where it cannot be meant, and no secret is told."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tests.gateway.twins import twin_settings

SECRET = "a secret of the ledger's, 32 characters"


def test_lists_are_read_as_the_environment_spells_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCHEMAGATE_GATEWAY_WEBHOOK_ORIGINS", "https://rules.example, http://127.0.0.1:9000")
    monkeypatch.setenv("SCHEMAGATE_GATEWAY_WEBHOOK_PRIVATE_NETWORKS", "10.1.0.0/16")
    monkeypatch.setenv("SCHEMAGATE_GATEWAY_WEBHOOK_SECRETS", f'{{"local/ledger": ["{SECRET}"]}}')
    settings = twin_settings(tmp_path)
    assert settings.webhook_origins == ("https://rules.example", "http://127.0.0.1:9000")
    assert settings.webhook_private_networks == ("10.1.0.0/16",)
    assert settings.webhook_secrets["local/ledger"][0].get_secret_value() == SECRET
    assert SECRET not in repr(settings)


@pytest.mark.parametrize(
    "members",
    [
        {"webhook_origins": "rules.example"},
        {"webhook_origins": "https://rules.example/path"},
        {"webhook_origins": "http://2130706433"},
        {"webhook_private_networks": "10.1.2.3/16"},
        {"webhook_private_networks": "everything"},
        {"webhook_secrets": {"local/ledger": []}},
        {"webhook_secrets": {"local/ledger": [SECRET, SECRET, SECRET]}},
        {"webhook_secrets": {"local/ledger": ["a-short-secret"]}},
    ],
)
def test_what_cannot_be_meant_stops_the_start(tmp_path: Path, members: dict[str, Any]) -> None:
    with pytest.raises(ValidationError) as error:
        twin_settings(tmp_path, **members)
    assert SECRET not in str(error.value)
    assert "a-short-secret" not in str(error.value)
