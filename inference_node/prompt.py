"""From chat messages to prompt tokens, through the model's own template, so that no message can speak as the template.

Special tokens are recognised only where the template wrote them. Before rendering, every character of a message that a
special token's text begins with is exchanged for a private character that occurs nowhere; no special token's text can
then come out of messages, however the template cuts and joins them. After rendering the text is split at special
tokens, and what lies between is changed back and encoded as plain text.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NoReturn

from jinja2 import Template, TemplateError
from jinja2.ext import loopcontrols
from jinja2.meta import find_undeclared_variables
from jinja2.sandbox import ImmutableSandboxedEnvironment
from tokenizers import Tokenizer

from inference_node.errors import ChatTemplateError, ModelFileError
from inference_node.protocol import ChatMessage, ToolOffer
from inference_node.reasoning.dialects import SWITCHES, NoFraming, ReasoningDialect, framing_of
from inference_node.reasoning.markers import ReasoningMarkers, is_open_after, markers_of
from inference_node.tool_dialects.choosing import tool_dialect_of
from inference_node.tool_dialects.hermes import NEUTRAL
from inference_node.tool_prompt import JsonText, plain_messages, template_messages, template_tools

_PRIVATE_CHARACTERS: Final = range(0xF0000, 0xFFFFE)
"""A plane of characters that nothing assigns."""

_SURROGATE_PAIR: Final = re.compile(r"\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")

_SPECIAL_ROLES: Final = ("bos_token", "eos_token", "unk_token", "pad_token")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """`is_thought_open`: it ends within a thought that the template itself began."""

    token_ids: list[int]
    is_thought_open: bool = False


class PromptEncoder:
    """One model's template and tokenizer. Encoding releases the interpreter lock for most of its time."""

    def __init__(self, *, template: str, tokenizer: Tokenizer, special_texts: Mapping[str, str]) -> None:
        """`special_texts`: the texts of special tokens by role, as templates name them (`bos_token`, …)."""
        self.template_digest: Final = f"sha256:{sha256(template.encode()).hexdigest()}"
        self._source = template
        self._template, names = _compiled(template)
        self.tool_dialect: Final = tool_dialect_of(template, knows_tools="tools" in names)
        self._switches = tuple(name for name in SWITCHES if name in names)
        self._tokenizer = tokenizer
        self._tokenizer.encode_special_tokens = True
        self._special_texts = dict(special_texts)
        added = tokenizer.get_added_tokens_decoder()
        self._special_ids = {token.content: token_id for token_id, token in added.items() if token.special}
        longest_first = sorted(self._special_ids, key=len, reverse=True)
        self._at_specials = re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")
        self.framing: Final = framing_of(template)
        self.markers: Final = self._markers({token.content: token_id for token_id, token in added.items()})

    @property
    def reasoning(self) -> str | None:
        """The name of the framing of thought that the template has, also of one that cannot be read."""
        return None if isinstance(self.framing, NoFraming) else self.framing.name

    def encode(self, messages: Sequence[ChatMessage], tools: Sequence[ToolOffer] = ()) -> list[int]:
        """The token ids of a prompt after which the answer begins at once. Raises ChatTemplateError."""
        return self.prompt(messages, tools, wants_thought=False).token_ids

    def prompt(
        self, messages: Sequence[ChatMessage], tools: Sequence[ToolOffer] = (), *, wants_thought: bool
    ) -> Prompt:
        """The prompt up to where the assistant's turn begins, or the thought that it begins with.

        Where no thought is wanted and the template begins one all the same, it is closed here: empty, so that the
        answer's contract holds from the first token.

        Raises:
            ChatTemplateError: the template refuses these messages.
        """
        if self.tool_dialect is NEUTRAL:
            messages, tools = plain_messages(messages, tools), ()
        exchange = self._exchange(messages, tools)
        back = str.maketrans({private: character for character, private in exchange.items()})
        table = str.maketrans(exchange)
        rendered = self._render(messages, tools, table, wants_thought=wants_thought)
        token_ids = self._ids(rendered, back)
        if self.markers is None:
            return Prompt(token_ids=token_ids)
        before = self._render(messages, tools, table, wants_thought=wants_thought, is_generation=False)
        is_open = is_open_after(_what_follows(rendered, before), self.markers.dialect)
        if is_open and not wants_thought:
            return Prompt(token_ids=[*token_ids, *self.markers.closing_ids, *self.markers.lead_in_ids])
        return Prompt(token_ids=token_ids, is_thought_open=is_open)

    def _markers(self, whole_tokens: Mapping[str, int]) -> ReasoningMarkers | None:
        """None where the template has no thought, or none that can be read."""
        if not isinstance(self.framing, ReasoningDialect):
            return None
        return markers_of(self.framing, self._source, lambda text: self._ids(text, {}), whole_tokens)

    def _ids(self, rendered: str, back: dict[int, str]) -> list[int]:
        """Special tokens where the text has them, and what lies between changed back."""
        token_ids: list[int] = []
        position = 0
        for match in self._at_specials.finditer(rendered):
            token_ids += self._plain_ids(rendered[position : match.start()].translate(back))
            token_ids.append(self._special_ids[match.group()])
            position = match.end()
        return token_ids + self._plain_ids(rendered[position:].translate(back))

    def _exchange(self, messages: Sequence[ChatMessage], tools: Sequence[ToolOffer]) -> dict[str, str]:
        """For each character that a special token begins with, a private one that is used nowhere.

        JSON may spell a private character by its escape, which a template's parse would bring out: those of a text that
        has any are counted as used.
        """
        beginnings = sorted({text[0] for text in self._special_ids})
        used = set(self._source).union(*map(_characters, messages), *map(_offered_characters, tools))
        private = (chr(code) for code in _PRIVATE_CHARACTERS if chr(code) not in used)
        try:
            return {beginning: next(private) for beginning in beginnings}
        except (StopIteration, RuntimeError):
            raise ChatTemplateError(reason="the messages use every private character") from None

    def _render(
        self,
        messages: Sequence[ChatMessage],
        tools: Sequence[ToolOffer],
        exchange: dict[int, str],
        *,
        wants_thought: bool,
        is_generation: bool = True,
    ) -> str:
        def translate(text: str) -> str:
            return text.translate(exchange)

        offered = {"tools": template_tools(tools, translate)} if tools else {}
        try:
            return self._template.render(
                messages=template_messages(messages, translate),
                add_generation_prompt=is_generation,
                **offered,
                **dict.fromkeys(self._switches, wants_thought),
                **self._special_texts,
            )
        except (TemplateError, TypeError, ValueError, ArithmeticError, LookupError) as error:
            raise ChatTemplateError(reason=f"the model's chat template refuses these messages: {error}") from error

    def _plain_ids(self, text: str) -> list[int]:
        if not text:
            return []
        token_ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return token_ids


def load_prompt_encoder(directory: Path) -> PromptEncoder:
    """From a model directory's `tokenizer.json`, `tokenizer_config.json` and, where it is apart, `chat_template.jinja`.

    Raises:
        ModelFileError: one of them is missing or not what it should be, or there is no template.
    """
    config_path = directory / "tokenizer_config.json"
    tokenizer_path = directory / "tokenizer.json"
    try:
        config = json.loads(config_path.read_bytes())  # noqa: TID251 - the operator's own model file
        if not isinstance(config, dict):
            raise TypeError("not a JSON object")
        template = _template_text(directory, config)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ModelFileError(path=str(config_path), reason=f"no usable chat template: {error!r}") from error
    try:
        tokenizer = Tokenizer.from_file(str(tokenizer_path))
    except Exception as error:  # the library raises bare Exception
        raise ModelFileError(path=str(tokenizer_path), reason=str(error)) from error
    texts = {role: _text_of(config.get(role)) for role in _SPECIAL_ROLES}
    try:
        return PromptEncoder(template=template, tokenizer=tokenizer, special_texts=texts)
    except TemplateError as error:
        raise ModelFileError(path=str(config_path), reason=f"chat template: {error}") from error


def _template_text(directory: Path, config: Mapping[str, Any]) -> str:
    apart = directory / "chat_template.jinja"
    if apart.is_file():
        return apart.read_text(encoding="utf-8")
    template = config["chat_template"]
    if isinstance(template, list):  # several, by name
        template = {entry["name"]: entry["template"] for entry in template}["default"]
    if not isinstance(template, str):
        raise TypeError("chat_template is not text")
    return template


def _text_of(token: object) -> str:
    """A special token is written as its text, or as an object with `content`; templates get its text."""
    text = token.get("content") if isinstance(token, dict) else token
    return text if isinstance(text, str) else ""


def _characters(message: ChatMessage) -> set[str]:
    texts = [message.content, message.tool_call_id or ""]
    texts += [text for call in message.tool_calls for text in (call.call_id, call.text)]
    return _with_escaped(texts)


def _offered_characters(tool: ToolOffer) -> set[str]:
    return _with_escaped([tool.description or "", tool.parameters or ""])


def _with_escaped(texts: Sequence[str]) -> set[str]:
    """The characters of texts, and those that a JSON reader would find in them."""
    escaped = (
        chr(0x10000 + ((int(match[1], 16) & 0x3FF) << 10) + (int(match[2], 16) & 0x3FF))
        for text in texts
        for match in _SURROGATE_PAIR.finditer(text)
    )
    return set().union(*texts, escaped)


def _what_follows(rendered: str, before: str) -> str:
    """What a template adds to a conversation where an answer is to be generated."""
    if rendered.startswith(before):
        return rendered[len(before) :]
    num_common = next((at for at, (a, b) in enumerate(zip(rendered, before, strict=False)) if a != b), len(before))
    return rendered[num_common:]


def _compiled(source: str) -> tuple[Template, set[str]]:
    """In a sandbox, with what Hugging Face's templates expect: trimmed blocks and three functions. And which variables
    the template reads."""
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
    environment.filters["tojson"] = _to_json
    environment.globals["raise_exception"] = _raise_exception
    environment.globals["strftime_now"] = _strftime_now
    names = find_undeclared_variables(environment.parse(source))
    return environment.from_string(source), names


def _to_json(value: object, indent: int | None = None) -> str:
    """Without the escaping of HTML that Jinja's own filter does."""
    if isinstance(value, JsonText) and indent is None:
        return value.text
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _raise_exception(message: str) -> NoReturn:
    raise TemplateError(message)


def _strftime_now(pattern: str) -> str:
    return datetime.now(UTC).strftime(pattern)
