"""The façade's table of errors has no hole, and its codes are Confluent's."""

import gc
from collections.abc import Iterator
from typing import Any

import pytest

from gateway.budgets.errors import BudgetRefusedError
from gateway.confluent.errors import ConfluentError, Fault, no_schema, no_subject, no_version
from gateway.confluent.problems import ROWS, refusal_of, rejected
from gateway.errors import (
    BodyTooLargeError,
    GatewayError,
    IdentityProviderUnavailableError,
    InsufficientScopeError,
    InvalidRequestError,
    MalformedBodyError,
    RequestFault,
    SlowBodyError,
    TenantDisabledError,
    UnauthenticatedError,
)
from gateway.errors import StoreUnavailableError as KeysUnavailableError
from policy.rejection import Rejection, RejectionCode
from policy.roles import Action
from registry.errors import (
    ContractRejectedError,
    ForbiddenError,
    IncompatibleError,
    InvalidNameError,
    InvalidSignatureError,
    NotFoundError,
    PreconditionFailedError,
    RegistryError,
    SecondPersonError,
    SignatureRequiredError,
    StaleRevisionError,
    StateError,
    StoreUnavailableError,
    TombstonedError,
    UndecidedError,
    UnsupportedPatternError,
)
from registry.store.faults import StoreVersionError, TransientStoreError

REFUSED = Rejection(code=RejectionCode.UNSUPPORTED_KEYWORD, message="no", pointer="/properties/a/not")
TOO_LONG = Rejection(
    code=RejectionCode.LIMIT_EXCEEDED, message="no", limit_name="max_contract_bytes", limit=10, observed=11
)

OVER_BUDGET = BudgetRefusedError(
    "no",
    level="tenant",
    budget="b",
    window=None,
    limit=1,
    observed=2,
    retry_after_seconds=3,
    resets_in_seconds=None,
    headers={},
)
EXPECTED: tuple[tuple[RegistryError | GatewayError, int, int], ...] = (
    (ContractRejectedError((REFUSED,)), 422, 42201),
    (ContractRejectedError((TOO_LONG,)), 422, 42209),
    (UnsupportedPatternError(reason="no", position=3), 422, 42201),
    (InvalidNameError("a contract", "?"), 422, 42208),
    (NotFoundError("contract", "a"), 404, 40401),
    (NotFoundError("revision", "a@1"), 404, 40402),
    (TombstonedError("contract", "a"), 404, 40401),
    (TombstonedError("revision", "a@1"), 404, 40402),
    (ForbiddenError(Action.REGISTER_REVISION), 403, 40301),
    (SecondPersonError("no"), 403, 40301),
    (IncompatibleError("no", level="BACKWARD", against=1, question="producer_safe", witness_text="7"), 409, 40901),
    (UndecidedError("no", level="BACKWARD", against=1, question="producer_safe"), 409, 40901),
    (StateError("still_referenced", "no"), 422, 42206),
    (StateError("draft_revision", "no"), 422, 42205),
    (SignatureRequiredError("no"), 422, 42205),
    (InvalidSignatureError("no"), 422, 42205),
    (PreconditionFailedError(expected=1, observed=2), 500, 50002),
    (StaleRevisionError("no"), 500, 50001),
    (StoreUnavailableError(), 500, 50001),
    (TransientStoreError(), 500, 50001),
    (StoreVersionError("0009"), 500, 50001),
    (UnauthenticatedError(missing=True), 401, 40101),
    (UnauthenticatedError(missing=False), 401, 40101),
    (MalformedBodyError((Rejection(code=RejectionCode.INVALID_JSON, message="no"),)), 400, 400),
    (BodyTooLargeError(limit_bytes=1, observed_bytes=2), 422, 42209),
    (SlowBodyError(limit_seconds=1), 408, 408),
    (InvalidRequestError(RequestFault.UNSUPPORTED_MEDIA_TYPE, "no"), 415, 415),
    (OVER_BUDGET, 429, 42901),
    (KeysUnavailableError(), 500, 50001),
    (TenantDisabledError(), 403, 40301),
    (InsufficientScopeError(("contracts:write",)), 403, 40301),
    (IdentityProviderUnavailableError(retry_after_seconds=10), 500, 50001),
)


def leaves(root: type[Any]) -> Iterator[type[Any]]:
    yield root
    for each in root.__subclasses__():
        yield from leaves(each)


def test_every_error_of_the_registry_is_tried_here() -> None:
    gc.collect()
    assert set(leaves(RegistryError)) - {RegistryError} <= {type(error) for error, _, _ in EXPECTED}


@pytest.mark.parametrize(("error", "status", "code"), EXPECTED, ids=lambda value: str(value)[:40])
def test_every_error_has_confluents_code(error: RegistryError | GatewayError, status: int, code: int) -> None:
    refusal = refusal_of(error)
    assert (refusal.status, refusal.body["error_code"]) == (status, code)
    assert refusal.body["message"]


@pytest.mark.parametrize("fault", Fault)
def test_every_fault_has_a_row_whose_code_begins_with_its_status(fault: Fault) -> None:
    row = ROWS[fault]
    assert row.code in {row.status} | set(range(row.status * 100, row.status * 100 + 100))
    assert refusal_of(ConfluentError(fault, "why")).body == {"error_code": row.code, "message": "why"}


def test_clients_repeat_only_what_may_come_out_otherwise() -> None:
    repeated = {fault for fault, row in ROWS.items() if row.status in {408, 429, 500, 502, 503, 504}}
    assert repeated == {Fault.SLOW_BODY, Fault.TOO_MANY_REQUESTS, Fault.STORE_FAILED, Fault.BUSY, Fault.INTERNAL}


def test_a_refused_schema_is_told_by_code_place_and_remedy() -> None:
    unknown = Rejection(
        code=RejectionCode.UNKNOWN_KEYWORD, message="unknown", pointer="/minLenght", suggestion="minLength"
    )
    message = rejected((REFUSED, unknown, TOO_LONG)).body["message"]
    assert "unsupported_keyword at /properties/a/not: no" in message
    assert "unknown_keyword at /minLenght: unknown (suggestion: minLength)" in message
    assert "limit_exceeded at the root: no (max_contract_bytes: at most 10, here 11)" in message


def test_an_incompatible_schema_is_shown_a_document() -> None:
    error = IncompatibleError("b is gone", level="FULL", against=3, question="consumer_safe", witness_text='{"b":1}')
    message = refusal_of(error).body["message"]
    assert message.startswith("Schema being registered is incompatible with an earlier schema")
    assert "consumer_safe" in message
    assert '{"b":1}' in message


def test_no_message_grows_without_bound() -> None:
    error = IncompatibleError("no", level="FULL", against=3, question="consumer_safe", witness_text='"' + "x" * 10**6)
    assert len(refusal_of(error).body["message"]) == 4000
    for refusal in (no_subject("s" * 10**6), no_schema("s" * 10**6), no_version("1")):
        assert len(str(refusal)) < 200


def test_who_is_not_known_is_told_how_to_say_it() -> None:
    refusal = refusal_of(UnauthenticatedError(missing=True))
    assert refusal.headers["WWW-Authenticate"].startswith("Basic ")
    assert refusal.body == refusal_of(UnauthenticatedError(missing=False)).body


def test_who_asks_too_often_is_told_when_to_come_back() -> None:
    error = OVER_BUDGET
    assert refusal_of(error).headers["Retry-After"] == "3"
