"""Operations that generate, and those that say what can be asked for."""

from typing import Final

from gateway.capabilities.protocol import Capabilities, ModelCard, ModelList
from gateway.chat.answer_protocol import ChatCompletion
from gateway.explain_protocol import ExplainAnswer
from gateway.openapi.operation import (
    BODY,
    DECODING,
    EVENT_STREAM,
    GUARDED,
    JSON,
    NAMED,
    Answer,
    Operation,
    Part,
    reading,
)
from gateway.responses.answer_protocol import ResponseObject

_TAG: Final = "generation"
_STORED: Final = Operation(tag=_TAG, answers={}, faults=GUARDED | NAMED)

GENERATION: Final = Part(
    tag=_TAG,
    description="Answers under a contract, and what a contract would come to.",
    operations={
        ("POST", "/v1/chat/completions"): Operation(
            tag=_TAG,
            answers={200: Answer(shape=ChatCompletion, media_types=(JSON, EVENT_STREAM))},
            faults=GUARDED | DECODING,
            headers=("Idempotency-Key",),
            body="ChatCompletionRequest",
        ),
        ("POST", "/v1/responses"): Operation(
            tag=_TAG,
            answers={200: Answer(shape=ResponseObject, media_types=(JSON, EVENT_STREAM))},
            faults=GUARDED | DECODING,
            headers=("Idempotency-Key",),
            body="ResponseRequest",
        ),
        ("GET", "/v1/responses/{response_id}"): _STORED,
        ("DELETE", "/v1/responses/{response_id}"): _STORED,
        ("POST", "/v1/responses/{response_id}/cancel"): _STORED,
        ("GET", "/v1/responses/{response_id}/input_items"): _STORED,
        ("POST", "/v1/contracts/explain"): Operation(
            tag=_TAG,
            answers={200: Answer(shape=ExplainAnswer)},
            faults=GUARDED | BODY | frozenset({404, 409, 410, 422, 502, 504}),
            body="ExplainRequest",
        ),
        ("GET", "/v1/models"): reading(_TAG, ModelList),
        ("GET", "/v1/models/{model}"): reading(_TAG, ModelCard, named=True),
        ("GET", "/v1/capabilities"): Operation(
            tag=_TAG,
            answers={200: Answer(shape=Capabilities, headers=("ETag",)), 304: Answer(media_types=())},
        ),
    },
)
