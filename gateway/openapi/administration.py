"""Operations of operators, and those that machines ask."""

from typing import Final

from gateway.admin.protocol import (
    KeyMember,
    KeyPage,
    KeyPatch,
    KeySent,
    KeyShown,
    NothingSent,
    RotationSent,
    TeamList,
    TeamMember,
    TeamSent,
    TenantMember,
    TenantPage,
    TenantPatch,
    TenantSent,
)
from gateway.budgets.protocol import BudgetAnswer, BudgetSent, BudgetUsageAnswer
from gateway.openapi.operation import JSON, Answer, Operation, Operations, Part, answers, reading, writing
from gateway.openapi.protocol import Health, Ready
from gateway.policies.protocol import ServingPolicyAnswer, ServingPolicySent
from gateway.rules.protocol import RuleSetAnswer, RuleSetSent

_A: Final = "administration"
_S: Final = "service"
_TENANT: Final = "/v1/admin/tenants/{tenant}"
_KEY: Final = _TENANT + "/keys/{key_id}"
_MATCH: Final = ("Idempotency-Key", "If-Match")
_ETAG: Final = ("ETag",)
_PAGE: Final = ("cursor", "limit")


def _leveled(path: str, sent: type, told: type, *, below: str = "/{family}") -> Operations:
    """A document of a tenant and of each family of its contracts, or what is `below` it: read, replaced, forgotten."""
    return {
        (method, place): operation
        for place in (path, path + below)
        for method, operation in (
            ("GET", reading(_A, told, headers=_ETAG, named=True)),
            ("PUT", writing(_A, answers(told, headers=_ETAG), body=sent, required=False, headers=_MATCH)),
            ("DELETE", writing(_A, answers(told, headers=_ETAG), headers=_MATCH)),
        )
    }


ADMINISTRATION: Final = Part(
    tag=_A,
    description="Tenants, teams, keys, and what operators say of how tenants are served.",
    operations={
        ("GET", "/v1/admin/tenants"): reading(_A, TenantPage, query=_PAGE),
        ("POST", "/v1/admin/tenants"): writing(_A, answers(TenantMember, status=201), body=TenantSent),
        ("GET", _TENANT): reading(_A, TenantMember, named=True),
        ("PATCH", _TENANT): writing(_A, answers(TenantMember), body=TenantPatch),
        ("GET", _TENANT + "/teams"): reading(_A, TeamList, named=True),
        ("POST", _TENANT + "/teams"): writing(_A, answers(TeamMember, status=201), body=TeamSent),
        ("GET", _TENANT + "/keys"): reading(_A, KeyPage, query=_PAGE, named=True),
        ("POST", _TENANT + "/keys"): writing(_A, answers(KeyShown, status=201), body=KeySent),
        ("GET", _KEY): reading(_A, KeyMember, named=True),
        ("PATCH", _KEY): writing(_A, answers(KeyMember), body=KeyPatch),
        ("POST", _KEY + "/rotate"): writing(_A, answers(KeyShown), body=RotationSent),
        ("POST", _KEY + "/revoke"): writing(_A, answers(KeyMember), body=NothingSent, required=False),
        **_leveled(_TENANT + "/serving-policy", ServingPolicySent, ServingPolicyAnswer),
        **_leveled(_TENANT + "/rules", RuleSetSent, RuleSetAnswer),
        **_leveled(_TENANT + "/budgets", BudgetSent, BudgetAnswer, below="/{level}/{subject}"),
        ("GET", "/v1/usage"): reading(_A, BudgetUsageAnswer),
    },
)

SERVICE: Final = Part(
    tag=_S,
    description="What machines ask; no key is needed.",
    operations={
        ("GET", "/healthz"): Operation(tag=_S, answers=answers(Health), faults=frozenset(), is_open=True),
        ("GET", "/readyz"): Operation(
            tag=_S,
            answers={200: Answer(shape=Ready), 503: Answer(shape=Ready)},
            faults=frozenset(),
            is_open=True,
        ),
        ("GET", "/metrics"): Operation(
            tag=_S, answers={200: Answer(media_types=("text/plain",))}, faults=frozenset(), is_open=True
        ),
        ("GET", "/openapi.json"): Operation(
            tag=_S, answers={200: Answer(shape=dict, media_types=(JSON,))}, faults=frozenset(), is_open=True
        ),
    },
)
