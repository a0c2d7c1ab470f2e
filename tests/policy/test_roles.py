"""Who may do what, as a table."""

import pytest

from policy.roles import ALL_ROLES, Action, Role, needed_roles

C, A, P, OP, U = Role.CALLER, Role.AUTHOR, Role.APPROVER, Role.OPERATOR, Role.AUDITOR

TABLE: dict[Action, set[Role]] = {
    Action.READ_CONTRACT: {C, A, P, OP, U},
    Action.REGISTER_REVISION: {A, OP},
    Action.CHANGE_CONTRACT: {A, OP},
    Action.CHANGE_STATE: {A, OP},
    Action.RETIRE: {A, OP},
    Action.PROMOTE: {A, OP},
    Action.PROMOTE_REGARDLESS: {OP},
    Action.DROP_PROTECTED_ALIAS: {OP},
    Action.ROLL_BACK: {A, P, OP},
    Action.APPROVE_PROMOTION: {P},
    Action.SIGN: {A, P, OP},
    Action.TRUST_KEY: {OP},
    Action.SET_POLICY: {OP},
    Action.READ_AUDIT: {U, OP},
    Action.ADMINISTER: {OP},
}


@pytest.mark.parametrize("action", list(Action))
def test_each_action_takes_one_of_these_roles(action: Action) -> None:
    assert needed_roles(action) == TABLE[action]


def test_a_caller_and_an_auditor_change_nothing() -> None:
    changing = set(Action) - {Action.READ_CONTRACT, Action.READ_AUDIT}
    assert not any(needed_roles(action) & {C, U} for action in changing)


def test_no_role_both_asks_for_and_approves_a_promotion() -> None:
    assert not needed_roles(Action.PROMOTE) & needed_roles(Action.APPROVE_PROMOTION)
    assert set(Role) == ALL_ROLES
