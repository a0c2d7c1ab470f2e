"""What can be done with tenants and keys, whoever does it. Answers are the admin API's JSON, read member by member."""

from collections.abc import Iterator, Mapping
from typing import Protocol

from cli.remote.members import Members
from registry.contract import JsonValue


class Desk(Protocol):
    """Each method is one change or one look. All raise `CommandError`."""

    def issue(self, tenant: str, sent: Mapping[str, JsonValue]) -> Members:
        """A new key; `key` is the key in clear."""
        ...

    def keys(self, tenant: str | None) -> Iterator[Members]:
        """A tenant's keys, or all that can be seen, oldest first."""
        ...

    def key(self, tenant: str | None, key_id: str) -> Members:
        """One key."""
        ...

    def rotate(self, tenant: str | None, key_id: str, *, overlap_seconds: int) -> Members:
        """The key with another secret; `key` is the key in clear."""
        ...

    def change(self, tenant: str | None, key_id: str, sent: Mapping[str, JsonValue]) -> Members:
        """The key with something else about it."""
        ...

    def revoke(self, tenant: str | None, key_id: str) -> None:
        """End a key."""
        ...

    def create_tenant(self, tenant: str, *, name: str) -> Members:
        """A new tenant."""
        ...

    def tenants(self) -> Iterator[Members]:
        """All that can be seen, by id."""
        ...

    def tenant(self, tenant: str) -> Members:
        """One tenant."""
        ...

    def change_tenant(self, tenant: str, sent: Mapping[str, JsonValue]) -> Members:
        """The tenant with another name, disabled or enabled."""
        ...

    def create_team(self, tenant: str, team: str) -> Members:
        """A new team."""
        ...

    def teams(self, tenant: str) -> tuple[Members, ...]:
        """A tenant's teams, by name."""
        ...
