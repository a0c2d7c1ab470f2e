"""Settings of the backends that speak OpenAI's API: a JSON list, or the path of a file that holds one."""

from pathlib import Path
from typing import Annotated, Literal, Self

import httpx
from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator

from gateway.protocol import MAX_MODEL_CHARACTERS

ModelName = Annotated[str, Field(min_length=1, max_length=MAX_MODEL_CHARACTERS)]


class OpenAIBackendSettings(BaseModel):
    """One server, and the models that are asked of it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")]
    """In logs, metrics and the answers' `schemagate.node.engine`."""
    base_url: str
    """Up to what stands before `/chat/completions`: `https://host/v1`."""
    api_key: SecretStr | None = None
    """Sent as a bearer token; without one, none is."""
    api_key_file: Path | None = None
    """Where the key is, instead."""
    models: Annotated[dict[ModelName, ModelName], Field(min_length=1, max_length=1_000)]
    """What callers ask for, and what the server calls it."""
    capability: Literal["none", "json_object", "json_schema"] = "none"
    """What the server says it does about contracts. It is sent as a hint, and never believed."""
    context_tokens: Annotated[int, Field(ge=1, le=100_000_000)] = 32_768
    """The most that one request can use, prompt and answer: what is reserved where a caller names no maximum."""
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """How the server spells the limit on an answer's tokens."""
    max_attempts: Annotated[int, Field(ge=1, le=5)] = 2
    """Of one request before its first token, where the server cannot be reached, fails, or is full."""

    @field_validator("base_url")
    @classmethod
    def _plain_url(cls, value: str) -> str:
        try:
            url = httpx.URL(value)
        except httpx.InvalidURL:
            raise ValueError("it is not a URL") from None
        if not value.isascii():
            raise ValueError("write a host or path beyond ASCII in its encoded form")
        if url.scheme not in {"http", "https"} or not url.host or url.userinfo or url.query or url.fragment:
            raise ValueError("it is `http://` or `https://`, a host and a path, without user, query and fragment")
        return value.rstrip("/")

    @model_validator(mode="after")
    def _one_key(self) -> Self:
        if self.api_key is not None and self.api_key_file is not None:
            raise ValueError("name the key, or the file that holds it")
        if self.api_key_file is not None and not self.api_key_file.is_file():
            raise ValueError(f"there is no file {self.api_key_file}")
        return self

    @property
    def key(self) -> str | None:
        """The key, read anew: a file may be replaced while the gateway runs."""
        if self.api_key_file is not None:
            return self.api_key_file.read_text(encoding="utf-8").strip()
        return None if self.api_key is None else self.api_key.get_secret_value()


def told_apart(backends: tuple[OpenAIBackendSettings, ...]) -> tuple[OpenAIBackendSettings, ...]:
    """The backends, if no two have a name or a model in common."""
    names = [backend.name for backend in backends]
    models = [model for backend in backends for model in backend.models]
    for what, given in (("name", names), ("model", models)):
        twice = sorted({each for each in given if given.count(each) > 1})
        if twice:
            raise ValueError(f"two backends have the {what} {twice[0]!r}")
    return backends
