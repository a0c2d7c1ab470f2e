"""Every error of the registry has an answer of its own, and clients know which of them are final."""

import ast
import gc
from collections.abc import Iterator

import pytest

from gateway.errors import ContractLookupError
from gateway.problems import problem_of
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
from tests.conftest import ROOT

REFUSAL = Rejection(code=RejectionCode.UNSUPPORTED_KEYWORD, message="no", pointer="/not")
ROWS: tuple[tuple[RegistryError, int, str], ...] = (
    (ContractRejectedError((REFUSAL,)), 400, "unsupported_keyword"),
    (UnsupportedPatternError(reason="no", position=3), 400, "unsupported_regex"),
    (InvalidNameError("a contract", "?"), 400, "invalid_name"),
    (InvalidSignatureError("no"), 400, "invalid_signature"),
    (NotFoundError("contract", "x"), 404, "contract_not_found"),
    (NotFoundError("signing key", "x"), 404, "signing_key_not_found"),
    (TombstonedError("contract", "x"), 410, "contract_gone"),
    (TombstonedError("revision", "x@1"), 410, "revision_gone"),
    (ForbiddenError(Action.PROMOTE), 403, "forbidden"),
    (ForbiddenError(Action.PROMOTE, reason="another's"), 403, "not_owner"),
    (SecondPersonError("no"), 403, "second_person_required"),
    (
        IncompatibleError("no", level="BACKWARD", against=1, question="producer_safe", witness_text="{}"),
        409,
        "incompatible",
    ),
    (UndecidedError("no", level="BACKWARD", against=1, question="producer_safe"), 409, "undecided"),
    (StateError("draft_revision", "no"), 409, "draft_revision"),
    (StateError("still_referenced", "no"), 409, "still_referenced"),
    (StateError("sunset_revision", "no"), 410, "sunset_revision"),
    (StateError("too_large", "no"), 400, "too_large"),
    (SignatureRequiredError("no"), 409, "signature_required"),
    (StaleRevisionError("no"), 409, "stale_revision"),
    (PreconditionFailedError(expected=1, observed=2), 412, "precondition_failed"),
    (StoreUnavailableError(), 503, "store_unavailable"),
    (TransientStoreError(), 503, "store_unavailable"),
    (StoreVersionError("0009"), 503, "store_unavailable"),
)


def leaves(root: type[RegistryError] = RegistryError) -> Iterator[type[RegistryError]]:
    subclasses = root.__subclasses__()
    if not subclasses:
        yield root
    for each in subclasses:
        yield from leaves(each)


def test_every_leaf_of_the_registrys_error_tree_is_tried_here() -> None:
    gc.collect()
    assert {each for each in leaves() if each.__module__.startswith("registry.")} <= {type(each) for each, _, _ in ROWS}


@pytest.mark.parametrize(("error", "status", "code"), ROWS, ids=lambda value: str(getattr(value, "code", value))[:40])
def test_every_error_has_its_row(error: RegistryError, status: int, code: str) -> None:
    problem = problem_of(error)
    assert (problem.status, problem.code) == (status, code)
    body = problem.body("req_1")["error"]
    assert {"message", "type", "param", "code", "request_id"} <= set(body)
    # Stock clients repeat a 409 unless they are told that it is final.
    assert (problem.headers.get("x-should-retry") == "false") == (status == 409)


def codes_of_states() -> set[str]:
    """Every first argument of a `StateError` in the registry's sources."""
    found: set[str] = set()
    for path in (ROOT / "registry").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "StateError":
                code = node.args[0]
                assert isinstance(code, ast.Constant), f"{path.name}:{node.lineno} makes up a code at run time"
                found.add(str(code.value))
    return found


def test_every_code_that_a_state_may_have_is_in_the_reference() -> None:
    written = (ROOT / "docs" / "api.md").read_text()
    missing = {code for code in codes_of_states() if f"`{code}`" not in written}
    assert missing == set()


def test_an_incompatibility_shows_its_witness() -> None:
    error = IncompatibleError("no", level="FULL", against=7, question="consumer_safe", witness_text='{"a":1}')
    body = problem_of(error).body("r")["error"]
    assert (body["level"], body["against"], body["question"]) == ("FULL", 7, "consumer_safe")
    assert body["witness"] == '{"a":1}'


def test_a_failed_precondition_tells_the_present_version() -> None:
    assert problem_of(PreconditionFailedError(expected=1, observed=4)).body("r")["error"]["observed"] == 4


def test_what_the_registry_says_of_a_named_contract_is_placed_where_the_name_stands() -> None:
    for cause in (NotFoundError("contract", "x"), StateError("draft_revision", "no")):
        problem = problem_of(ContractLookupError(cause, param="response_format.contract"))
        assert problem.param == "response_format.contract"
        assert (problem.status, problem.code) == (problem_of(cause).status, problem_of(cause).code)
