"""Values as the JSON that the store itself writes and reads back."""

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal

from policy.enforcement import EnforcementPolicy, Unknown
from policy.governance import PromotionSafety, RegistryPolicy
from registry.contract import ContractDigest, JsonValue
from registry.identifiers import RevisionId
from registry.revision import Dependency
from registry.text import value_text


def write_members(members: Mapping[str, JsonValue]) -> str:
    """An object, members sorted."""
    return value_text(dict(members))


def read_members(text: str) -> dict[str, JsonValue]:
    """What `write_members` wrote, numbers exact."""
    members: dict[str, JsonValue] = json.loads(text, parse_float=Decimal)  # noqa: TID251 - our own text
    return members


def write_profile(profile: Mapping[str, int | float | bool]) -> str:
    """Numbers by name."""
    return json.dumps(dict(profile), sort_keys=True, allow_nan=False, separators=(",", ":"))


def read_profile(text: str) -> dict[str, int | float | bool]:
    """What `write_profile` wrote."""
    profile: dict[str, int | float | bool] = json.loads(text)  # noqa: TID251 - our own text
    return profile


def write_names(names: Sequence[str]) -> str:
    """A list of texts."""
    return value_text(list(names))


def read_names(text: str) -> tuple[str, ...]:
    """What `write_names` wrote."""
    return tuple(json.loads(text))  # noqa: TID251 - our own text


def write_dependencies(dependencies: Sequence[Dependency]) -> str:
    """In the order they were found."""
    return value_text([[entry.uri, entry.digest, entry.revision_id] for entry in dependencies])


def read_dependencies(text: str) -> tuple[Dependency, ...]:
    """What `write_dependencies` wrote."""
    if text == "[]":
        return ()
    rows: list[list[str]] = json.loads(text)  # noqa: TID251 - our own text
    return tuple(
        Dependency(uri=uri, digest=ContractDigest(digest), revision_id=RevisionId(revision))
        for uri, digest, revision in rows
    )


def write_enforcement(policy: EnforcementPolicy) -> str:
    """Every field by name."""
    return write_members(
        {
            "allow_checked_after": policy.allow_checked_after,
            "unknown_keyword": policy.unknown_keyword.value,
            "unknown_format": policy.unknown_format.value,
        }
    )


def read_enforcement(text: str) -> EnforcementPolicy:
    """What `write_enforcement` wrote. A member that this version does not know is not skipped: it raises KeyError."""
    members = _exactly(text, {"allow_checked_after", "unknown_keyword", "unknown_format"})
    return EnforcementPolicy(
        allow_checked_after=members["allow_checked_after"] is True,
        unknown_keyword=Unknown(str(members["unknown_keyword"])),
        unknown_format=Unknown(str(members["unknown_format"])),
    )


_POLICY_MEMBERS = frozenset(
    {
        "require_signature",
        "two_person_promotion",
        "promotion_safety",
        "compatibility",
        "allow_governed",
        "protected_aliases",
    }
)


def policy_members(policy: RegistryPolicy) -> dict[str, JsonValue]:
    """Every field by name, as it is stored and as the audit tells it."""
    protected: list[JsonValue] = [*sorted(policy.protected_aliases)]
    return {
        "require_signature": policy.require_signature,
        "two_person_promotion": policy.two_person_promotion,
        "promotion_safety": policy.promotion_safety.value,
        "compatibility": policy.compatibility,
        "allow_governed": policy.allow_governed,
        "protected_aliases": protected,
    }


def read_policy(text: str) -> RegistryPolicy:
    """A policy from the text of its `policy_members`. A member this version does not know raises KeyError."""
    members = _exactly(text, _POLICY_MEMBERS)
    level, protected = members["compatibility"], members["protected_aliases"]
    assert isinstance(protected, list)
    return RegistryPolicy(
        require_signature=members["require_signature"] is True,
        two_person_promotion=members["two_person_promotion"] is True,
        promotion_safety=PromotionSafety(str(members["promotion_safety"])),
        compatibility=None if level is None else str(level),
        allow_governed=members["allow_governed"] is True,
        protected_aliases=frozenset(str(name) for name in protected),
    )


def _exactly(text: str, names: set[str] | frozenset[str]) -> dict[str, JsonValue]:
    members = read_members(text)
    if members.keys() != names:
        raise KeyError(*sorted(members.keys() ^ names))
    return members
