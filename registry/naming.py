"""How contracts are named: the closed grammar of names, and of what a caller may write where a contract is meant.

    reference  = [ owner "/" ] name [ "@" ( alias | number | digest ) ]  |  digest
    name       = a letter or digit, then up to 127 of A-Z a-z 0-9 . _ -
    alias      = a lower-case letter, then up to 63 of a-z 0-9 . _ -
    number     = 1 … 999999999, no leading zero
    digest     = "sha256:" and 64 lower-case hex digits

A name alone means its alias `prod`: what is served without being asked for must have been promoted.
"""

import re
from dataclasses import dataclass
from typing import Final

from registry.contract import ContractDigest
from registry.identifiers import AliasName, ContractName, RevisionNumber, TeamName, TenantId

DEFAULT_ALIAS: Final = AliasName("prod")
MAX_REFERENCE_CHARACTERS: Final = 320

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}", re.ASCII)
_OWNER: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)
_ALIAS: Final = re.compile(r"[a-z][a-z0-9._-]{0,63}", re.ASCII)
_NUMBER: Final = re.compile(r"[1-9][0-9]{0,8}", re.ASCII)
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}", re.ASCII)

NAME_RULE: Final = "a letter or digit, then up to 127 letters, digits, '.', '_' and '-'"
ALIAS_RULE: Final = "a lower-case letter, then up to 63 lower-case letters, digits, '.', '_' and '-'"
REFERENCE_RULE: Final = (
    "write name, name@alias, name@number, name@sha256:… or sha256:…, with owner/ before a name if need be"
)
"""What `_NAME`, `_ALIAS` and `read_reference` ask for, in words for refusals."""

RESERVED_NAMES: Final = frozenset({"explain", "diff", "check"})
"""Paths beside the contracts; a contract cannot be called so."""
RESERVED_ALIASES: Final = frozenset({"latest"})
"""Means the highest number to Confluent clients, and so cannot be moved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ByAlias:
    """`[owner/]name@alias`, or `[owner/]name`."""

    name: ContractName
    alias: AliasName = DEFAULT_ALIAS
    owner: TenantId | None = None
    is_bare: bool = False
    """Whether the alias was left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ByNumber:
    """`[owner/]name@7`."""

    name: ContractName
    number: RevisionNumber
    owner: TenantId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ByDigest:
    """`sha256:…`, or `[owner/]name@sha256:…`: whichever revision has this content."""

    digest: ContractDigest
    name: ContractName | None = None
    owner: TenantId | None = None


Reference = ByAlias | ByNumber | ByDigest


def read_reference(text: str) -> Reference | None:
    """What `text` refers to; None if it is not in the grammar."""
    if len(text) > MAX_REFERENCE_CHARACTERS:
        return None
    if _DIGEST.fullmatch(text):
        return ByDigest(digest=ContractDigest(text))
    place, at, which = text.partition("@")
    owner, slash, name = place.rpartition("/")
    if _NAME.fullmatch(name) is None or (slash and _OWNER.fullmatch(owner) is None):
        return None
    tenant = TenantId(owner) if slash else None
    if not at:
        return ByAlias(name=ContractName(name), owner=tenant, is_bare=True)
    if _NUMBER.fullmatch(which):
        return ByNumber(name=ContractName(name), number=RevisionNumber(int(which)), owner=tenant)
    if _DIGEST.fullmatch(which):
        return ByDigest(digest=ContractDigest(which), name=ContractName(name), owner=tenant)
    if _ALIAS.fullmatch(which):
        return ByAlias(name=ContractName(name), alias=AliasName(which), owner=tenant)
    return None


def read_name(text: str) -> ContractName | None:
    """A contract's name, if `text` may be one."""
    return ContractName(text) if _NAME.fullmatch(text) and text not in RESERVED_NAMES else None


def read_alias(text: str) -> AliasName | None:
    """An alias that may be moved, if `text` may be one."""
    return AliasName(text) if _ALIAS.fullmatch(text) and text not in RESERVED_ALIASES else None


def read_team(text: str) -> TeamName | None:
    """A team's name, if `text` may be one."""
    return TeamName(text) if _OWNER.fullmatch(text) else None
