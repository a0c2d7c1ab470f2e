"""References and names on a command line, and the paths of the API that they lead to."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final
from urllib.parse import quote

from cli.remote.exits import CommandError, Exit
from cli.remote.gateway import Gateway
from cli.remote.members import Members
from registry.naming import ByAlias, Reference, read_alias, read_reference
from registry.serving import reference_text

_ID: Final = re.compile(r"[A-Za-z0-9_:-]{1,80}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A path of the API; another owner's contracts are asked for by `owner`."""

    path: str
    query: Mapping[str, str] = field(default_factory=dict)


def read_target(text: str) -> Reference:
    """What a command line refers to. Raises `CommandError`."""
    reference = read_reference(text)
    if reference is None:
        message = (
            f"{text[:200]!r} is no reference to a contract: write invoice@prod, invoice@3, owner/invoice@prod "
            "or sha256:… in full"
        )
        raise CommandError(message, exit_code=Exit.USAGE, code="invalid_name")
    return reference


def read_contract_name(text: str) -> ByAlias:
    """`[owner/]name`, with nothing behind it. Raises `CommandError`."""
    reference = read_target(text)
    if not isinstance(reference, ByAlias) or not reference.is_bare:
        message = f"{text[:200]!r} is not the name of a contract: leave out what stands behind it"
        raise CommandError(message, exit_code=Exit.USAGE, code="invalid_name")
    return reference


def contract_place(text: str, *, below: str = "") -> Place:
    """Where the contract `[owner/]name` is. Raises `CommandError`."""
    reference = read_contract_name(text)
    return Place(path=f"/v1/contracts/{quote(reference.name)}{below}", query=_owner(reference))


def revision_place(reference: Reference) -> Place:
    """Where the revision that a reference leads to is; a bare name leads to what its default alias names."""
    last = reference_text(replace(reference, owner=None))
    return Place(path=f"/v1/contracts/{quote(last, safe='@:')}", query=_owner(reference))


def alias_of(text: str) -> tuple[str, str]:
    """Contract and alias of `name` or `name@alias`. Raises `CommandError`."""
    reference = read_target(text)
    if not isinstance(reference, ByAlias):
        message = f"{text[:200]!r} names no alias: write invoice@prod"
        raise CommandError(message, exit_code=Exit.USAGE, code="invalid_name")
    owner = "" if reference.owner is None else f"{reference.owner}/"
    return f"{owner}{reference.name}", reference.alias


def read_alias_name(text: str) -> str:
    """An alias that may be moved. Raises `CommandError`."""
    alias = read_alias(text)
    if alias is None:
        message = f"{text[:80]!r} cannot be an alias: a lower-case letter, then letters, digits, '.', '_' and '-'"
        raise CommandError(message, exit_code=Exit.USAGE, code="invalid_name")
    return alias


def id_segment(text: str) -> str:
    """The id of a proposal or a key, as a part of a path. Raises `CommandError`."""
    if _ID.fullmatch(text) is None:
        message = f"{text[:80]!r} is no id: write it as it was printed, prm_… or ed25519:…"
        raise CommandError(message, exit_code=Exit.USAGE, code="invalid_name")
    return text


def fetch_revision(gateway: Gateway, text: str) -> Members:
    """The answer about the revision that `text` leads to: `contract`, `revision`, `alias`, `source`."""
    place = revision_place(read_target(text))
    return gateway.get(place.path, place.query)


def spelled(answer: Members) -> str:
    """`name@number` of a fetched revision."""
    return f"{answer.member('contract').text('name')}@{answer.member('revision').number('number')}"


def below_revision(answer: Members, *, below: str) -> Place:
    """A path of the API below a fetched revision."""
    contract, revision = answer.member("contract"), answer.member("revision")
    path = f"/v1/contracts/{quote(contract.text('name'))}/revisions/{revision.number('number')}{below}"
    return Place(path=path, query={"owner": contract.text("owner")})


def _owner(reference: Reference) -> dict[str, str]:
    return {} if reference.owner is None else {"owner": reference.owner}
