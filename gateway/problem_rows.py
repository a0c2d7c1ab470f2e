"""The rows of the problem table that are keyed by closed lists: field faults, rejections, node faults, output reasons.

`gateway.problems` turns them into answers; a test fails when a list has a member without a row.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus

from gateway.backends.errors import UpstreamFault
from gateway.completion import CompletionClass, Reason
from gateway.errors import RequestFault
from policy.rejection import RejectionCode
from policy.serving_plan import ServingRefusal

INVALID = "invalid_request_error"
SERVER = "server_error"
OUTPUT = "output_error"
BACKEND_FAILED = str(CompletionClass.BACKEND_FAILED)

REQUEST_FAULTS: Mapping[RequestFault, int] = {
    fault: HTTPStatus.UNSUPPORTED_MEDIA_TYPE if fault is RequestFault.UNSUPPORTED_MEDIA_TYPE else HTTPStatus.BAD_REQUEST
    for fault in RequestFault
}

REJECTIONS: Mapping[RejectionCode, int] = {
    RejectionCode.INVALID_JSON: 400,
    RejectionCode.DUPLICATE_NAME: 400,
    RejectionCode.LONE_SURROGATE: 400,
    RejectionCode.NON_FINITE_NUMBER: 400,
    RejectionCode.INVALID_ENCODING: 400,
    RejectionCode.LIMIT_EXCEEDED: 400,
    RejectionCode.INVALID_SCHEMA: 400,
    RejectionCode.INVALID_GRAMMAR: 400,
    RejectionCode.UNKNOWN_KEYWORD: 400,
    RejectionCode.UNKNOWN_FORMAT: 400,
    RejectionCode.RESERVED_KEYWORD: 400,
    RejectionCode.FOREIGN_DIALECT_KEYWORD: 400,
    RejectionCode.UNSUPPORTED_DIALECT: 400,
    RejectionCode.UNSUPPORTED_KIND: 400,
    RejectionCode.UNSUPPORTED_KEYWORD: 400,
    RejectionCode.UNSUPPORTED_REGEX: 400,
    RejectionCode.UNSUPPORTED_VALUE: 400,
    RejectionCode.REMOTE_REFERENCE: 400,
    RejectionCode.UNRESOLVED_REFERENCE: 400,
    RejectionCode.MOVABLE_REFERENCE: 400,
    RejectionCode.UNGUARDED_REF_CYCLE: 400,
    RejectionCode.UNSATISFIABLE: 400,
    RejectionCode.COMPILE_REFUSED: 400,
    RejectionCode.TRIAL_FAILED: 400,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """How one cause is answered."""

    status: int
    type: str
    code: str
    message: str | None = None
    """None where the cause brings its own, which was written for callers."""
    param: str | None = None
    retry_after_seconds: float | None = None
    is_final: bool = False
    """Stock clients ask again by themselves after any 5xx; these they are told not to."""


NODE_FAULTS: Mapping[str, Row] = {
    "artifact_required": Row(
        status=502, type=SERVER, code=BACKEND_FAILED, message="the inference node does not keep the contract"
    ),
    "tokenizer_mismatch": Row(
        status=503,
        type=SERVER,
        code=BACKEND_FAILED,
        message="the inference node has changed its tokenizer; ask again",
        retry_after_seconds=1,
    ),
    # These two stay so until an operator has done something.
    "invalid_frame": Row(
        status=502,
        type=SERVER,
        code=BACKEND_FAILED,
        message="the inference node does not trust the compiler's key",
        is_final=True,
    ),
    "artifact_key_mismatch": Row(
        status=502,
        type=SERVER,
        code=BACKEND_FAILED,
        message="the inference node names the contract differently",
        is_final=True,
    ),
    "artifact_failed": Row(
        status=502, type=SERVER, code=BACKEND_FAILED, message="the inference node could not load the contract"
    ),
    "context_length_exceeded": Row(status=400, type=INVALID, code="context_length_exceeded", param="messages"),
    "reasoning_unsupported": Row(status=400, type=INVALID, code="reasoning_unsupported", param="reasoning"),
    "malformed_request": Row(status=400, type=INVALID, code="invalid_messages", param="messages"),
    **{
        # Of a node's operations that no request of a caller's leads to.
        code: Row(
            status=502,
            type=SERVER,
            code=BACKEND_FAILED,
            message="the inference node was asked for what it does not have",
        )
        for code in (
            "adapter_required",
            "adapter_mismatch",
            "adapter_in_use",
            "sequence_not_found",
            "snapshot_damaged",
            "snapshot_version",
            "snapshot_model_mismatch",
            "snapshot_tokenizer_mismatch",
            "snapshot_artifact_mismatch",
            "prefix_not_found",
            "prefix_limit",
        )
    },
    "body_too_large": Row(status=413, type=INVALID, code="body_too_large", param="messages"),
    "overloaded": Row(
        status=503,
        type=SERVER,
        code=BACKEND_FAILED,
        message="every inference node is full; ask again",
        retry_after_seconds=1,
    ),
    "draining": Row(
        status=503,
        type=SERVER,
        code=BACKEND_FAILED,
        message="the inference node is shutting down; ask again",
        retry_after_seconds=2,
    ),
    "not_ready": Row(
        status=503,
        type=SERVER,
        code=BACKEND_FAILED,
        message="the inference node is loading its model; ask again",
        retry_after_seconds=2,
    ),
}
"""A node's refusals before the first event, by their code."""

SERVING_REFUSALS: Mapping[ServingRefusal, int] = {
    refusal: HTTPStatus.BAD_REQUEST if refusal is ServingRefusal.CAPABILITY_UNAVAILABLE else HTTPStatus.FORBIDDEN
    for refusal in ServingRefusal
}

UPSTREAM_FAULTS: Mapping[UpstreamFault, Row] = {
    UpstreamFault.CONTEXT_LENGTH: Row(
        status=400,
        type=INVALID,
        code="context_length_exceeded",
        message="the messages and the tokens asked for are more than the model's context holds",
        param="messages",
    ),
    UpstreamFault.PROMPT_FILTERED: Row(
        status=400,
        type=INVALID,
        code="content_filter",
        message="the model's backend filters these messages out",
        param="messages",
    ),
    UpstreamFault.CREDENTIALS: Row(
        status=502, type=SERVER, code=BACKEND_FAILED, message="the model's backend does not let this gateway in"
    ),
    UpstreamFault.MODEL: Row(
        status=502, type=SERVER, code=BACKEND_FAILED, message="the model's backend does not have the model"
    ),
    UpstreamFault.REQUEST: Row(
        status=502, type=SERVER, code=BACKEND_FAILED, message="the model's backend does not take this request"
    ),
    UpstreamFault.OVERLOADED: Row(
        status=503,
        type=SERVER,
        code=BACKEND_FAILED,
        message="the model's backend is full; ask again",
        retry_after_seconds=1,
    ),
    UpstreamFault.FAILED: Row(
        status=502, type=SERVER, code=BACKEND_FAILED, message="the model's backend failed before it began"
    ),
    UpstreamFault.UNREADABLE: Row(
        status=502, type=SERVER, code=BACKEND_FAILED, message="the model's backend answers in no way that can be read"
    ),
    UpstreamFault.UNREACHABLE: Row(
        status=503,
        type=SERVER,
        code=BACKEND_FAILED,
        message="the model's backend cannot be reached; ask again",
        retry_after_seconds=1,
    ),
}
"""What backends that are not ours say before the first token."""

UPSTREAM_OPERATORS = frozenset({UpstreamFault.CREDENTIALS, UpstreamFault.MODEL, UpstreamFault.REQUEST})
"""Stays so until an operator has done something: stock clients are told not to ask again."""

REASONS: Mapping[Reason, Row] = {
    Reason.NO_CONTINUATION: Row(
        status=422,
        type=OUTPUT,
        code="impossible_continuation",
        message="decoding reached a point from which the contract cannot be fulfilled; repair the contract",
    ),
    Reason.FAILED_VALIDATION: Row(status=422, type=OUTPUT, code="output_failed_validation"),
    Reason.FAILED_RULE: Row(status=422, type=OUTPUT, code="output_failed_validation"),
    Reason.NOT_AUTHORISED: Row(status=422, type=OUTPUT, code="output_not_authorised"),
    Reason.RULE_NOT_JUDGED: Row(
        status=503,
        type=SERVER,
        code=BACKEND_FAILED,
        message="a rule over the finished answer gave no verdict, so it is not given out as complete",
    ),
    Reason.RULE_BROKEN: Row(
        status=503,
        type=SERVER,
        code=BACKEND_FAILED,
        message="a rule over finished answers cannot be evaluated on this one, so it is not given out as complete",
        is_final=True,
    ),
    Reason.WITHHELD: Row(
        status=422,
        type=OUTPUT,
        code="output_withheld",
        message="the answer ended unfinished, so nobody could say whether you may have it; allow more tokens",
    ),
    Reason.NOT_JUDGED: Row(
        status=503,
        type=SERVER,
        code=BACKEND_FAILED,
        message="the finished answer could not be validated in time, so it is not given out as complete",
        retry_after_seconds=1,
    ),
    Reason.NODE_LOST: Row(
        status=502, type=SERVER, code=BACKEND_FAILED, message="the inference node went away while it was decoding"
    ),
    Reason.NODE_STOPPED: Row(
        status=503,
        type=SERVER,
        code=BACKEND_FAILED,
        message="the inference node stopped decoding because it is shutting down; ask again",
        retry_after_seconds=1,
    ),
    Reason.ENGINE_FAILED: Row(
        status=502, type=SERVER, code=BACKEND_FAILED, message="the inference engine failed while it was decoding"
    ),
    Reason.GRAMMAR_FAILED: Row(
        status=502, type=SERVER, code=BACKEND_FAILED, message="the grammar engine ran into one of its limits"
    ),
    Reason.CONTRADICTION: Row(
        status=502, type=SERVER, code=BACKEND_FAILED, message="the inference node contradicted itself"
    ),
    Reason.CLAIM_BROKEN: Row(
        status=502,
        type=SERVER,
        code=BACKEND_FAILED,
        message="the model's backend says that it enforces contracts, and ended with an answer that breaks this one",
    ),
    Reason.DEADLINE_PASSED: Row(
        status=504, type=SERVER, code=BACKEND_FAILED, message="the request ran over the time that a request may take"
    ),
    # Nobody reads it; nginx's number for it, so that access logs agree.
    Reason.CALLER_GONE: Row(status=499, type=SERVER, code="cancelled", message="the caller went away"),
}
"""Ends that are no answer (`gateway.completion`)."""
