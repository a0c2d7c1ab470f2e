"""What the façade answers, member by member as Confluent's clients read it. The names are theirs."""

from typing import Literal, NotRequired

from typing_extensions import TypedDict  # described by pydantic, which takes no other before Python 3.12

SCHEMA_TYPE: Literal["JSON"] = "JSON"
"""The only type of schema that is kept here."""


class ReferenceAnswer(TypedDict):
    """A schema that another one refers to by `name`."""

    name: str
    subject: str
    version: int


class SchemaAnswer(TypedDict):
    """A schema by id; `subject` and `version` only where a subject was named."""

    schema: str
    schemaType: str
    guid: str
    id: NotRequired[int]
    subject: NotRequired[str]
    version: NotRequired[int]
    references: NotRequired[list[ReferenceAnswer]]


class VersionAnswer(TypedDict):
    """A version of a subject."""

    subject: str
    version: int
    id: int
    guid: str
    schemaType: str
    schema: str
    references: NotRequired[list[ReferenceAnswer]]
    deleted: NotRequired[bool]


class RegisteredAnswer(TypedDict):
    """What a registration gives: the same again where the schema was there already."""

    id: int
    version: int
    guid: str
    subject: str


class SubjectVersionAnswer(TypedDict):
    """Where a schema is used."""

    subject: str
    version: int


class CompatibilityAnswer(TypedDict):
    """`messages` only where they were asked for (`verbose`)."""

    is_compatible: bool
    messages: NotRequired[list[str]]


class LevelAnswer(TypedDict):
    """A level as it is read."""

    compatibilityLevel: str


class LevelUpdateAnswer(TypedDict):
    """A level as it was set."""

    compatibility: str


class ModeAnswer(TypedDict):
    """A mode."""

    mode: str


class ErrorAnswer(TypedDict):
    """Every refusal."""

    error_code: int
    message: str
