"""What is kept of a registration beside its canonical form: the spelling's own digest, and its measures by name."""

from collections.abc import Mapping
from dataclasses import fields
from hashlib import sha256
from typing import Final

from registry.contract import ContractKind, JsonValue, Profile
from registry.naming import ByNumber
from registry.serving import reference_text
from registry.text import value_text

_SOURCE: Final = b"schemagate source 1\n"


def source_digest(
    kind: ContractKind, source_text: str, *, dialect: str | None, references: Mapping[str, ByNumber]
) -> str:
    """SHA-256, in hex, of what was registered as it was spelled: what one schema id stands for.

    Over the line `schemagate source 1` and canonical JSON, so that no two of its parts can run into each other.
    """
    named: dict[str, JsonValue] = {uri: reference_text(reference) for uri, reference in references.items()}
    members: JsonValue = {"kind": kind.value, "dialect": dialect, "references": named, "text": source_text}
    return sha256(_SOURCE + value_text(members).encode()).hexdigest()


def profile_members(profile: Profile) -> dict[str, int | float | bool]:
    """The measures by name, and beside them what was held against each limit."""
    measures = {field.name: getattr(profile, field.name) for field in fields(profile) if field.name != "observed"}
    return measures | dict(profile.observed)
