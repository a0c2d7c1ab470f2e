"""Wire types of an inference node.

`GET /v1/identity`; `PUT /v1/artifacts/{key}` (body: an artifact frame, `application/octet-stream`);
`POST /v1/generate` (answer: one JSON event a line, `application/x-ndjson`; a blank line is no event and says that the
node is there); `/metrics`, `/healthz`, `/readyz`.
`POST /v1/sequences/{request_id}:save?keys_values=include|recompute` takes a sequence out as bytes, and its stream ends
as `saved`; `POST /v1/sequences:restore?request_id=…` (body: those bytes) is answered as `/v1/generate`, with the
events that are still to come. `PUT|DELETE /v1/prefixes/{name}`, `GET /v1/prefixes`: beginnings of prompts that stay
computed.

Faults before the first event are HTTP statuses with a `NodeFault` body: 409 `artifact_required` (send it, then ask
again), 409 `tokenizer_mismatch`, 400 `context_length_exceeded` / `invalid_frame` / `malformed_request`, 413, and 503
`overloaded` with `Retry-After`. After the first event every end, good or bad, is exactly one `Finish`.
A client that closes the connection cancels its sequence within one step.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

MAX_TOP_LOGPROBS = 20
MAX_TOOLS = 256

Count = Annotated[int, Field(ge=0, le=10**9)]
"""Of tokens: what is counted is charged, and a node that counts backwards, or more than any context, is none."""
Byte = Annotated[int, Field(ge=0, le=255)]


class Wire(BaseModel):
    """Closed by default: a member we do not know is an error on either side."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class NodeIdentity(Wire):
    """What the gateway needs to pick this node and to fill `/v1/models`."""

    model: str
    tokenizer_digest: str
    chat_template_digest: str
    engine: str
    engine_version: str
    device: str
    dtype: str
    context_tokens: int
    max_sequences: int
    vocabulary_size: int
    reasoning: str | None = None
    """How the model's chat template frames a thought, by name; null: not at all. A wish for one that cannot be read is
    refused (`reasoning_unsupported`)."""
    tool_dialect: str = "neutral"
    """The name of the spelling in which the model's chat template shows and expects calls of tools."""
    is_deterministic: bool = True
    """Whether equal requests give equal tokens in any company. Always on a CPU; on a GPU a mode."""
    drafts: str = "none"
    """What proposes tokens: `none`, `prompt_lookup`, or a model's name."""


class ToolCallTurn(Wire):
    """A call that the assistant made in an earlier turn. `text` is the arguments as JSON, or a custom tool's input."""

    call_id: str
    name: str
    text: str
    is_custom: bool = False


class ChatMessage(Wire):
    """One turn, text only. `tool_calls` are an assistant's; `tool_call_id` says which call a tool's turn answers."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    tool_calls: list[ToolCallTurn] = Field(default_factory=list)
    tool_call_id: str | None = None


class ToolOffer(Wire):
    """A tool that the model is told of. What it may call is in the grammar, not here.

    `parameters` is a JSON Schema as text; null for a custom tool, which takes text.
    """

    name: str
    description: str | None = None
    parameters: str | None = None


class Sampling(Wire):
    """`temperature` 0 is greedy. Equal model, prompt, contract and seed give equal tokens at any batch mix."""

    temperature: float = Field(default=1.0, ge=0, le=2)
    top_p: float = Field(default=1.0, gt=0, le=1)
    top_k: int = Field(default=0, ge=0, le=2**31 - 1)
    """0: all tokens."""
    seed: int = Field(ge=0, lt=2**63)
    repetition_damping: float = Field(default=0.0, ge=0, le=10)
    """Greedy only: a token's logit falls by so much for each time it stands among the last tokens of the answer, so
    that a loop under a contract ends."""


class ReasoningSpan(Wire):
    """A thought before the answer, in the model's own framing (`NodeIdentity.reasoning`). The contract holds after it.

    `budget_tokens`: then the node writes the end marker itself; null: no budget but the answer's.
    """

    budget_tokens: int | None = Field(default=None, ge=0, le=10**9)


class GenerateRequest(Wire):
    """Decode one sequence. `artifact_key` null means unconstrained text.

    `max_tokens` null means whatever the context allows. A stop string never appears in the text that is sent.
    """

    request_id: str
    messages: list[ChatMessage] = Field(min_length=1)
    artifact_key: str | None
    sampling: Sampling
    max_tokens: int | None = Field(default=None, ge=1)
    stop: list[str] = Field(default=[], max_length=4)
    tools: list[ToolOffer] = Field(default=[], max_length=MAX_TOOLS)
    top_logprobs: int | None = Field(default=None, ge=0, le=MAX_TOP_LOGPROBS)
    """Null: no log probabilities. Otherwise of every token picked, and of that many others."""
    partition: str = Field(default="", max_length=128)
    """Whose request it is, as far as fairness needs to know: places go round among partitions."""
    adapter: str | None = Field(default=None, max_length=128)
    """The digest of an adapter that the node has (`PUT /v1/adapters/{digest}`)."""
    reasoning: ReasoningSpan | None = None
    """Null: the answer begins at once."""
    drafts: bool = True
    """Whether tokens may be drafted and verified. It changes no token, only the speed."""


class Started(Wire):
    """First event: the sequence is queued and its prompt is counted."""

    event: Literal["started"] = "started"
    prompt_tokens: Count


class TopLogprob(Wire):
    """A token that could have been picked. `text` has a replacement character where the bytes are none."""

    text: str
    token_bytes: list[Byte]
    logprob: FiniteFloat


class TokenLogprob(Wire):
    """A token of the answer with its natural logarithm of probability in the raw distribution: before mask,
    temperature and nucleus. A forced token has one too. End tokens have no entry."""

    text: str
    token_bytes: list[Byte]
    logprob: FiniteFloat
    top: list[TopLogprob] = []


class TokenEvent(Wire):
    """New text, whole characters only. `num_forced_tokens` of the tokens were the grammar's only choice.

    `accepting` is the matcher's state after these tokens; null when unconstrained. `logprobs`, where they were asked
    for, are of the tokens of this event.
    """

    event: Literal["token"] = "token"
    text: str
    token_ids: list[int]
    num_forced_tokens: Count
    accepting: bool | None
    logprobs: list[TokenLogprob] | None = None
    is_thought: bool = False
    """Whether the text belongs to the thought before the answer. No event holds some of both."""


StopCause = Literal[
    "saved",  # it was saved and goes on wherever it is restored
    "end_of_sequence",  # the model chose an end token (under a grammar: only where that allows it)
    "grammar_end",  # the grammar can take nothing more
    "max_tokens",  # the request's own token budget
    "context_full",  # the model's context
    "stop_string",  # one of the caller's stop strings
    "dead_end",  # no token can continue
    "grammar_failed",  # the grammar engine hit a limit or failed
    "engine_failed",  # anything else in the node
    "cancelled",  # the caller went away or the node is draining
]


class Usage(Wire):
    """`forced_tokens` is a part of `completion_tokens`. The end token counts; a stop string's tokens count."""

    prompt_tokens: Count
    completion_tokens: Count
    forced_tokens: Count


class NodeTimings(Wire):
    """Seconds; `mask_seconds` is the sum of fills, whether or not they were hidden behind the forward pass."""

    queue_seconds: float
    prefill_seconds: float
    decode_seconds: float
    mask_seconds: float


class Spread(Wire):
    """Of a quantity that was measured at each step: median, 95th percentile, largest."""

    p50: FiniteFloat
    p95: FiniteFloat
    max: FiniteFloat


class DecodingReport(Wire):
    """What decoding was like. A spread is null where nothing was measured."""

    num_steps: Count = 0
    """Picks: tokens that the model chose, drafts that it confirmed among them. Forced ones need none."""
    cached_prompt_tokens: Count = 0
    """Whose keys and values were there already."""
    drafted_tokens: Count = 0
    accepted_draft_tokens: Count = 0
    num_preemptions: Count = 0
    mask_seconds: Spread | None = None
    """From when a mask was asked for until it was there."""
    allowed_tokens: Spread | None = None
    """Of the vocabulary, by the grammar."""
    pressure: Spread | None = None
    """`1 - sum of the allowed tokens' probabilities` in the raw distribution: what the mask took away."""
    pressure_by_field: dict[str, FiniteFloat] = {}
    """The largest, by the JSON Pointer of the member that was being written, where that is known; `*` for an index."""


class ReasoningReport(Wire):
    """How the thought went. `state`: `closed` by the model, at its `budget`, `unfinished` (the answer never began),
    `missing` (the model began the answer at once)."""

    tokens: Count
    state: Literal["closed", "budget", "unfinished", "missing"]
    num_repeated_markers: Count = 0
    """Begin markers within the thought."""


class Finish(Wire):
    """Last event, exactly one.

    `accepting` is what the matcher says of exactly the text that was sent (after a stop string: of the text before
    it); null when unconstrained. It is the node's only statement about completeness: `stop_cause` implies none.
    """

    event: Literal["finish"] = "finish"
    stop_cause: StopCause
    accepting: bool | None
    stop_string: str | None = None
    message: str | None = None
    usage: Usage
    timings: NodeTimings
    decoding: DecodingReport = DecodingReport()
    reasoning: ReasoningReport | None = None


GenerateEvent = Annotated[Started | TokenEvent | Finish, Field(discriminator="event")]


class ArtifactStored(Wire):
    """200 of `PUT /v1/artifacts/{key}`."""

    artifact_key: str
    already_present: bool


class PrefixRequest(Wire):
    """What many prompts begin with: computed once, and kept whatever else needs room.

    It is found by requests of the same `partition` and `adapter` whose messages begin with these.
    """

    messages: list[ChatMessage] = Field(min_length=1)
    tools: list[ToolOffer] = Field(default=[], max_length=MAX_TOOLS)
    partition: str = Field(default="", max_length=128)
    adapter: str | None = Field(default=None, max_length=128)


class PinnedPrefix(Wire):
    """A prefix that is kept. Whole blocks of it are: `pinned_tokens` of its `prompt_tokens`."""

    name: str
    partition: str
    adapter: str | None
    prompt_tokens: Count
    pinned_tokens: Count


class PinnedPrefixes(Wire):
    """200 of `GET /v1/prefixes`."""

    prefixes: list[PinnedPrefix]


class NodeFault(Wire):
    """Why a request was refused before it began."""

    code: Literal[
        "artifact_required",
        "tokenizer_mismatch",
        "invalid_frame",
        "artifact_key_mismatch",
        "artifact_failed",
        "context_length_exceeded",
        "malformed_request",
        "reasoning_unsupported",
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
        "body_too_large",
        "overloaded",
        "draining",
        "not_ready",
    ]
    message: str
    limit: int | None = None
    observed: int | None = None
