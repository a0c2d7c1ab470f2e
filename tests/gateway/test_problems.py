"""The problem table has no hole."""

import gc
from collections.abc import Iterator, Mapping
from typing import Any, get_args

import pytest

from gateway.backends.errors import UpstreamFault, UpstreamRefusedError
from gateway.budgets.errors import BudgetRefusedError, BudgetUnreadableError, PriceUnknownError
from gateway.completion import CompletionClass, Reason
from gateway.errors import (
    BodyTooLargeError,
    CompileCrashedError,
    CompilerUnavailableError,
    CompileTimedOutError,
    ContractLookupError,
    ContractRefusedError,
    DeadlinePassedError,
    GatewayError,
    IdempotencyConflictError,
    IdempotencyInProgressError,
    IdentityProviderUnavailableError,
    InsufficientScopeError,
    InvalidRequestError,
    MalformedBodyError,
    ModelNotFoundError,
    NodeLostError,
    NodeRefusedError,
    NoNodeError,
    OutputError,
    RequestFault,
    ResponseNotFoundError,
    SecretShownError,
    SlowBodyError,
    StoreUnavailableError,
    TenantDisabledError,
    UnauthenticatedError,
)
from gateway.policies.errors import PolicyUnreadableError, ServingRefusedError
from gateway.problem import dotted
from gateway.problem_rows import (
    NODE_FAULTS,
    REASONS,
    REJECTIONS,
    REQUEST_FAULTS,
    SERVING_REFUSALS,
    UPSTREAM_FAULTS,
    UPSTREAM_OPERATORS,
)
from gateway.problems import problem_of, route_problem
from gateway.rules.errors import RulesUncheckedError, RulesUnreadableError
from inference_node.protocol import NodeFault
from policy.rejection import Rejection, RejectionCode
from policy.serving_plan import ServingRefusal
from registry.errors import NotFoundError

REFUSAL = Rejection(code=RejectionCode.UNSUPPORTED_KEYWORD, message="`not` is not supported", pointer="/anyOf/0/not")


def refusal(
    budget: str, *, retry_after_seconds: float | None, headers: Mapping[str, str] | None = None
) -> BudgetRefusedError:
    return BudgetRefusedError(
        "no",
        level="tenant",
        budget=budget,
        window="60",
        limit=1,
        observed=2,
        retry_after_seconds=retry_after_seconds,
        resets_in_seconds=3.2,
        headers=headers or {},
    )


EVERY_ERROR: tuple[GatewayError, ...] = (
    InvalidRequestError(RequestFault.INVALID_TYPE, "no", param="model"),
    MalformedBodyError((Rejection(code=RejectionCode.INVALID_JSON, message="no"),)),
    BodyTooLargeError(limit_bytes=1, observed_bytes=2),
    SlowBodyError(limit_seconds=1),
    ResponseNotFoundError("resp_1"),
    UnauthenticatedError(missing=True),
    TenantDisabledError(),
    InsufficientScopeError(("admin",)),
    SecretShownError("0123456789abcdef"),
    IdentityProviderUnavailableError(retry_after_seconds=10),
    StoreUnavailableError(),
    ModelNotFoundError("x", offered=("y",)),
    ContractLookupError(NotFoundError("contract", "x@prod"), param="contract"),
    ServingRefusedError(ServingRefusal.CAPABILITY_UNAVAILABLE, "no", param="response_format"),
    PolicyUnreadableError(),
    UpstreamRefusedError(UpstreamFault.FAILED),
    IdempotencyConflictError(),
    IdempotencyInProgressError(retry_after_seconds=1),
    ContractRefusedError((REFUSAL,), param="response_format.json_schema.schema"),
    refusal("requests", retry_after_seconds=3.2),
    BudgetUnreadableError(),
    RulesUnreadableError(),
    RulesUncheckedError(retry_after_seconds=1),
    PriceUnknownError("x"),
    CompilerUnavailableError("no", retry_after_seconds=0.2),
    CompileTimedOutError(limit_name="cpu_seconds", limit_seconds=0.5, param="p"),
    CompileCrashedError(param="p"),
    NoNodeError("no", retry_after_seconds=1),
    NodeRefusedError(NodeFault(code="overloaded", message="no")),
    NodeLostError(),
    DeadlinePassedError(),
    OutputError(Reason.NODE_LOST, "no", completion=CompletionClass.BACKEND_FAILED, pointer=None, member={}),
)


def leaves(root: type[GatewayError] = GatewayError) -> Iterator[type[GatewayError]]:
    subclasses = root.__subclasses__()
    if not subclasses:
        yield root
    for each in subclasses:
        yield from leaves(each)


def test_every_leaf_of_the_error_tree_is_tried_here() -> None:
    gc.collect()
    assert set(leaves()) == {type(error) for error in EVERY_ERROR}


@pytest.mark.parametrize("error", EVERY_ERROR, ids=lambda error: type(error).__name__)
def test_every_error_has_an_answer_of_its_own(error: GatewayError) -> None:
    problem = problem_of(error)
    assert problem.code != "internal_error"
    assert 400 <= problem.status < 600
    body = problem.body("req_1")["error"]
    assert {"message", "type", "param", "code", "request_id"} <= set(body)
    assert isinstance(body["code"], str)
    assert body["message"]


def test_every_closed_list_has_a_row_for_each_member() -> None:
    assert set(REJECTIONS) == set(RejectionCode)
    assert set(REQUEST_FAULTS) == set(RequestFault)
    assert set(NODE_FAULTS) == set(get_args(NodeFault.model_fields["code"].annotation))
    assert set(REASONS) == set(Reason)
    assert set(SERVING_REFUSALS) == set(ServingRefusal)
    assert set(UPSTREAM_FAULTS) == set(UpstreamFault)


def test_what_an_operator_has_to_mend_is_not_asked_for_again() -> None:
    for fault in UpstreamFault:
        problem = problem_of(UpstreamRefusedError(fault))
        assert (problem.headers.get("x-should-retry") == "false") == (fault in UPSTREAM_OPERATORS)


def test_a_full_backend_says_itself_when_to_come_back() -> None:
    assert problem_of(UpstreamRefusedError(UpstreamFault.OVERLOADED)).headers["Retry-After"] == "1"
    problem = problem_of(UpstreamRefusedError(UpstreamFault.OVERLOADED, retry_after_seconds=7))
    assert (problem.status, problem.headers["Retry-After"]) == (503, "7")


def test_a_policy_forbids_and_a_backend_is_not_able() -> None:
    statuses = {each: problem_of(ServingRefusedError(each, "no", param="p")).status for each in ServingRefusal}
    assert statuses.pop(ServingRefusal.CAPABILITY_UNAVAILABLE) == 400
    assert set(statuses.values()) == {403}


@pytest.mark.parametrize("code", NODE_FAULTS)
def test_a_node_fault_that_is_not_the_callers_never_speaks_in_the_nodes_words(code: Any) -> None:
    problem = problem_of(NodeRefusedError(NodeFault(code=code, message="secret detail")))
    assert ("secret detail" in problem.message) == (problem.type == "invalid_request_error")
    if problem.status >= 500:
        assert problem.code == "backend_failed"
        assert problem.headers["x-schemagate-completion"] == "backend_failed"


def test_a_contract_fault_is_placed_by_param_and_by_pointer() -> None:
    problem = problem_of(ContractRefusedError((REFUSAL,), param="response_format.json_schema.schema"))
    assert problem.status == 400
    assert problem.code == "unsupported_keyword"
    assert problem.param == "response_format.json_schema.schema.anyOf[0].not"
    assert problem.extensions["pointer"] == "/anyOf/0/not"


def test_several_faults_are_listed_and_the_first_is_the_answer() -> None:
    other = Rejection(
        code=RejectionCode.LIMIT_EXCEEDED, message="long", pointer="", limit_name="max_length", limit=1, observed=2
    )
    error = problem_of(ContractRefusedError((REFUSAL, other), param="contract.schema")).body("r")["error"]
    assert [each["code"] for each in error["errors"]] == ["unsupported_keyword", "limit_exceeded"]
    assert error["errors"][1]["limit"] == 1
    assert error["errors"][1]["observed"] == 2
    assert error["errors"][1]["pointer"] == ""


def test_a_fault_of_the_bodys_text_inside_the_schema_is_placed_within_the_schema() -> None:
    rejection = Rejection(
        code=RejectionCode.DUPLICATE_NAME, message="twice", pointer="/response_format/json_schema/schema/properties/a"
    )
    problem = problem_of(MalformedBodyError((rejection,)))
    assert problem.extensions["pointer"] == "/properties/a"
    assert problem.param == "response_format.json_schema.schema.properties.a"


def test_waiting_helps_against_a_rate_and_not_against_a_quota() -> None:
    rate = problem_of(refusal("requests", retry_after_seconds=3.2, headers={"x": "y"}))
    assert (rate.status, rate.headers["Retry-After"], rate.headers["x-should-retry"]) == (429, "4", "true")
    assert rate.headers["x"] == "y"
    quota = problem_of(refusal("tokens", retry_after_seconds=None))
    assert (quota.status, quota.code, quota.headers["x-should-retry"]) == (429, "insufficient_quota", "false")


def test_a_contract_that_eats_cpu_is_the_callers_and_one_that_waits_is_ours() -> None:
    cpu = problem_of(CompileTimedOutError(limit_name="cpu_seconds", limit_seconds=0.5, param="p"))
    wall = problem_of(CompileTimedOutError(limit_name="wall_seconds", limit_seconds=2, param="p"))
    assert (cpu.status, wall.status) == (400, 503)
    assert wall.headers["Retry-After"] == "1"


def test_a_contract_that_kills_a_worker_is_not_to_be_sent_again() -> None:
    assert problem_of(CompileCrashedError(param="p")).headers["x-should-retry"] == "false"


def test_paths_are_spelled_as_the_clients_spell_them() -> None:
    assert dotted("schema", "/properties/a~1b/items/0") == "schema.properties.a/b.items[0]"
    assert dotted("", "/messages/3/content") == "messages[3].content"


def test_what_the_router_refuses_has_a_body_too() -> None:
    nowhere = route_problem(404)
    assert nowhere.code == "unknown_url"
    assert "base URLs of clients end in /v1" in nowhere.message
    problem = route_problem(405, allowed=("GET", "PUT"))
    assert (problem.code, problem.headers) == ("method_not_allowed", {"Allow": "GET, PUT"})
