"""Settings of the compiler pool's process, read once from the environment (prefix `SCHEMAGATE_POOL_`)."""

import os
from pathlib import Path

from pydantic import AliasChoices, Field, SecretStr
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
    """Model directories or tokenizer.json files to compile for, separated as `PATH` is. No default."""
    artifact_keys: SecretStr = Field(
        validation_alias=AliasChoices("SCHEMAGATE_ARTIFACT_KEYS", "artifact_keys"),
    )
    """`id:hex[,id:hex]`: signs artifacts; the first key signs, all open. The nodes need the same. No default."""

    num_workers: int = Field(default=max(1, (os.cpu_count() or 2) - 1), ge=1, le=256)
    """Worker processes. Each holds every tokenizer, about 100 MiB for 150,000 tokens."""
    max_queued: int = Field(default=256, ge=0)
    """Compiles that may wait for a worker; one more is 503."""
    start_seconds: float = Field(default=60.0, gt=0, le=600)
    """A worker that is not ready by then is given up and started again."""

    max_body_bytes: int = Field(default=40 * _MIB, ge=1024)
    """Largest request: a contract's limit is in its limit class; this only bounds memory."""
    body_seconds: float = Field(default=10.0, gt=0, le=600)
    """A body that has not arrived by then is dropped."""
    cache_bytes: int = Field(default=256 * _MIB, ge=0)
    """Artifacts and refusals kept in memory."""
    refusal_seconds: float = Field(default=600.0, gt=0)
    """How long a deterministic refusal is answered from memory."""

    @property
    def tokenizer_paths(self) -> tuple[Path, ...]:
        """`tokenizers`, taken apart."""
        return tuple(Path(part) for part in self.tokenizers.split(os.pathsep) if part)
