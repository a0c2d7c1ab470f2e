"""Settings of the node's process, read once from the environment (prefix `SCHEMAGATE_NODE_`)."""

from pathlib import Path
from typing import Literal, Self

from pydantic import AliasChoices, Field, SecretStr, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

_GIB = 1024**3


class NodeSettings(BaseSettings):
    """Every setting has a unit in its name, a default, and what it is for beneath it."""

    model_config = SettingsConfigDict(env_prefix="SCHEMAGATE_NODE_", frozen=True, extra="ignore")

    host: str = "127.0.0.1"
    """Address to listen on."""
    port: int = Field(default=8082, ge=0, le=65535)
    """TCP port; 0 lets the system choose."""
    shutdown_seconds: int = Field(default=2, ge=0, le=60)
    """After SIGTERM, how long streams may take to deliver their last event."""

    model_dir: Path | None = None
    """A Llama, Qwen2 or Qwen3 directory as on Hugging Face. None: the default model, prepared in `cache_dir`."""
    cache_dir: Path = Field(default=Path(".cache"), validation_alias=AliasChoices("SCHEMAGATE_CACHE_DIR", "cache_dir"))
    """Where the default model is converted to."""
    artifact_keys: SecretStr = Field(validation_alias=AliasChoices("SCHEMAGATE_ARTIFACT_KEYS", "artifact_keys"))
    """`id:hex[,id:hex]`: the keys that artifacts may be signed with; the pool's. No default."""

    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Where the model runs; auto: a GPU if torch sees one."""
    dtype: Literal["auto", "bfloat16", "float32"] = "auto"
    """Weights and cache; auto: bfloat16 where the processor multiplies it natively."""
    num_threads: int = Field(default=0, ge=0, le=1024)
    """Threads of a matrix product; 0: one per processor that this process may use."""

    max_sequences: int = Field(default=8, ge=1, le=1024)
    """Sequences that decode at once."""
    max_waiting: int = Field(default=64, ge=0, le=100_000)
    """Sequences that wait for a place; one more is 503."""
    max_unread_streams: int = Field(default=64, ge=0, le=100_000)
    """Streams, beyond those that decode or wait, whose readers have not taken their end yet."""
    context_tokens: int | None = Field(default=None, ge=16)
    """Prompt and completion together; None: the model's own, or what `kv_budget_bytes` allows."""
    kv_budget_bytes: int = Field(default=2 * _GIB, ge=1024**2)
    """Keys and values of all sequences at full context."""
    chunk_tokens: int = Field(default=64, ge=1, le=8192)
    """The longest slice of one sequence in a step: what the others wait for a long prompt."""
    max_step_rows: int = Field(default=128, ge=1, le=65536)
    """Tokens computed in one step, all sequences together."""

    num_mask_threads: int = Field(default=2, ge=1, le=256)
    """Threads that fill bitmasks beside the forward pass."""
    max_artifacts: int = Field(default=64, ge=1, le=100_000)
    """Artifacts kept; the least recently used goes first, and is asked for again with 409."""
    prototypes_per_artifact: int | None = Field(default=None, ge=1, le=256)
    """Compiled grammars of one artifact, so that its masks are filled side by side; None: one per mask thread."""
    max_prototypes: int = Field(default=128, ge=1, le=100_000)
    """Compiled grammars of all artifacts, 0.05 to 1.5 MB each as measured, some 25 where a lexer's states are used up.
    Beyond, the least recently used artifacts lose theirs."""

    max_body_bytes: int = Field(default=1024**2, ge=1024)
    """Largest generate request."""
    body_seconds: float = Field(default=10.0, gt=0, le=600)
    """A body that has not arrived by then is dropped."""
    max_stop_characters: int = Field(default=256, ge=1, le=4096)
    """Longest stop string."""
    stall_seconds: float = Field(default=30.0, gt=0, le=3600)
    """A reader that takes nothing for so long is gone."""

    @model_validator(mode="after")
    def _a_chunk_fits_a_step(self) -> Self:
        if self.max_step_rows < self.chunk_tokens:
            raise ValueError(f"max_step_rows {self.max_step_rows} is less than chunk_tokens {self.chunk_tokens}")
        return self
