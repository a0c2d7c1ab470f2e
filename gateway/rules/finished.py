"""What rules look at: the finished parts of an answer, who asked for it, and under which contract."""

from dataclasses import dataclass

from gateway.rules.rule_set import Target
from registry.contract import JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedObject:
    """The whole answer under a contract. It has been judged: where `is_json`, the text is one JSON value."""

    text: str
    is_json: bool

    @property
    def target(self) -> Target:
        """Which rules look at it."""
        return Target.OBJECT


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedCall:
    """One call of a tool; `text` is its arguments, JSON for functions."""

    name: str
    text: str
    is_json: bool

    @property
    def target(self) -> Target:
        """Which rules look at it."""
        return Target.CALL


Finished = FinishedObject | FinishedCall


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleContext:
    """The circumstances that a rule may ask about. Values without a name or a revision are null."""

    tenant: str
    team: str | None
    principal: str
    roles: tuple[str, ...]
    contract_name: str | None
    contract_revision: int | None
    contract_alias: str | None
    contract_digest: str | None
    contract_kind: str | None
    model: str
    request_id: str

    def caller(self) -> dict[str, JsonValue]:
        """As rules and webhooks see it."""
        return {
            "tenant": self.tenant,
            "team": self.team,
            "principal": self.principal,
            "roles": list(self.roles),
        }

    def contract(self) -> dict[str, JsonValue]:
        """As rules and webhooks see it; of an answer without a contract all members are null."""
        return {
            "name": self.contract_name,
            "revision": self.contract_revision,
            "alias": self.contract_alias,
            "digest": self.contract_digest,
            "kind": self.contract_kind,
        }

    def request(self) -> dict[str, JsonValue]:
        """As rules see it. Without id or time, so that a rule says the same of the same answer."""
        return {"model": self.model}
