"""Operations on registered contracts: the registry's own API."""

from typing import Final

from gateway.contract_answers import (
    AliasAnswer,
    AliasList,
    CheckAnswer,
    ContractAnswer,
    ContractDetail,
    ContractPage,
    DiffAnswer,
    PayloadAnswer,
    PromotionMember,
    PromotionPage,
    RegisterAnswer,
    RegistryPolicyAnswer,
    RevisionMember,
    RevisionPage,
    SignatureAnswer,
    SignatureList,
    SigningKeyList,
    SigningKeyMember,
    UsageAnswer,
)
from gateway.contract_protocol import (
    AliasSent,
    ApprovalSent,
    CheckRequest,
    ContractPatch,
    DiffRequest,
    ReasonSent,
    RegisterRequest,
    RegistryPolicySent,
    SignatureSent,
    SigningKeySent,
    StateSent,
)
from gateway.openapi.operation import Answer, Operation, Part, answers, no_answer, reading, writing
from gateway.openapi.protocol import AuditEvents, RevisionWithSource

_C: Final = "contracts"
_G: Final = "governance"
_NAME: Final = "/v1/contracts/{name}"
_REVISION: Final = _NAME + "/revisions/{number}"
_ALIAS: Final = _NAME + "/aliases/{alias}"
_MATCH: Final = ("Idempotency-Key", "If-Match")
_OWNER: Final = ("owner",)
_PAGE: Final = ("cursor", "limit")

CONTRACTS: Final = Part(
    tag=_C,
    description="Registering, reading and moving contracts.",
    operations={
        ("POST", "/v1/contracts"): writing(
            _C, answers(RegisterAnswer) | answers(RegisterAnswer, status=201), body=RegisterRequest
        ),
        ("POST", "/v1/contracts/check"): writing(_C, answers(CheckAnswer), body=CheckRequest, headers=()),
        ("POST", "/v1/contracts/diff"): writing(_C, answers(DiffAnswer), body=DiffRequest, headers=()),
        ("GET", "/v1/contracts"): reading(
            _C, ContractPage, query=("q", "team", "kind", "owner", "state", "include_retired", *_PAGE), named=True
        ),
        ("GET", _NAME): reading(
            _C, ContractDetail | RevisionWithSource, query=("owner", "include_retired"), named=True
        ),
        ("PATCH", _NAME): writing(
            _C, answers(ContractAnswer, headers=("ETag",)), body=ContractPatch, query=_OWNER, headers=_MATCH
        ),
        ("DELETE", _NAME): writing(_C, answers(ContractAnswer), body=ReasonSent, required=False, query=_OWNER),
        ("GET", _NAME + "/usage"): reading(_C, UsageAnswer, query=_OWNER, named=True),
        ("GET", _NAME + "/revisions"): reading(
            _C, RevisionPage, query=("owner", "include_retired", *_PAGE), named=True
        ),
        ("DELETE", _REVISION): writing(_C, answers(RevisionMember), body=ReasonSent, required=False, query=_OWNER),
        ("POST", _REVISION + "/state"): writing(_C, answers(RevisionMember), body=StateSent, query=_OWNER),
        ("GET", _NAME + "/aliases"): reading(_C, AliasList, query=_OWNER, named=True),
        ("GET", _ALIAS): reading(_C, AliasAnswer, query=_OWNER, headers=("ETag",), named=True),
        ("PUT", _ALIAS): writing(
            _C,
            {
                200: Answer(shape=AliasAnswer, headers=("ETag",)),
                201: Answer(shape=AliasAnswer, headers=("ETag",)),
                202: Answer(shape=PromotionMember, headers=("Location",)),
            },
            body=AliasSent,
            query=_OWNER,
            headers=(*_MATCH, "If-None-Match"),
        ),
        ("DELETE", _ALIAS): writing(_C, no_answer(), body=ReasonSent, required=False, query=_OWNER, headers=_MATCH),
        ("POST", _ALIAS + "/rollback"): writing(
            _C,
            answers(AliasAnswer, headers=("ETag",)),
            body=ReasonSent,
            required=False,
            query=_OWNER,
            headers=_MATCH,
        ),
    },
)

GOVERNANCE: Final = Part(
    tag=_G,
    description="Promotions, signatures, the registry's policy and the chain of events.",
    operations={
        ("GET", _REVISION + "/signing-payload"): reading(_G, PayloadAnswer, query=_OWNER, named=True),
        ("GET", _REVISION + "/signatures"): reading(_G, SignatureList, query=_OWNER, named=True),
        ("POST", _REVISION + "/signatures"): writing(
            _G, answers(SignatureAnswer, status=201), body=SignatureSent, query=_OWNER
        ),
        ("GET", "/v1/promotions"): reading(_G, PromotionPage, query=("state", *_PAGE)),
        ("GET", "/v1/promotions/{promotion_id}"): reading(_G, PromotionMember, named=True),
        ("POST", "/v1/promotions/{promotion_id}/approve"): writing(
            _G, answers(AliasAnswer, headers=("ETag",)), body=ApprovalSent, required=False
        ),
        ("POST", "/v1/promotions/{promotion_id}/reject"): writing(
            _G, answers(PromotionMember), body=ReasonSent, required=False
        ),
        ("POST", "/v1/promotions/{promotion_id}/withdraw"): writing(
            _G, answers(PromotionMember), body=ReasonSent, required=False
        ),
        ("GET", "/v1/signing-keys"): reading(_G, SigningKeyList),
        ("POST", "/v1/signing-keys"): writing(_G, answers(SigningKeyMember, status=201), body=SigningKeySent),
        ("POST", "/v1/signing-keys/{key_id}/revoke"): writing(
            _G, answers(SigningKeyMember), body=ReasonSent, required=False
        ),
        ("GET", "/v1/policy"): reading(_G, RegistryPolicyAnswer, headers=("ETag",)),
        ("PUT", "/v1/policy"): writing(
            _G,
            answers(RegistryPolicyAnswer, headers=("ETag",)),
            body=RegistryPolicySent,
            required=False,
            headers=_MATCH,
        ),
        ("GET", "/v1/audit"): reading(_G, AuditEvents, query=("after", "limit")),
        ("GET", "/v1/audit/export"): Operation(tag=_G, answers={200: Answer(media_types=("application/jsonl",))}),
    },
)
