"""Settings of the gateway process, read once from the environment (prefix `SCHEMAGATE_GATEWAY_`)."""

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from gateway.auth.keys import MIN_PEPPER_CHARACTERS
from gateway.auth.oidc.settings import OidcSettings
from gateway.backends.settings import OpenAIBackendSettings, told_apart
from gateway.budgets.settings import BudgetSettings
from gateway.policies.protocol import ServingPolicySent
from gateway.setting_text import json_setting
from gateway.webhooks.origins import ListedTargets
from gateway.webhooks.signature import MAX_LIVE_SECRETS, MIN_SECRET_CHARACTERS
from policy.text_bounds import DEFAULT_MAX_DIGITS, MAX_COUNT, MAX_DEPTH, MAX_DIGITS, TextBounds

_MIB = 1024 * 1024


class GatewaySettings(BaseSettings):
    """Every setting has a unit in its name, a default, and what it is for beneath it."""

    # What is wrong with a setting is said without its value, which may be a secret.
    model_config = SettingsConfigDict(
        env_prefix="SCHEMAGATE_GATEWAY_", frozen=True, extra="ignore", hide_input_in_errors=True
    )

    host: str = "127.0.0.1"
    """Address to listen on."""
    port: int = Field(default=8080, ge=0, le=65535)
    """TCP port; 0 lets the system choose."""
    shutdown_seconds: int = Field(default=2, ge=0, le=60)
    """After SIGTERM, how long answers in progress may take before they are cut."""

    pool_url: str = "http://127.0.0.1:8081"
    """The compiler pool."""
    node_urls: Annotated[tuple[str, ...], NoDecode] = ("http://127.0.0.1:8082",)
    """Inference nodes, comma separated; none where `openai_backends` names some."""
    openai_backends: Annotated[tuple[OpenAIBackendSettings, ...], NoDecode] = ()
    """Servers that speak OpenAI's API and decode under no grammar of ours (`gateway.backends.settings`): a JSON list,
    or the path of a file that holds one. A contract is refused there, unless a serving policy allows a downgrade."""
    max_backend_connections: int = Field(default=256, ge=1)
    """Connections to those servers together: more requests than this wait."""
    serving_policy: Annotated[ServingPolicySent, NoDecode] = ServingPolicySent()
    """The installation's own serving policy: JSON, or the path of a file. What it says binds every tenant, who may
    only tighten it; what it leaves out, tenants decide."""
    poll_seconds: float = Field(default=1.0, gt=0, le=60)
    """How often the pool and every node are asked who they are: the longest time a dead one goes unnoticed idle,
    and the longest time a node that is back stays unused."""
    connect_seconds: float = Field(default=2.0, gt=0, le=60)
    """Connecting to a pool or node."""
    silence_seconds: float = Field(default=60.0, gt=0, le=600)
    """A pool or node that sends nothing for this long is taken for dead."""
    request_seconds: float = Field(default=300.0, gt=0, le=3600)
    """From authentication to the last token; over it the answer is `backend_failed` (504)."""
    max_node_connections: int = Field(default=256, ge=1)
    """Connections to nodes and pool together: more requests than this wait."""

    database_url: str = "sqlite+aiosqlite:///schemagate.db"
    """Tenants and keys, as SQLAlchemy spells it."""
    key_pepper: SecretStr
    """Keys the digests of API keys and the tenants' cache partitions. Changing it disables every key
    that was made under it, unless it stays on as the next one. No default."""
    former_key_pepper: SecretStr | None = None
    """The pepper before: a key that is used is digested anew, so it can go when all that matter have been used."""
    oidc: OidcSettings = Field(default_factory=OidcSettings)
    """The identity provider whose tokens are taken, where there is one: settings of its own
    (`SCHEMAGATE_GATEWAY_OIDC_…`)."""

    admin_tenant: str = "local"
    """Whose operators act for every tenant; the operators of others, for their own."""
    governed_tenants: Annotated[tuple[str, ...], NoDecode] = ()
    """Tenants whose policy may allow governed contracts, comma separated; `*` for all. They run under larger limits,
    and the shared ones among them share artifacts between tenants: not a tenant's own to grant."""

    max_body_bytes: int = Field(default=_MIB, ge=1024)
    """A larger body is 413 and is not read."""
    max_body_nesting: int = Field(default=64, ge=8, le=256)
    """Nesting of the whole body; a contract's own limit (`policy.limits`) is smaller."""
    body_seconds: float = Field(default=30.0, gt=0, le=600)
    """A body that has not arrived by then is 408."""

    max_digits: int = Field(default=DEFAULT_MAX_DIGITS, ge=0, le=MAX_DIGITS)
    """Digits of numbers where a contract sets no end, before the point and after it. Of this and the next three, 0 says
    that only the budget of tokens is an end. Changing any compiles every contract anew."""
    max_string_length: int = Field(default=0, ge=0, le=MAX_COUNT)
    """Characters of strings and of undeclared names, likewise. Counted strings cost ten times as much a mask."""
    max_items: int = Field(default=0, ge=0, le=MAX_COUNT)
    """Items of arrays, likewise."""
    max_depth: int = Field(default=0, ge=0, le=MAX_DEPTH)
    """Arrays and objects within each other. Whatever may be nested is compiled once for each level."""
    undeclared_members: Literal["never", "any"] = "never"
    """Members that a schema does not name, in objects of which it names some and says nothing of the rest: generated
    never, or as the model likes. `additionalProperties` in a schema, `true` too, has its own say either way."""

    artifact_cache_bytes: int = Field(default=64 * _MIB, ge=0)
    """L1: compiled artifacts kept in this process."""
    contract_memo_bytes: int = Field(default=32 * _MIB, ge=0)
    """Canonical forms of contracts already seen."""
    compile_seconds: float = Field(default=10.0, gt=0, le=120)
    """How long a request waits for its contract to be compiled, queueing included."""

    num_precompiles: int = Field(default=2, ge=0, le=64)
    """Governed contracts that are compiled at one time before anybody asks for them; 0: none are."""

    num_validators: int = Field(default=2, ge=1, le=64)
    """Validator processes."""

    generation_keep_seconds: int = Field(default=24 * 3600, ge=600, le=30 * 24 * 3600)
    """How long an answer to a generation with an `Idempotency-Key` is kept to be given again, with what was said."""

    num_rule_processes: int = Field(default=1, ge=1, le=64)
    """Processes that evaluate operators' rules; started when the first rule is set or asked."""
    rule_seconds: float = Field(default=0.25, gt=0, le=10)
    """CPU time of all rules over one answer; over it the answer is not given out as complete."""
    webhook_origins: Annotated[tuple[str, ...], NoDecode] = ()
    """Where rules' webhooks may lead, comma separated: `https://rules.example.com`. None by default."""
    webhook_private_networks: Annotated[tuple[str, ...], NoDecode] = ()
    """Networks that names among those origins may lead to although they are not public, comma separated: `10.1.0.0/16`.
    An origin that is written as an address needs no entry here."""
    webhook_secrets: dict[str, tuple[SecretStr, ...]] = Field(default_factory=dict)
    """What requests to webhooks are signed with, as JSON: `{"tenant/webhook": ["secret"]}`. Two while one takes the
    other's place. A webhook without one is not asked, and answers under it fail."""
    webhook_ca_file: Path | None = None
    """Certificates (PEM) of authorities that webhooks' servers are trusted by, beside the public ones."""
    max_webhook_calls: int = Field(default=64, ge=1, le=10_000)
    """At one moment; a tenant has at most a quarter of them."""

    num_comparers: int = Field(default=1, ge=1, le=64)
    """Processes that compare contracts."""
    comparison_seconds: float = Field(default=5.0, gt=0, le=60)
    """CPU time of one comparison; over it the answer is that nothing was decided."""

    budgets: BudgetSettings = Field(default_factory=BudgetSettings)
    """The ledger and the prices: settings of their own (`SCHEMAGATE_GATEWAY_BUDGET_…`)."""
    max_concurrent_requests: int = Field(default=64, ge=1)
    """Per tenant, at one moment."""
    requests_per_minute: int = Field(default=6_000, ge=1)
    """Per tenant."""
    tokens_per_minute: int = Field(default=10_000_000, ge=1)
    """Per tenant: prompt and completion tokens, reserved at their upper bound and settled at their true number."""
    compile_cpu_ms_per_minute: int = Field(default=120_000, ge=1)
    """Per tenant: CPU time of cold compiles."""
    unique_contracts_per_minute: int = Field(default=1_000, ge=1)
    """Per tenant: distinct contract digests; one-off schemas are what fills a compiler."""

    @property
    def text_bounds(self) -> TextBounds:
        """The bounds on what is generated."""
        return TextBounds(
            max_digits=self.max_digits or None,
            max_string_length=self.max_string_length or None,
            max_items=self.max_items or None,
            max_depth=self.max_depth or None,
            max_undeclared=0 if self.undeclared_members == "never" else None,
        )

    @field_validator("node_urls", "governed_tenants", "webhook_origins", "webhook_private_networks", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value

    @field_validator("openai_backends", "serving_policy", mode="before")
    @classmethod
    def _read_json(cls, value: Any) -> Any:
        return json_setting(value)

    @field_validator("openai_backends")
    @classmethod
    def _backends_apart(cls, value: tuple[OpenAIBackendSettings, ...]) -> tuple[OpenAIBackendSettings, ...]:
        return told_apart(value)

    @field_validator("node_urls")
    @classmethod
    def _plain_nodes(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(url.rstrip("/") for url in value)

    @model_validator(mode="after")
    def _some_backend(self) -> Self:
        if not self.node_urls and not self.openai_backends:
            raise ValueError("name at least one inference node, or another backend")
        return self

    @field_validator("webhook_origins")
    @classmethod
    def _origins(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        ListedTargets.read(value, ())
        return value

    @field_validator("webhook_private_networks")
    @classmethod
    def _networks(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        ListedTargets.read((), value)
        return value

    @field_validator("webhook_secrets")
    @classmethod
    def _live_secrets(cls, value: dict[str, tuple[SecretStr, ...]]) -> dict[str, tuple[SecretStr, ...]]:
        for name, secrets in value.items():
            if not 1 <= len(secrets) <= MAX_LIVE_SECRETS:
                raise ValueError(f"the webhook {name} has one secret, or {MAX_LIVE_SECRETS} while they change")
            if any(len(secret.get_secret_value()) < MIN_SECRET_CHARACTERS for secret in secrets):
                raise ValueError(f"a secret of the webhook {name} has under {MIN_SECRET_CHARACTERS} characters")
        return value

    @field_validator("key_pepper", "former_key_pepper")
    @classmethod
    def _long_pepper(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and len(value.get_secret_value()) < MIN_PEPPER_CHARACTERS:
            raise ValueError(f"the key pepper needs at least {MIN_PEPPER_CHARACTERS} characters")
        return value
