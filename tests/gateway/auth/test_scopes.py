"""Which scope a path takes, and what a credential that names none may be used for."""

import pytest
from fastapi.routing import APIRoute

from gateway.admin import keys, tenants
from gateway.auth.route_scopes import wanted_scopes
from gateway.confluent.router import ROUTERS
from gateway.routes import audit_chain, chat, models, promotions, registry_policy, signing_keys
from gateway.routes.contracts import aliases, diff, explain, lifecycle, reading, registration, signatures
from policy.roles import ALL_ROLES, Role
from policy.scopes import ALL_SCOPES, Scope, read_scopes, scopes_of

READ, WRITE, GENERATE = Scope.CONTRACTS_READ, Scope.CONTRACTS_WRITE, Scope.GENERATE


@pytest.mark.parametrize(
    ("method", "path", "wanted"),
    [
        ("POST", "/v1/chat/completions", {GENERATE}),
        ("POST", "/v1/responses", {GENERATE}),
        ("GET", "/v1/responses/resp_1", {GENERATE}),
        ("POST", "/v1/messages", {GENERATE}),
        ("POST", "/anything/else", {GENERATE}),
        ("GET", "/v1/models", set()),
        ("GET", "/v1/models/a/b", set()),
        ("GET", "/v1/capabilities", set()),
        ("GET", "/v1/contracts", {READ}),
        ("GET", "/v1/contracts/invoice@prod", {READ}),
        ("POST", "/v1/contracts", {WRITE}),
        ("POST", "/v1/contracts/check", {READ}),
        ("POST", "/v1/contracts/diff", {READ}),
        ("POST", "/v1/contracts/explain", {READ, GENERATE}),
        ("POST", "/v1/contracts/check/", {WRITE}),
        ("POST", "/v1/contracts/x/revisions/1/state", {WRITE}),
        ("DELETE", "/v1/contracts/x", {WRITE}),
        ("PUT", "/v1/policy", {WRITE}),
        ("GET", "/v1/policy", {READ}),
        ("POST", "/v1/signing-keys/ed25519:0/revoke", {WRITE}),
        ("POST", "/v1/promotions/prm_1/approve", {WRITE}),
        ("GET", "/v1/audit", {Scope.AUDIT_READ}),
        ("GET", "/v1/audit/export", {Scope.AUDIT_READ}),
        ("GET", "/v1/admin/tenants", {Scope.ADMIN}),
        ("GET", "/v1/admin/tenants/acme/keys", {Scope.ADMIN}),
        ("GET", "/v1/admin/tenants/acme/keys/serving-policy", {Scope.ADMIN}),
        ("GET", "/v1/admin/tenants/serving-policy", {Scope.ADMIN}),
        ("GET", "/v1/admin/tenants/acme/budgets", {Scope.ADMIN}),
        ("GET", "/v1/admin/tenants/acme/serving-policy", {Scope.ADMIN, READ}),
        ("GET", "/v1/admin/tenants/acme/serving-policy/family", {Scope.ADMIN, READ}),
        ("PUT", "/v1/admin/tenants/acme/serving-policy", {Scope.ADMIN}),
        ("GET", "/v1/admin/tenants/acme/rules", {Scope.ADMIN, READ}),
        ("PUT", "/v1/admin/tenants/acme/rules/family", {Scope.ADMIN}),
        ("GET", "/subjects", {READ}),
        ("POST", "/subjects/a", {READ}),
        ("POST", "/subjects/a/versions", {WRITE}),
        ("DELETE", "/subjects/a", {WRITE}),
        ("POST", "/compatibility/subjects/a/versions/latest", {READ}),
        ("PUT", "/config", {WRITE}),
        ("PUT", "/mode/a", {WRITE}),
        ("GET", "/schemas/ids/1", {READ}),
        ("GET", "/v1/metadata/id", {READ}),
        ("GET", "/", set()),
    ],
)
def test_a_path_takes_its_scope(method: str, path: str, wanted: set[Scope]) -> None:
    assert wanted_scopes(method, path) == wanted


def test_no_route_of_the_registry_or_of_operators_can_be_reached_with_generate_alone() -> None:
    guarded = (
        registration, diff, reading, lifecycle, aliases, signatures, promotions, signing_keys, registry_policy,
        audit_chain, keys, tenants,
    )  # fmt: skip
    routers = [*(resource.router for resource in guarded), *ROUTERS]
    routes = [route for router in routers for route in router.routes if isinstance(route, APIRoute)]
    assert len(routes) > 60
    open_to_generate = {
        (method, route.path)
        for route in routes
        for method in route.methods or ()
        if not wanted_scopes(method, route.path.replace("{", "").replace("}", "")) - {GENERATE}
    }
    assert open_to_generate == {("GET", "/")}


def test_generation_takes_generate_and_models_nothing() -> None:
    for resource, wanted in ((chat, {GENERATE}), (models, set()), (explain, {GENERATE, READ})):
        for route in resource.router.routes:
            assert isinstance(route, APIRoute)
            assert all(wanted_scopes(method, route.path) == wanted for method in route.methods or ())


def test_without_scopes_of_its_own_a_key_may_be_used_where_its_roles_may() -> None:
    assert scopes_of(()) == frozenset()
    assert scopes_of({Role.CALLER}) == {GENERATE, READ}
    assert scopes_of({Role.APPROVER}) == scopes_of({Role.AUTHOR}) == {GENERATE, READ, WRITE}
    assert scopes_of({Role.AUDITOR}) == {GENERATE, READ, Scope.AUDIT_READ}
    assert scopes_of({Role.OPERATOR}) == scopes_of(ALL_ROLES) == ALL_SCOPES


def test_names_of_scopes_that_are_not_known_give_nothing() -> None:
    assert read_scopes(["openid", "generate", "Admin", "contracts:*", ""]) == {GENERATE}
