"""What a key may do. Roles are granted by the tenant that issues the key; none is above all tenants, but the operators
of one tenant, which a setting names, act for every other as its own operators do.

Where a key may be used at all is said by its scopes (`policy.scopes`).
"""

from enum import StrEnum


class Role(StrEnum):
    """The five roles; a key may hold several."""

    CALLER = "caller"
    """Generates and explains; reads the contracts it can see."""
    AUTHOR = "author"
    """Registers, signs, proposes promotions, deprecates and retires what its team owns."""
    APPROVER = "approver"
    """Approves or turns down a proposed promotion."""
    OPERATOR = "operator"
    """Sets the tenant's policy, its budgets and its keys, trusts and revokes signing keys, acts for every team."""
    AUDITOR = "auditor"
    """Reads and exports the audit chain."""


ALL_ROLES = frozenset(Role)
"""What an embedded installation's own key holds."""


class Action(StrEnum):
    """What is asked for, as far as roles care."""

    READ_CONTRACT = "read_contract"
    REGISTER_REVISION = "register_revision"
    CHANGE_CONTRACT = "change_contract"
    CHANGE_STATE = "change_state"
    RETIRE = "retire"
    PROMOTE = "promote"
    PROMOTE_REGARDLESS = "promote_regardless"
    """Although the revision was not proved to be as safe as policy asks."""
    DROP_PROTECTED_ALIAS = "drop_protected_alias"
    """One that asks for proof or a second person: made anew, it would name nothing to be compared with."""
    ROLL_BACK = "roll_back"
    """To what the alias named before; an emergency waits for no second person."""
    APPROVE_PROMOTION = "approve_promotion"
    SIGN = "sign"
    TRUST_KEY = "trust_key"
    SET_POLICY = "set_policy"
    READ_AUDIT = "read_audit"
    ADMINISTER = "administer"
    """Tenants, teams, keys, and what operators set for them."""


_PERMITTED: dict[Action, frozenset[Role]] = {
    Action.READ_CONTRACT: ALL_ROLES,
    Action.REGISTER_REVISION: frozenset({Role.AUTHOR, Role.OPERATOR}),
    Action.CHANGE_CONTRACT: frozenset({Role.AUTHOR, Role.OPERATOR}),
    Action.CHANGE_STATE: frozenset({Role.AUTHOR, Role.OPERATOR}),
    Action.RETIRE: frozenset({Role.AUTHOR, Role.OPERATOR}),
    Action.PROMOTE: frozenset({Role.AUTHOR, Role.OPERATOR}),
    Action.PROMOTE_REGARDLESS: frozenset({Role.OPERATOR}),
    Action.DROP_PROTECTED_ALIAS: frozenset({Role.OPERATOR}),
    Action.ROLL_BACK: frozenset({Role.AUTHOR, Role.APPROVER, Role.OPERATOR}),
    Action.APPROVE_PROMOTION: frozenset({Role.APPROVER}),
    Action.SIGN: frozenset({Role.AUTHOR, Role.APPROVER, Role.OPERATOR}),
    Action.TRUST_KEY: frozenset({Role.OPERATOR}),
    Action.SET_POLICY: frozenset({Role.OPERATOR}),
    Action.READ_AUDIT: frozenset({Role.AUDITOR, Role.OPERATOR}),
    Action.ADMINISTER: frozenset({Role.OPERATOR}),
}


def needed_roles(action: Action) -> frozenset[Role]:
    """Any one of these is enough."""
    return _PERMITTED[action]
