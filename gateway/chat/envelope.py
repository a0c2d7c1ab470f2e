"""From outcomes to OpenAI's shape of a chat completion, as a whole."""

from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import sha256

from gateway.answer import Answer, Call
from gateway.chat.answer_protocol import (
    AnsweredMessage,
    ChatCompletion,
    Choice,
    CompletionTokensDetails,
    CustomCalled,
    CustomToolCall,
    FunctionCalled,
    FunctionToolCall,
    LogprobMember,
    Logprobs,
    PromptTokensDetails,
    TopLogprobMember,
    Usage,
)
from gateway.decoding import cached_prompt_tokens, draft_tokens
from gateway.envelope import member_of
from gateway.nodes import ModelOffer
from gateway.outcome import Outcome, deciding
from gateway.record import RequestRecord
from inference_node.protocol import TokenLogprob
from policy.serving_plan import Capability


def chat_completion(outcomes: Sequence[Outcome], record: RequestRecord) -> ChatCompletion:
    """The body of a 200."""
    return ChatCompletion(
        id=completion_id(record),
        created=now(),
        model=outcomes[0].offer.model,
        choices=[_choice(outcome) for outcome in outcomes],
        usage=usage_of(outcomes),
        system_fingerprint=system_fingerprint(outcomes[0].offer),
        schemagate=member_of(deciding(outcomes), record),
    )


def completion_id(record: RequestRecord) -> str:
    """OpenAI's prefix on the request's own id."""
    return f"chatcmpl-{record.request_id.removeprefix('req_')}"


def system_fingerprint(offer: ModelOffer) -> str:
    """OpenAI's name for what a seed's promise depends on: model, tokenizer and engine."""
    parts = (offer.model, offer.tokenizer_digest, offer.engine, offer.engine_version)
    return f"fp_{sha256(repr(parts).encode()).hexdigest()[:10]}"


def usage_of(outcomes: Sequence[Outcome]) -> Usage:
    """The one prompt, and all answers. A backend that is not ours reads the prompt once for each."""
    prompts = [outcome.usage.prompt_tokens for outcome in outcomes]
    prompt = max(prompts) if outcomes[0].offer.capability is Capability.GRAMMAR else sum(prompts)
    completion = sum(outcome.usage.completion_tokens for outcome in outcomes)
    accepted, rejected = draft_tokens(outcomes)
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        total_tokens=prompt + completion,
        prompt_tokens_details=PromptTokensDetails(cached_tokens=cached_prompt_tokens(outcomes)),
        completion_tokens_details=CompletionTokensDetails(
            reasoning_tokens=sum(outcome.reasoning_tokens for outcome in outcomes),
            accepted_prediction_tokens=accepted,
            rejected_prediction_tokens=rejected,
        ),
    )


def logprobs_of(
    content: Sequence[TokenLogprob] | None, refusal: Sequence[TokenLogprob] | None = None
) -> Logprobs | None:
    """`logprobs`, where there are any."""
    if content is None and refusal is None:
        return None
    return Logprobs(content=_listed(content), refusal=_listed(refusal))


def now() -> int:
    """OpenAI's `created`: whole seconds."""
    return int(datetime.now(UTC).timestamp())


def _choice(outcome: Outcome) -> Choice:
    assert outcome.finish_reason is not None
    answer = outcome.answer
    return Choice(
        index=outcome.index,
        message=_message(answer),
        finish_reason=outcome.finish_reason,
        logprobs=logprobs_of(answer.logprobs, answer.refusal_logprobs),
    )


def _message(answer: Answer) -> AnsweredMessage:
    return AnsweredMessage(
        content=answer.content,
        refusal=answer.refusal,
        tool_calls=[_call(call) for call in answer.calls] or None,
        reasoning=answer.reasoning,
        reasoning_content=answer.reasoning,
    )


def _call(call: Call) -> FunctionToolCall | CustomToolCall:
    if call.is_custom:
        return CustomToolCall(id=call.call_id, custom=CustomCalled(name=call.name, input=call.text))
    return FunctionToolCall(id=call.call_id, function=FunctionCalled(name=call.name, arguments=call.text))


def _listed(tokens: Sequence[TokenLogprob] | None) -> list[LogprobMember] | None:
    if tokens is None:
        return None
    return [
        LogprobMember(
            token=token.text,
            bytes=token.token_bytes,
            logprob=token.logprob,
            top_logprobs=[
                TopLogprobMember(token=each.text, bytes=each.token_bytes, logprob=each.logprob) for each in token.top
            ],
        )
        for token in tokens
    ]
