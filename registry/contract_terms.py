"""What holds for a name and all its revisions, and what may be said of it beside a further revision."""

from policy.roles import Action, Role
from registry.compatibility.modes import CompatibilityMode
from registry.contract import ContractKind
from registry.errors import ForbiddenError, InvalidNameError, StateError
from registry.naming import read_team
from registry.revision import Actor, Contract, ContractClass, Visibility


def check_new_team(actor: Actor, team: str | None) -> None:
    """A new name is for one's own team; operators give it to any.

    Raises `InvalidNameError`, `ForbiddenError`.
    """
    if team is None:
        return
    if read_team(team) is None:
        raise InvalidNameError("a team", team)
    if team != actor.team and Role.OPERATOR not in actor.roles:
        raise ForbiddenError(Action.REGISTER_REVISION, reason=f"this key is not of the team {team}")


def check_kind(contract: Contract, kind: ContractKind) -> None:
    """A name holds contracts of one kind. Raises `StateError` (`contract_kind`)."""
    if contract.kind is not kind:
        raise StateError(
            "contract_kind", f"{contract.name} holds contracts of kind {contract.kind}, not {kind}: use another name"
        )


def check_terms(
    contract: Contract,
    *,
    team: str | None,
    visibility: Visibility | None,
    contract_class: ContractClass | None,
    compatibility: CompatibilityMode | None,
    description: str | None,
) -> None:
    """Registering changes no terms in passing: what is said has to be what holds. Raises `StateError` (`other_terms`).

    None says nothing.
    """
    said: dict[str, tuple[str | None, str | None]] = {
        "team": (team, contract.team),
        "visibility": (visibility, contract.visibility),
        "class": (contract_class, contract.contract_class),
        "compatibility": (compatibility, contract.compatibility),
        "description": (description, contract.description),
    }
    for member, (new, held) in said.items():
        if new is not None and new != held:
            hint = "it never changes" if member == "class" else "change the contract first"
            raise StateError("other_terms", f"the {member} of {contract.name} is {held}, not {new}: {hint}")
