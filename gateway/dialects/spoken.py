"""Which server's words are understood, field by field: for `/v1/capabilities` and the documentation, and held complete
over the readers by a test."""

from dataclasses import dataclass
from typing import Final

_GRAMMAR = "gbnf where the text defines `root ::=`, lark where it defines `start:` or begins with `%llguidance {}`"
_GBNF = "gbnf; lark where the text begins with `%llguidance {}`"


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """One field of one server."""

    server: str
    field: str
    """The whole path where only a member of the field is that server's."""
    value: str
    """What may stand in it."""
    becomes: str
    """The kind of contract, or what else comes of it."""


SPOKEN: Final = (
    Spoken(server="schemagate", field="contract", value="the name of a registered contract", becomes="that contract"),
    Spoken(
        server="schemagate",
        field="contract",
        value='{"kind", "schema" | "definition", "strict"?}',
        becomes="a contract of that kind",
    ),
    Spoken(
        server="schemagate", field="response_format", value='{"type": "contract", "contract"}', becomes="that contract"
    ),
    Spoken(server="openai", field="response_format", value='{"type": "text"}', becomes="no contract"),
    Spoken(
        server="openai",
        field="response_format",
        value='{"type": "json_schema", "json_schema": {"name", "schema", "strict"?}}',
        becomes="json_schema",
    ),
    Spoken(server="openai", field="response_format", value='{"type": "json_object"}', becomes="json_schema"),
    Spoken(server="openai", field="response_format", value='{"type": "grammar", "grammar"}', becomes=_GRAMMAR),
    Spoken(
        server="openai",
        field="text",
        value='{"format": {"type": "json_schema", "name", "schema", "strict"?}}',
        becomes="json_schema (Responses API only)",
    ),
    Spoken(
        server="vllm",
        field="response_format",
        value='{"type": "structural_tag", "format"} or {…, "structures", "triggers"}',
        becomes="structural_tag",
    ),
    Spoken(server="vllm", field="structured_outputs.json", value="an object, or JSON text", becomes="json_schema"),
    Spoken(server="vllm", field="structured_outputs.regex", value="a string", becomes="regex"),
    Spoken(server="vllm", field="structured_outputs.choice", value="a list of strings", becomes="choice"),
    Spoken(server="vllm", field="structured_outputs.grammar", value="a string", becomes=_GRAMMAR),
    Spoken(server="vllm", field="structured_outputs.json_object", value="true", becomes="json_schema"),
    Spoken(
        server="vllm",
        field="structured_outputs.structural_tag",
        value="JSON text, or an object",
        becomes="structural_tag",
    ),
    Spoken(
        server="vllm",
        field="structured_outputs.disable_any_whitespace",
        value="a boolean",
        becomes="no effect: JSON is compact",
    ),
    Spoken(
        server="vllm",
        field="structured_outputs.whitespace_pattern",
        value="a pattern that allows no white space",
        becomes="no effect: JSON is compact",
    ),
    Spoken(server="vllm", field="guided_json", value="an object, or JSON text", becomes="json_schema"),
    Spoken(server="vllm", field="guided_regex", value="a string", becomes="regex"),
    Spoken(server="vllm", field="guided_choice", value="a list of strings", becomes="choice"),
    Spoken(server="vllm", field="guided_grammar", value="a string", becomes=_GRAMMAR),
    Spoken(
        server="vllm",
        field="guided_decoding_backend",
        value="auto, guidance, llguidance",
        becomes="no effect: there is one engine",
    ),
    Spoken(
        server="vllm",
        field="guided_whitespace_pattern",
        value="a pattern that allows no white space",
        becomes="no effect: JSON is compact",
    ),
    Spoken(server="sglang", field="json_schema", value="JSON text", becomes="json_schema"),
    Spoken(server="sglang", field="regex", value="a string", becomes="regex"),
    Spoken(server="sglang", field="ebnf", value="a string", becomes=_GBNF),
    Spoken(server="sglang", field="structural_tag", value="JSON text, or an object", becomes="structural_tag"),
    Spoken(server="llama_cpp", field="grammar", value="a string", becomes=_GBNF),
    Spoken(server="llama_cpp", field="json_schema", value="an object", becomes="json_schema"),
    Spoken(
        server="llama_cpp",
        field="response_format",
        value='{"type": "json_object" | "json_schema", "schema"}',
        becomes="json_schema",
    ),
    Spoken(server="tgi", field="grammar", value='{"type": "json" | "json_object", "value"}', becomes="json_schema"),
    Spoken(server="tgi", field="grammar", value='{"type": "json_schema", "value": {"schema"}}', becomes="json_schema"),
    Spoken(server="tgi", field="grammar", value='{"type": "regex", "value"}', becomes="regex"),
    Spoken(server="tgi", field="parameters.grammar", value="as `grammar`", becomes="as `grammar`"),
    Spoken(server="tgi", field="response_format", value="as `grammar`", becomes="as `grammar`"),
    Spoken(server="tensorrt_llm", field="response_format", value='{"type": "json", "schema"?}', becomes="json_schema"),
    Spoken(server="tensorrt_llm", field="response_format", value='{"type": "regex", "regex"}', becomes="regex"),
    Spoken(server="tensorrt_llm", field="response_format", value='{"type": "ebnf", "ebnf"}', becomes=_GBNF),
)
