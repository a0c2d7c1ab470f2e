"""Settings of budgets, read once from the environment (prefix `SCHEMAGATE_GATEWAY_BUDGET_`)."""

from typing import Annotated, Any

from pydantic import AliasChoices, Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from gateway.budgets.protocol import PriceSetting
from gateway.setting_text import json_setting


class BudgetSettings(BaseSettings):
    """Where reservations are kept, how long they hold, and what things cost."""

    model_config = SettingsConfigDict(
        env_prefix="SCHEMAGATE_GATEWAY_BUDGET_", frozen=True, extra="ignore", populate_by_name=True
    )

    redis_url: SecretStr | None = Field(
        default=None,
        validation_alias=AliasChoices("SCHEMAGATE_GATEWAY_BUDGET_REDIS_URL", "SCHEMAGATE_REDIS_URL", "redis_url"),
    )
    """`redis://`, `rediss://` or `unix://`: one ledger for all gateways that name it. None: each gateway its own."""
    redis_timeout_seconds: float = Field(default=0.1, gt=0, le=5)
    """For each question. A Redis that is slower counts as gone for a while, and this gateway grants its own share."""
    lease_seconds: float = Field(default=30.0, ge=1, le=3600)
    """How long a reservation outlives a gateway that was killed; then it is charged in full."""
    num_replicas: int = Field(default=1, ge=1, le=10_000)
    """Gateways that share the ledger: without it, each grants this part of every rate."""
    reserve_permille: int = Field(default=10, ge=0, le=1000)
    """Thousandths of every budget in money or over more than two minutes that all gateways together may grant in its
    window while the ledger is gone; 0: nothing."""
    prices: Annotated[PriceSetting, NoDecode] = PriceSetting()
    """Dollars for tokens and compiling (`docs/budgets.md`): JSON, or the path of a file that holds it."""

    @field_validator("prices", mode="before")
    @classmethod
    def _from_json(cls, value: Any) -> Any:
        return json_setting(value)

    @field_validator("redis_url")
    @classmethod
    def _known_scheme(cls, value: SecretStr | None) -> SecretStr | None:
        if value is None or not value.get_secret_value():
            return None
        if not value.get_secret_value().startswith(("redis://", "rediss://", "unix://")):
            raise ValueError("must begin with redis://, rediss:// or unix://")
        return value
