"""Every top-level field of a Responses request that is known, with its fate."""

from typing import Final

from gateway.dialects.sent import SHARED_CARRIERS
from gateway.field_rows import EXTRA_ACCEPTED, EXTRA_UNSUPPORTED
from gateway.fields import FieldTable, Unsupported
from gateway.responses.protocol import ResponsesRequest

_NOT_STORED: Final = "nothing is stored here, so send the whole conversation as `input`"
_BACKGROUND: Final = "nothing is stored here, so an answer is made while its request waits for it"

RESPONSES_FIELDS: Final = FieldTable(
    used=frozenset(ResponsesRequest.model_fields),
    carriers=SHARED_CARRIERS | {"text"},
    accepted={
        **EXTRA_ACCEPTED,
        "prompt_cache_options": "what was computed of a prompt is found again by its tenant while there is room",
        "prompt_cache_retention": "what was computed of a prompt is found again by its tenant while there is room",
    },
    unsupported={
        **EXTRA_UNSUPPORTED,
        "previous_response_id": Unsupported(instead=_NOT_STORED),
        "conversation": Unsupported(instead=_NOT_STORED),
        "prompt": Unsupported(instead="no prompt is stored here; send `instructions` and `input`"),
        "background": Unsupported(neutral=(False,), instead=_BACKGROUND),
        "background_options": Unsupported(instead=_BACKGROUND),
        "truncation": Unsupported(
            neutral=("disabled",), instead="an input is never cut, and one that is too long is refused"
        ),
        "context_management": Unsupported(neutral=([],), instead="an input is never compacted"),
        "moderation": Unsupported(instead="moderation is not served"),
        "image": Unsupported(instead="inputs are text"),
        "access_programs": Unsupported(instead="there are none"),
        "frequency_penalty": Unsupported(neutral=(0,), instead="penalties are not served"),
        "presence_penalty": Unsupported(neutral=(0,), instead="penalties are not served"),
        "logit_bias": Unsupported(neutral=({},), instead="constrain the output with `text`"),
        "messages": Unsupported(instead="this API takes `input`"),
        "max_tokens": Unsupported(instead="send `max_output_tokens`"),
        "max_completion_tokens": Unsupported(instead="send `max_output_tokens`"),
        "reasoning_effort": Unsupported(instead='send `reasoning: {"effort": …}`'),
        "verbosity": Unsupported(instead='send `text: {"verbosity": …}`'),
        "n": Unsupported(neutral=(1,), instead="send one request for each answer"),
        "logprobs": Unsupported(neutral=(False,), instead='send `include: ["message.output_text.logprobs"]`'),
    },
)
