"""A JSON value in the spelling that a contract generates: its member order, compact, plain numbers, short escapes.

Generation follows the contract's order of members; JSON does not care. So an instance that came as a value is written
in the contract's order before it is tried: `properties` in the order they have (those of references and branches that
apply among them), then required members that no `properties` names, then the rest as given; a value of `const` or
`enum` as it stands there. Where the contract leaves room, as with several branches of `anyOf` that accept the value,
there is more than one such spelling.
"""

from collections.abc import Callable, Iterator
from decimal import Decimal
from json.encoder import encode_basestring

from cli.conform.choices import Choices
from gateway.validation.equality import equal
from gateway.validation.patterns import matches
from registry.contract import JsonValue
from registry.pointers import percent_decoded, tokens_of

MAX_CANDIDATES = 24
"""Spellings of one instance that are tried. Each is one pass of the matcher; contracts with more are rare."""

_DELETE = "\x7f"
"""JSON lets it stand for itself; the engine's string grammar does not."""

Subschema = dict[str, JsonValue]


class Serialiser:
    """Spells values for one canonical contract. `admits(value, subschema)` tells which branches accept a value."""

    def __init__(self, schema: JsonValue, admits: Callable[[JsonValue, JsonValue], bool]) -> None:
        self._root = schema
        self._admits = admits

    def candidates(self, value: JsonValue) -> Iterator[bytes]:
        """Different spellings of the value, likeliest first, at most `MAX_CANDIDATES`."""
        seen: set[str] = set()
        for choices in Choices.all(MAX_CANDIDATES):
            spelling = _Spelling(self._root, self._admits, choices)
            text = spelling.text(value, [self._root])
            if text not in seen:
                seen.add(text)
                yield text.encode()


class _Spelling:
    """One run: every open question is answered by `choices`."""

    def __init__(self, root: JsonValue, admits: Callable[[JsonValue, JsonValue], bool], choices: Choices) -> None:
        self._root = root
        self._admits = admits
        self._choices = choices

    def text(self, value: JsonValue, schemas: list[JsonValue]) -> str:
        """The value under all the schemas that speak of its location."""
        if not isinstance(value, dict | list):
            return scalar_text(value)
        applying = self._applying(value, schemas)
        for literal in (literal for schema in applying for literal in _literals(schema)):
            if equal(literal, value):
                return _literal_text(literal)
        if isinstance(value, dict):
            return self._object(value, applying)
        items = (self.text(item, _for_item(index, applying)) for index, item in enumerate(value))
        return "[" + ",".join(items) + "]"

    def _object(self, value: dict[str, JsonValue], applying: list[Subschema]) -> str:
        order = [name for schema in applying for name in _members(schema, "properties")]
        order += [name for schema in applying for name in _names(schema, "required")]
        names = dict.fromkeys([*(name for name in order if name in value), *value])
        members = (f"{string_text(name)}:{self.text(value[name], _for_member(name, applying))}" for name in names)
        return "{" + ",".join(members) + "}"

    def _applying(self, value: JsonValue, schemas: list[JsonValue]) -> list[Subschema]:
        """The subschemas that apply to the value at this very place, outer before inner."""
        applying: list[Subschema] = []
        followed: set[str] = set()
        for schema in schemas:
            self._collect(value, schema, applying, followed)
        return applying

    def _collect(self, value: JsonValue, schema: JsonValue, into: list[Subschema], followed: set[str]) -> None:
        """Keywords speak in the order of the canonical form; `oneOf`, which the compiler rewrites, speaks last."""
        if not isinstance(schema, dict):
            return
        for keyword in sorted(schema, key=lambda name: name == "oneOf"):
            if keyword == "properties":
                into.append(schema)
            for subschema in self._in_place(value, schema, keyword, followed):
                self._collect(value, subschema, into, followed)
        if "properties" not in schema:
            into.append(schema)

    def _in_place(self, value: JsonValue, schema: Subschema, keyword: str, followed: set[str]) -> list[JsonValue]:
        """The subschemas of one keyword that apply to the same value."""
        match keyword:
            case "$ref":
                reference = schema[keyword]
                if isinstance(reference, str) and reference not in followed:
                    followed.add(reference)
                    return [self._target(reference)]
            case "allOf":
                return _list(schema, keyword)
            case "anyOf" | "oneOf":
                accepting = [branch for branch in _list(schema, keyword) if self._admits(value, branch)]
                return [self._choices.one_of(accepting)] if accepting else []
            case "if":
                return [schema.get("then" if self._admits(value, schema["if"]) else "else")]
            case "dependentSchemas" if isinstance(value, dict):
                return [subschema for name, subschema in _members(schema, keyword).items() if name in value]
        return []

    def _target(self, reference: str) -> JsonValue:
        """What a reference within the contract leads to; `None` for one that leads nowhere."""
        pointer = percent_decoded(reference.removeprefix("#"))
        node = self._root
        for token in tokens_of(pointer or ""):
            match node:
                case dict() if token in node:
                    node = node[token]
                case list() if token.isdecimal() and int(token) < len(node):
                    node = node[int(token)]
                case _:
                    return None
        return node


def _literals(schema: Subschema) -> list[JsonValue]:
    return [*([schema["const"]] if "const" in schema else []), *_list(schema, "enum")]


def _literal_text(value: JsonValue) -> str:
    """A value of the contract itself, which is generated as it stands there."""
    match value:
        case dict():
            return "{" + ",".join(f"{string_text(name)}:{_literal_text(inner)}" for name, inner in value.items()) + "}"
        case list():
            return "[" + ",".join(map(_literal_text, value)) + "]"
    return scalar_text(value)


def _for_member(name: str, applying: list[Subschema]) -> list[JsonValue]:
    subschemas: list[JsonValue] = []
    for schema in applying:
        found: list[JsonValue] = []
        if name in (properties := _members(schema, "properties")):
            found.append(properties[name])
        found += [sub for pattern, sub in _members(schema, "patternProperties").items() if matches(pattern, name)]
        if not found and "additionalProperties" in schema:
            found.append(schema["additionalProperties"])
        subschemas += found
    if not subschemas:
        subschemas = [schema["unevaluatedProperties"] for schema in applying if "unevaluatedProperties" in schema]
    return subschemas


def _for_item(index: int, applying: list[Subschema]) -> list[JsonValue]:
    subschemas: list[JsonValue] = []
    for schema in applying:
        prefix = _list(schema, "prefixItems")
        if index < len(prefix):
            subschemas.append(prefix[index])
        elif "items" in schema:
            subschemas.append(schema["items"])
    return subschemas


def _members(schema: Subschema, keyword: str) -> dict[str, JsonValue]:
    value = schema.get(keyword)
    return value if isinstance(value, dict) else {}


def _list(schema: Subschema, keyword: str) -> list[JsonValue]:
    value = schema.get(keyword)
    return value if isinstance(value, list) else []


def _names(schema: Subschema, keyword: str) -> list[str]:
    return [name for name in _list(schema, keyword) if isinstance(name, str)]


def scalar_text(value: JsonValue) -> str:
    """A value without members or items."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case Decimal():
            return decimal_text(value)
        case str():
            return string_text(value)
    raise TypeError(f"not a scalar: {type(value).__name__}")


def decimal_text(value: Decimal) -> str:
    """All digits in place, no exponent, no idle zeros."""
    text = format(value, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text in {"-0", ""} else text


def string_text(value: str) -> str:
    """Short escapes where there are any, `\\u00xx` for other controls, everything else as it is."""
    return encode_basestring(value).replace(_DELETE, "\\u007f")
