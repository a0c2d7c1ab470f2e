"""Settings of the compiler pool's process, read once from the environment (prefix `SCHEMAGATE_POOL_`)."""

import os
from pathlib import Path

from pydantic import AliasChoices, Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

_MIB = 1024 * 1024


class PoolSettings(BaseSettings):
    """Every setting has a unit in its name, a default, and what it is for beneath it."""

    model_config = SettingsConfigDict(env_prefix="SCHEMAGATE_POOL_", frozen=True, extra="ignore")

    host: str = "127.0.0.1"
    """Address to listen on."""
    port: int = Field(default=8081, ge=0, le=65535)
    """TCP port; 0 lets the system choose."""
    shutdown_seconds: int = Field(default=2, ge=0, le=60)
    """After SIGTERM, how long compiles in progress may take before their workers are killed."""

    tokenizers: str = Field(min_length=1)
    """Model directories, tokenizer.json, .gguf or .tiktoken files, separated as `PATH` is. No default."""
    artifact_keys: SecretStr = Field(
        validation_alias=AliasChoices("SCHEMAGATE_ARTIFACT_KEYS", "artifact_keys"),
    )
    """`id:hex[,id:hex]`: signs artifacts; the first key signs, all open. The nodes need the same. No default."""

    num_workers: int = Field(default=max(2, (os.cpu_count() or 2) - 1), ge=1, le=256)
    """Worker processes. Each holds every tokenizer, about 100 MiB for 150,000 tokens. One of them is out of any single
    tenant's reach, where there are two or more."""
    max_queued: int = Field(default=256, ge=0)
    """Compiles that may wait for a worker; one more is 503."""
    start_seconds: float = Field(default=60.0, gt=0, le=600)
    """A worker that is not ready by then is given up and started again."""

    max_body_bytes: int = Field(default=40 * _MIB, ge=1024)
    """Largest request: a contract's limit is in its limit class; this only bounds memory."""
    body_seconds: float = Field(default=10.0, gt=0, le=600)
    """A body that has not arrived by then is dropped."""
    cache_bytes: int = Field(default=256 * _MIB, ge=0)
    """The first tier: artifacts and refusals kept in memory."""
    refusal_seconds: float = Field(default=600.0, gt=0)
    """How long a deterministic refusal is answered from a tier of the cache."""

    redis_url: SecretStr | None = Field(
        default=None, validation_alias=AliasChoices("SCHEMAGATE_REDIS_URL", "redis_url")
    )
    """`redis://`, `rediss://` or `unix://`: the second tier, and who compiles what, for all pools that name it. They
    need the same `SCHEMAGATE_ARTIFACT_KEYS`. None: each pool for itself."""
    redis_timeout_seconds: float = Field(default=0.05, gt=0, le=5)
    """For each command. A Redis that is slower counts as gone for a while, and compiles go on without it."""
    redis_max_entry_bytes: int = Field(default=2 * _MIB, ge=1024, le=17 * _MIB)
    """A larger artifact stays in the first tier."""
    redis_trial_seconds: float = Field(default=600.0, ge=1)
    """How long an entry stays that was asked for once."""
    redis_keep_seconds: float = Field(default=7 * 86400.0, ge=1)
    """How long an entry stays that is worth it, from its last move; governed contracts always are."""
    lease_seconds: float = Field(default=2.0, ge=0.1, le=60)
    """How long others wait for a pool that was killed while it compiled for them."""

    @field_validator("redis_url")
    @classmethod
    def _known_scheme(cls, value: SecretStr | None) -> SecretStr | None:
        if value is None or not value.get_secret_value():
            return None
        if not value.get_secret_value().startswith(("redis://", "rediss://", "unix://")):
            raise ValueError("must begin with redis://, rediss:// or unix://")
        return value

    @property
    def tokenizer_paths(self) -> tuple[Path, ...]:
        """`tokenizers`, taken apart."""
        return tuple(Path(part) for part in self.tokenizers.split(os.pathsep) if part)
