"""The bodies that a Confluent client sends, read strictly: a member that asks for what is not done here is refused."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NoReturn

from gateway.confluent.errors import SHOWN_CHARACTERS, ConfluentError, Fault
from gateway.confluent.parameters import read_version
from gateway.confluent.protocol import SCHEMA_TYPE
from registry.compatibility.modes import CompatibilityMode
from registry.contract import JsonValue
from registry.identifiers import RevisionNumber

MAX_REFERENCES: Final = 64
"""References of one schema, each a look-up."""
MAX_REFERENCE_NAME: Final = 2048
"""Characters of the name, a URI reference."""

_NO_RULES: Final = "Rules and migrations are not carried out here, so a schema that relies on them is not taken"
_UNUSED: Final[Mapping[str, tuple[Fault, str]]] = {
    "metadata": (Fault.NOT_PERMITTED, "Metadata beside a schema is not kept here"),
    "ruleSet": (Fault.INVALID_RULES, _NO_RULES),
    "schemaTags": (Fault.NOT_PERMITTED, "Tags beside a schema are not kept here"),
    "schemaTagsToAdd": (Fault.NOT_PERMITTED, "Tags beside a schema are not kept here"),
    "schemaTagsToRemove": (Fault.NOT_PERMITTED, "Tags beside a schema are not kept here"),
    "propagateSchemaTags": (Fault.NOT_PERMITTED, "Tags beside a schema are not kept here"),
}
_CHOSEN: Final[Mapping[str, str]] = {
    "id": "Ids are given out here; a schema cannot bring its own",
    "version": "Versions are counted here; a schema cannot bring its own",
}
_SCHEMA_MEMBERS: Final = frozenset({"schema", "schemaType", "references", "subject", "guid", *_UNUSED, *_CHOSEN})
_LEVEL_MEMBERS: Final = frozenset({"compatibility", "compatibilityLevel"})
_UNUSED_CONFIG: Final = frozenset(
    {
        "alias", "normalize", "validateFields", "validateRules", "validateNames", "compatibilityGroup",
        "compatibilityPolicy", "defaultMetadata", "overrideMetadata", "defaultRuleSet", "overrideRuleSet",
    }
)  # fmt: skip
_MODES: Final = frozenset({"READWRITE", "READONLY", "READONLY_OVERRIDE", "IMPORT", "FORWARD"})
READWRITE: Final = "READWRITE"


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaReference:
    """`name` is the URI reference by which the schema's text refers to a version of a subject; None is the latest."""

    name: str
    subject: str
    version: RevisionNumber | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaRequest:
    """A schema as it was sent: its text is not parsed yet."""

    text: str
    references: tuple[SchemaReference, ...]


def read_schema_request(body: JsonValue, *, lenient: bool) -> SchemaRequest:
    """The schema of a body. `lenient`: the client asked that unknown members be passed over.

    Raises:
        ConfluentError: another shape, another type of schema, or a member that asks for what is not done here.
    """
    members = _object(body, "The body")
    for name, value in members.items():
        if name not in _SCHEMA_MEMBERS and not lenient:
            _malformed(f"Unrecognized field: {name[:SHOWN_CHARACTERS]}")
        if name in _UNUSED and value not in (None, [], {}, False):
            fault, why = _UNUSED[name]
            raise ConfluentError(fault, f"{why}: leave out '{name}'.")
        if name in _CHOSEN and value not in (None, 0, -1):
            raise ConfluentError(Fault.NOT_PERMITTED, f"{_CHOSEN[name]}: leave out '{name}'.")
    _require_json_schema(members.get("schemaType"))
    text = members.get("schema")
    if not isinstance(text, str) or not text.strip():
        raise ConfluentError(Fault.INVALID_SCHEMA, "Empty schema: 'schema' is the schema's text, as a string.")
    return SchemaRequest(text=text, references=_references(members.get("references")))


def read_level_request(body: JsonValue, *, lenient: bool) -> CompatibilityMode:
    """The level that a body sets."""
    members = _object(body, "The body")
    for name, value in members.items():
        if name in _UNUSED_CONFIG and value not in (None, [], {}, False):
            raise ConfluentError(Fault.NOT_PERMITTED, f"'{name}' is not served here; only 'compatibility' can be set.")
        if name not in _LEVEL_MEMBERS and name not in _UNUSED_CONFIG and not lenient:
            _malformed(f"Unrecognized field: {name[:SHOWN_CHARACTERS]}")
    level = members.get("compatibility", members.get("compatibilityLevel"))
    if not isinstance(level, str) or level not in CompatibilityMode.__members__:
        raise ConfluentError(
            Fault.INVALID_LEVEL,
            f"Invalid compatibility level. Valid values are {', '.join(CompatibilityMode.__members__)}.",
        )
    return CompatibilityMode(level)


def read_mode_request(body: JsonValue) -> None:
    """Take the one mode that there is.

    Raises:
        ConfluentError: another mode of Confluent's, or none at all.
    """
    mode = _object(body, "The body").get("mode")
    if not isinstance(mode, str) or mode not in _MODES:
        raise ConfluentError(Fault.INVALID_MODE, f"Invalid mode. Valid values are {', '.join(sorted(_MODES))}.")
    if mode != READWRITE:
        message = f"The mode {mode} is not served here: roles on keys decide who may write. The mode stays {READWRITE}."
        raise ConfluentError(Fault.NOT_PERMITTED, message)


def _require_json_schema(schema_type: JsonValue) -> None:
    if schema_type == SCHEMA_TYPE:
        return
    if schema_type is None or schema_type == "AVRO":
        named = "AVRO (which is what a missing 'schemaType' means)"
    else:
        named = repr(schema_type)[:SHOWN_CHARACTERS]
    raise ConfluentError(
        Fault.INVALID_SCHEMA, f"The schema type {named} is not served here; send 'schemaType': 'JSON'."
    )


def _references(value: JsonValue) -> tuple[SchemaReference, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        _malformed("'references' is a list")
    if len(value) > MAX_REFERENCES:
        message = f"A schema may have {MAX_REFERENCES} references; this one has {len(value)}."
        raise ConfluentError(Fault.INVALID_SCHEMA, message)
    references = tuple(_reference(each) for each in value)
    if len({reference.name for reference in references}) != len(references):
        raise ConfluentError(Fault.INVALID_SCHEMA, "Two references have one name.")
    return references


def _reference(value: JsonValue) -> SchemaReference:
    members = _object(value, "A reference")
    name, subject, version = members.get("name"), members.get("subject"), members.get("version")
    if not isinstance(name, str) or not name or not isinstance(subject, str):
        _malformed("A reference has a 'name' and a 'subject', both strings, and a 'version'")
    if len(name) > MAX_REFERENCE_NAME:
        _malformed(f"The name of a reference has at most {MAX_REFERENCE_NAME} characters")
    if isinstance(version, bool) or not isinstance(version, int):
        _malformed("The 'version' of a reference is a whole number")
    return SchemaReference(name=name, subject=subject, version=read_version(str(version)))


def _object(value: JsonValue, what: str) -> dict[str, JsonValue]:
    if not isinstance(value, dict):
        _malformed(f"{what} is a JSON object")
    return value


def _malformed(message: str) -> NoReturn:
    raise ConfluentError(Fault.MALFORMED, f"{message}.")
