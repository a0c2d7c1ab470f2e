"""Wire types of the fields that carry a contract, with the members that any of the servers knows.

Which members go together is said where they are read; what none of them knows is refused here.
"""

from typing import Annotated, Any

from pydantic import Field

from gateway.protocol import Sent
from registry.contract import ContractKind
from registry.naming import MAX_REFERENCE_CHARACTERS

MAX_TYPE_CHARACTERS = 64

ReferenceSent = Annotated[str, Field(min_length=1, max_length=MAX_REFERENCE_CHARACTERS)]
TypeSent = Annotated[str, Field(max_length=MAX_TYPE_CHARACTERS)]
FormatName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]


class NamedSchema(Sent):
    """`response_format.json_schema`. `strict` decides what may be left to the validator, never what is enforced."""

    name: FormatName
    description: str | None = None
    schema_: Annotated[Any, Field(alias="schema")]
    strict: bool | None = None


class ResponseFormat(Sent):
    """`response_format`: OpenAI's members first, then ours, then those of other servers."""

    type: TypeSent
    json_schema: NamedSchema | None = None
    contract: ReferenceSent | None = None
    schema_: Annotated[Any, Field(alias="schema")] = None
    """llama.cpp, TensorRT-LLM."""
    value: Any = None
    """TGI."""
    grammar: Any = None
    regex: Any = None
    ebnf: Any = None
    """TensorRT-LLM."""
    format: Any = None
    structures: Any = None
    triggers: Any = None
    at_least_one: Any = None


class TextFormat(Sent):
    """`text.format` of the Responses API: the members of a named schema stand beside the type."""

    type: TypeSent
    name: FormatName | None = None
    description: str | None = None
    schema_: Annotated[Any, Field(alias="schema")] = None
    strict: bool | None = None
    contract: ReferenceSent | None = None
    grammar: Any = None
    format: Any = None
    structures: Any = None
    triggers: Any = None
    at_least_one: Any = None


class OwnContract(Sent):
    """`contract` as an object: `schema` for JSON Schema, `definition` for any kind."""

    kind: Annotated[TypeSent, Field(json_schema_extra={"enum": [kind.value for kind in ContractKind]})]
    schema_: Annotated[Any, Field(alias="schema")] = None
    definition: Any = None
    strict: bool | None = None


class StructuredOutputs(Sent):
    """vLLM's `structured_outputs`: exactly one constraint, and how its text is laid out."""

    json_: Annotated[Any, Field(alias="json")] = None
    regex: Any = None
    choice: Any = None
    grammar: Any = None
    json_object: bool | None = None
    structural_tag: Any = None
    disable_any_whitespace: bool | None = None
    disable_additional_properties: bool | None = None
    whitespace_pattern: str | None = None


class TypedGrammar(Sent):
    """TGI's `grammar`."""

    type: TypeSent
    value: Any


class TypedGrammarSchema(Sent):
    """TGI's `value` under type `json_schema`."""

    name: str | None = None
    schema_: Annotated[Any, Field(alias="schema")]


class GenerateParameters(Sent):
    """TGI's `parameters`, of which only the contract is read."""

    grammar: Any = None
