"""Every top-level field of a chat completion that is known, with its fate."""

from gateway.chat.protocol import ChatRequest
from gateway.dialects.sent import SHARED_CARRIERS
from gateway.field_rows import EXTRA_ACCEPTED, EXTRA_UNSUPPORTED
from gateway.fields import FieldTable, Unsupported

CHAT_FIELDS = FieldTable(
    used=frozenset(ChatRequest.model_fields),
    carriers=SHARED_CARRIERS | {"response_format"},
    accepted={
        **EXTRA_ACCEPTED,
        "user": "not used",
        "metadata": "not kept",
        "store": "nothing is stored, whatever it says",
        "service_tier": "there is one tier",
        "safety_identifier": "not used",
        "prompt_cache_key": "not used",
        "prompt_cache_options": "not used",
        "prompt_cache_retention": "not used",
        "parallel_tool_calls": "there are no tools to call",
        "reasoning_effort": "the models served here have no reasoning control",
        "verbosity": "the models served here have no verbosity control",
    },
    unsupported={
        **EXTRA_UNSUPPORTED,
        "tools": Unsupported(neutral=([],), instead="tools are not served here"),
        "tool_choice": Unsupported(neutral=("none", "auto"), instead="tools are not served here"),
        "functions": Unsupported(neutral=([],), instead="functions are not served here"),
        "function_call": Unsupported(neutral=("none", "auto"), instead="functions are not served here"),
        "n": Unsupported(neutral=(1,), instead="send one request for each answer"),
        "logprobs": Unsupported(neutral=(False,), instead="log probabilities are not returned"),
        "top_logprobs": Unsupported(neutral=(0,), instead="log probabilities are not returned"),
        "logit_bias": Unsupported(neutral=({},), instead="constrain the output with `response_format`"),
        "frequency_penalty": Unsupported(neutral=(0,), instead="penalties are not served"),
        "presence_penalty": Unsupported(neutral=(0,), instead="penalties are not served"),
        "modalities": Unsupported(neutral=(["text"],), instead="answers are text"),
        "audio": Unsupported(instead="answers are text"),
        "prediction": Unsupported(instead="predicted outputs are not served"),
        "moderation": Unsupported(instead="moderation is not served"),
        "web_search_options": Unsupported(instead="web search is not served"),
    },
)
