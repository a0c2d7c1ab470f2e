"""What an author says beside a contract's text: options of one command, or members of `contracts.toml`."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Final

from cli.remote.exits import CommandError, Exit
from policy.enforcement import EnforcementPolicy, Unknown
from registry.compatibility.modes import PLAIN_WORDS, CompatibilityMode, mode_named
from registry.contract import ContractKind, JsonValue
from registry.naming import read_alias
from registry.revision import ContractClass, Visibility

_WITHOUT_SCHEMAS: Final = frozenset({ContractKind.REGEX, ContractKind.GBNF, ContractKind.CHOICE})
_TOML_NAMES: Final[Mapping[str, str]] = {"contract_class": "class"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """`None` says nothing: the contract's own, or the default of its first revision."""

    kind: ContractKind | None = None
    dialect: str | None = None
    team: str | None = None
    visibility: Visibility | None = None
    contract_class: ContractClass | None = None
    compatibility: CompatibilityMode | None = None
    description: str | None = None
    message: str | None = None
    alias: str | None = None
    """Moves to the revision once it is registered."""
    allow_checked_after: bool | None = None
    unknown_keyword: Unknown | None = None
    unknown_format: Unknown | None = None

    @property
    def policy(self) -> EnforcementPolicy:
        """What is not said is as strict as can be."""
        return EnforcementPolicy(
            allow_checked_after=bool(self.allow_checked_after),
            unknown_keyword=self.unknown_keyword or Unknown.REJECT,
            unknown_format=self.unknown_format or Unknown.REJECT,
        )

    def over(self, defaults: "Terms") -> "Terms":
        """These, and the defaults where nothing is said."""
        said = {name: value for name in _NAMES if (value := getattr(self, name)) is not None}
        return replace(defaults, **said)

    def for_kind(self, kind: ContractKind) -> "Terms":
        """These for a contract of that kind: a dialect is said of schemas, and an expression beside one has none."""
        return replace(self, dialect=None) if kind in _WITHOUT_SCHEMAS else self

    def reading_members(self) -> dict[str, JsonValue]:
        """How the text is to be read, as members of a request."""
        policy = self.policy
        members: dict[str, JsonValue] = {
            "policy": {
                "allow_checked_after": policy.allow_checked_after,
                "unknown_keyword": policy.unknown_keyword.value,
                "unknown_format": policy.unknown_format.value,
            }
        }
        if self.dialect is not None:
            members["dialect"] = self.dialect
        return members

    def name_members(self) -> dict[str, JsonValue]:
        """What belongs to the name, as members of a request."""
        said: dict[str, JsonValue | None] = {
            "team": self.team,
            "visibility": self.visibility,
            "class": self.contract_class,
            "compatibility": self.compatibility,
            "description": self.description,
            "message": self.message,
        }
        return {name: value for name, value in said.items() if value is not None}


_NAMES: Final = tuple(field.name for field in fields(Terms))


def terms_from(members: Mapping[str, object], *, place: str) -> Terms:
    """The terms of a table of `contracts.toml`. Raises `CommandError` where a member is not one."""
    known = {_TOML_NAMES.get(name, name): name for name in _NAMES}
    read: dict[str, object] = {}
    for member, value in members.items():
        if member not in known:
            raise _unusable(place, f"there is no {member[:64]!r}; there are {', '.join(sorted(known))}")
        read[known[member]] = _value(known[member], value, f"{place}.{member}")
    return replace(Terms(), **read)  # type: ignore[arg-type]


def read_level(text: str, *, place: str) -> CompatibilityMode:
    """A level in Confluent's names or plain words. Raises `CommandError`."""
    level = mode_named(text)
    if level is None:
        known = ", ".join([*(mode.value for mode in CompatibilityMode), *PLAIN_WORDS])
        raise _unusable(place, f"there is no level {text[:64]!r}; levels are {known}")
    return level


def _value(name: str, value: object, place: str) -> object:
    choices: Mapping[str, type[ContractKind | Visibility | ContractClass | Unknown]] = {
        "kind": ContractKind,
        "visibility": Visibility,
        "contract_class": ContractClass,
        "unknown_keyword": Unknown,
        "unknown_format": Unknown,
    }
    if name == "allow_checked_after":
        if not isinstance(value, bool):
            raise _unusable(place, "it is true or false")
        return value
    if not isinstance(value, str):
        raise _unusable(place, "it is a text")
    if name == "alias" and read_alias(value) is None:
        raise _unusable(place, f"{value[:80]!r} cannot be an alias")
    if name == "compatibility":
        return read_level(value, place=place)
    if name not in choices:
        return value
    try:
        return choices[name](value)
    except ValueError:
        raise _unusable(place, f"it is one of {', '.join(choices[name])}") from None


def _unusable(place: str, why: str) -> CommandError:
    return CommandError(f"{place}: {why}", exit_code=Exit.USAGE, code="invalid_terms")
