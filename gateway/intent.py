"""What a request asks for, whatever API it came through: contract, tools, messages, sampling, form of the answer."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from gateway.reasoning import ThoughtAsked
from inference_node.protocol import ChatMessage, Sampling
from registry.contract import ContractKind, JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class InlineContract:
    """A contract sent with the request. `param` is where its text stands, for error messages."""

    kind: ContractKind
    schema: JsonValue
    strict: bool
    param: str
    dialect: str | None = None
    """How the caller spelled it (`vllm.structured_outputs.regex`, …), for the answer; None: this API's own words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedContract:
    """A contract sent by name, such as `invoice@prod`. `param` is where the name stands."""

    name: str
    param: str


Contract = InlineContract | NamedContract


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionTool:
    """A function that the model may call. Its arguments satisfy `parameters`, whatever `strict` says."""

    name: str
    description: str | None
    parameters: JsonValue
    """A JSON Schema; of a tool without parameters, the schema of the empty object."""
    strict: bool
    """As for contracts: decides what may be left to the validator, never what is enforced."""
    param: str
    """Where `parameters` stands in the request: `tools[0].function.parameters`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomTool:
    """A tool that takes text. `kind` is REGEX or LARK where the text has a grammar, None where it is free."""

    name: str
    description: str | None
    kind: ContractKind | None
    definition: str
    param: str
    """Where the grammar's text stands in the request."""


Tool = FunctionTool | CustomTool


MAX_CHOICES = 8
"""Answers to one request: each is a sequence of its own on a node, and charged."""


class ToolMode(StrEnum):
    """`tool_choice`, with a named tool as REQUIRED over that one."""

    AUTO = "auto"
    REQUIRED = "required"


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolbox:
    """The tools that this request may call. With `tool_choice: none` there is no toolbox."""

    tools: tuple[Tool, ...]
    """All that were sent; the model is told of them."""
    callable_names: frozenset[str]
    """Those that may be called: all, or what `tool_choice` left."""
    mode: ToolMode
    is_parallel: bool
    """Whether one answer may hold more than one call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationIntent:
    """One request for an answer as it will be carried out."""

    model: str
    messages: tuple[ChatMessage, ...]
    sampling: Sampling
    max_tokens: int | None
    stop: tuple[str, ...]
    stream: bool
    include_usage: bool
    contract: Contract | None
    toolbox: Toolbox | None = None
    num_choices: int = 1
    top_logprobs: int | None = None
    """None: no log probabilities. 0: of the tokens that were picked only."""
    left_out_tools: Mapping[str, str] = field(default_factory=dict)
    """Tools that another API runs itself, by where they stood, with their type: left out, if policy lets them be."""
    thought: ThoughtAsked | None = None
    """What is asked of a span of thought before the answer; None: there is to be none."""
    is_obfuscated: bool = False
    """Whether the sizes of a stream's events should tell less of its text."""
    ignored: Mapping[str, str] = field(default_factory=dict)
    """What was sent and has no effect, with the reason; reported in the answer."""

    @property
    def wants_reasoning(self) -> bool:
        """Whether a span of thought may stand before the answer."""
        return self.thought is not None
