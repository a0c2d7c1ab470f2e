"""The most that a request can use, known before any of it is done: what is reserved, and what a price is asked for."""

from collections.abc import Iterable, Sequence
from typing import Final

from gateway.budgets.desk import RequestDemand
from gateway.intent import GenerationIntent
from inference_node.protocol import ChatMessage, ToolOffer

_MESSAGE_TOKENS: Final = 32
"""What a chat template writes around one message; also what one puts first when there is no system message."""
_JSON_SPREAD: Final = 2
"""Templates print JSON with a space after every comma and colon, so at most twice as long as it was."""
_TOOL_TOKENS: Final = 64
"""Around one tool, or one call: the members of OpenAI's layout, and its markup."""
_TOOLS_TOKENS: Final = 512
"""What templates say of tools in general."""


def generation_demand(
    intent: GenerationIntent,
    tools: Iterable[ToolOffer],
    *,
    context_tokens: int,
    compile_cpu_ms: int,
    contract_digest: str | None,
    num_attempts: int = 1,
    num_prompts: int = 1,
) -> RequestDemand:
    """What `intent` can use at most: a token stands for at least one byte of the prompt, and a choice never holds more
    than the context. The prompt is read once for all choices, or `num_prompts` times."""
    choice = context_tokens if intent.max_tokens is None else min(context_tokens, intent.max_tokens)
    return RequestDemand(
        model=intent.model,
        prompt_tokens=min(context_tokens, most_prompt_tokens(intent.messages, tools)) * num_prompts,
        completion_tokens=choice * intent.num_choices,
        context_tokens=context_tokens * intent.num_choices,
        num_attempts=num_attempts,
        compile_cpu_ms=compile_cpu_ms,
        contract_digest=contract_digest,
        is_stream=intent.stream,
    )


def most_prompt_tokens(messages: Sequence[ChatMessage], tools: Iterable[ToolOffer]) -> int:
    """Of one prompt."""
    told = [_json_tokens(tool.model_dump_json()) for tool in tools]
    calls = [_json_tokens(call.model_dump_json()) for message in messages for call in message.tool_calls]
    texts = [len(message.content.encode()) + _MESSAGE_TOKENS for message in messages]
    return sum(texts) + sum(told) + sum(calls) + (_TOOLS_TOKENS if told or calls else 0)


def _json_tokens(text: str) -> int:
    return len(text.encode()) * _JSON_SPREAD + _TOOL_TOKENS
