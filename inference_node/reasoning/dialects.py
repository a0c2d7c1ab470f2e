"""How models frame the thought before an answer, as data; which one a model speaks is read from its chat template."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningDialect:
    """A thought stands between `begin` and `end`. `after` always follows the end, before the answer's first byte."""

    name: str
    begin: str
    end: str
    after: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadableFraming:
    """A framing that is known and not served: a contract would not begin where this node takes the answer to begin."""

    name: str
    marks: tuple[str, ...]
    """A template that holds all of them is of this kind."""
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NoFraming:
    """The template knows of no thought."""


Framing = ReasoningDialect | UnreadableFraming | NoFraming

DIALECTS: Final = (
    # Qwen, DeepSeek, GLM, SmolLM3 and most others.
    ReasoningDialect(name="think", begin="<think>", end="</think>"),
    ReasoningDialect(name="mistral", begin="[THINK]", end="[/THINK]"),
    ReasoningDialect(name="kimi", begin="\u25c1think\u25b7", end="\u25c1/think\u25b7"),
    ReasoningDialect(name="cohere", begin="<|START_THINKING|>", end="<|END_THINKING|>", after="<|START_RESPONSE|>"),
    ReasoningDialect(name="seed", begin="<seed:think>", end="</seed:think>"),
    ReasoningDialect(name="gemma", begin="<|channel>thought\n", end="<channel|>"),
    ReasoningDialect(name="granite", begin="Here is my thought process:", end="Here is my response:"),
)
"""Those that can be read. No mark of one occurs in another's."""

UNREADABLE: Final = (
    UnreadableFraming(
        name="harmony",
        marks=("<|channel|>", "<|message|>"),
        why="thought and answer are messages of their own, each with a header",
    ),
    UnreadableFraming(name="think_answer", marks=("<think>", "<answer>"), why="the answer stands between markers too"),
    UnreadableFraming(
        name="think_response", marks=("<think>", "<response>"), why="the answer stands between markers too"
    ),
)

SWITCHES: Final = ("enable_thinking", "thinking", "reasoning")
"""The variables by which templates are told whether to think. Each is set where a template reads it."""


def framing_of(template: str) -> Framing:
    """What a chat template says of thought. A framing that is not served comes first: it holds marks of others."""
    for framing in UNREADABLE:
        if all(mark in template for mark in framing.marks):
            return framing
    source = plain_source(template)
    for dialect in DIALECTS:
        if dialect.begin in source or dialect.end in source:
            return dialect
    return NoFraming()


def plain_source(template: str) -> str:
    r"""A template with line feeds where it spells them `\n`, as Jinja's string literals do."""
    return template.replace("\\n", "\n")
