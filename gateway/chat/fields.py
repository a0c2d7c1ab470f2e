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
        "verbosity": "the models served here have no verbosity control",
    },
    unsupported={
        **{name: rule for name, rule in EXTRA_UNSUPPORTED.items() if name not in ChatRequest.model_fields},
        "functions": Unsupported(neutral=([],), instead="send them as `tools`"),
        "function_call": Unsupported(neutral=("none", "auto"), instead="send `tool_choice`"),
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
