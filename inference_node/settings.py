"""Settings of the node's process, read once from the environment (prefix `SCHEMAGATE_NODE_`)."""

from pathlib import Path
from typing import Literal, Self

from pydantic import AliasChoices, Field, SecretStr, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from inference_node.slices import BLOCK_TOKENS


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
    """A Llama, Qwen2 or Qwen3 directory as on Hugging Face, or a GGUF file. None: the default model."""
    cache_dir: Path = Field(default=Path(".cache"), validation_alias=AliasChoices("SCHEMAGATE_CACHE_DIR", "cache_dir"))
    """Where GGUF files, the default model's among them, are converted to."""
    artifact_keys: SecretStr = Field(validation_alias=AliasChoices("SCHEMAGATE_ARTIFACT_KEYS", "artifact_keys"))
    """`id:hex[,id:hex]`: the keys that artifacts may be signed with; the pool's. No default."""

    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Where the model runs; auto: a GPU if torch sees one."""
    dtype: Literal["auto", "bfloat16", "float32"] = "auto"
    """Weights and cache; auto: bfloat16 where the processor multiplies it natively."""
    num_threads: int = Field(default=0, ge=0, le=1024)
    """Threads of a matrix product; 0: one per processor that this process may use."""

    deterministic: bool = False
    """On a GPU: equal requests give equal tokens in any company, at a cost (`docs/inference_node.md`). On a CPU they
    always do."""

    max_sequences: int | None = Field(default=None, ge=1, le=1024)
    """Sequences that decode at once; None: 8 on a CPU, 128 on a GPU."""
    max_waiting: int = Field(default=64, ge=0, le=100_000)
    """Sequences that wait for a place; one more is 503."""
    partition_share: float = Field(default=0.75, gt=0, le=1)
    """Of the queue, as much as one partition (the gateway sends one for each tenant) can fill."""
    max_unread_streams: int = Field(default=64, ge=0, le=100_000)
    """Streams, beyond those that decode or wait, whose readers have not taken their end yet."""
    drain_seconds: float = Field(default=5.0, ge=0, le=3600)
    """After SIGTERM, how long sequences that were taken may go on; then they are cancelled."""
    context_tokens: int | None = Field(default=None, ge=16)
    """Prompt and completion together; None: the model's own, or what `kv_budget_bytes` allows."""
    kv_budget_bytes: int | None = Field(default=None, ge=1024**2)
    """Keys and values of all sequences and of prompts that may come again; None: 2 GiB on a CPU, half of what the model
    leaves free on a GPU."""
    chunk_tokens: int | None = Field(default=None, ge=BLOCK_TOKENS, le=8192)
    """The longest slice of one sequence in a step, in whole blocks of 16: what the others wait for a long prompt.
    None: 64 on a CPU, 512 on a GPU."""
    max_step_rows: int | None = Field(default=None, ge=BLOCK_TOKENS, le=65536)
    """Tokens computed in one step, all sequences together. None: 128 on a CPU, 2,048 on a GPU."""
    draft: str = "none"
    """What proposes tokens that the model then verifies: `none`, `prompt_lookup`, or the directory of a smaller model
    with the same tokenizer. It changes no token."""
    max_drafts: int = Field(default=7, ge=1, le=64)
    """Tokens drafted for one sequence in a step."""

    num_mask_threads: int | None = Field(default=None, ge=1, le=256)
    """Threads that fill bitmasks beside the forward pass: so many of the grammar engine's for those that are quick, and
    so many each for those that are tried and those that are slow. None: 2 on a CPU, half of the processors (at most 8)
    where a GPU computes."""
    max_artifacts: int = Field(default=64, ge=1, le=100_000)
    """Artifacts kept; the least recently used goes first, and is asked for again with 409."""
    prototypes_per_artifact: int | None = Field(default=None, ge=1, le=256)
    """Compiled grammars of one artifact, so that its masks are filled side by side; None: one per mask thread."""
    max_prototypes: int = Field(default=128, ge=1, le=100_000)
    """Compiled grammars of all artifacts, 0.05 to 1.5 MB each as measured, some 25 where a lexer's states are used up.
    Beyond, the least recently used artifacts lose theirs."""

    max_adapters: int = Field(default=8, ge=1, le=1024)
    """Low-rank adapters kept on the device; the least recently used that no sequence runs under goes first, and is
    asked for again with 409."""
    max_adapter_bytes: int = Field(default=256 * 1024**2, ge=1024)
    """Largest file of an adapter. One is read at a time; on the device it takes up to three times as much."""
    max_adapter_rank: int = Field(default=64, ge=1, le=4096)
    """Largest rank of an adapter: what it costs in memory and time grows with it."""

    max_body_bytes: int = Field(default=1024**2, ge=1024)
    """Largest generate request."""
    max_snapshot_bytes: int = Field(default=256 * 1024**2, ge=32 * 1024**2)
    """Largest saved sequence that is made or read. Two are handled at a time, each with a copy."""
    body_seconds: float = Field(default=10.0, gt=0, le=600)
    """A body that has not arrived by then is dropped."""
    max_stop_characters: int = Field(default=256, ge=1, le=4096)
    """Longest stop string."""
    stall_seconds: float = Field(default=30.0, gt=0, le=3600)
    """A reader that takes nothing for so long is gone."""

    @model_validator(mode="after")
    def _a_chunk_is_blocks_and_fits_a_step(self) -> Self:
        if self.chunk_tokens is not None and self.chunk_tokens % BLOCK_TOKENS:
            raise ValueError(f"chunk_tokens {self.chunk_tokens} is no multiple of {BLOCK_TOKENS}")
        if self.chunk_tokens and self.max_step_rows and self.max_step_rows < self.chunk_tokens:
            raise ValueError(f"max_step_rows {self.max_step_rows} is less than chunk_tokens {self.chunk_tokens}")
        return self
