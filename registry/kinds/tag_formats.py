"""The formats of a structural tag's tree, each read into its canonical form."""

from typing import Final

from policy.rejection import RejectionCode
from registry.contract import JsonValue
from registry.kinds.faults import refuse, shown
from registry.kinds.members import Members
from registry.kinds.parts import Parts
from registry.kinds.regex import read_regex
from registry.kinds.tag_triggers import read_tag, read_tags
from registry.kinds.terms import Terms
from registry.pointers import join

_STYLE: Final = "json"
_UNBOUNDED: Final = -1


class FormatReader:
    """Reads formats, and the formats within them. Nesting is bounded before: it recurses once per level."""

    def __init__(self, terms: Terms, parts: Parts) -> None:
        self.parts = parts
        self.depth = 0
        self._terms = terms
        self._level = 0
        self._product = 1

    def read(self, value: JsonValue, *, source: str, canonical: str) -> JsonValue:
        """The canonical form of the format at `source`, which will stand at `canonical`."""
        members = Members(value, what="A format", pointer=source)
        kind = members.text("type")
        self.parts.place(canonical=canonical, source=source)
        self._level += 1
        self.depth = max(self.depth, self._level)
        found = self._read(kind, members, canonical)
        self._level -= 1
        members.close()
        return found

    def literal(self, members: Members, name: str) -> str:
        """A text that is generated as it stands."""
        text = members.text(name)
        self.parts.check(
            "max_literal_bytes", len(text.encode()), f"The length of `{name}`", pointer=members.at(name), keyword=name
        )
        return text

    def schema(self, value: JsonValue, *, source: str, canonical: str) -> JsonValue:
        """A JSON Schema that generated text must satisfy."""
        contract = self._terms.schema(value, pointer=source)
        self.parts.add(contract, canonical=canonical, source=source)
        return contract.schema

    def _read(self, kind: str, members: Members, canonical: str) -> JsonValue:
        match kind:
            case "const_string":
                return {"type": kind, "value": self.literal(members, "value")}
            case "json_schema":
                return self._json_schema(members, canonical)
            case "regex":
                return self._regex(members, canonical)
            case "any_text":
                return self._any_text(members)
            case "sequence" | "or":
                return self._elements(kind, members, canonical)
            case "optional" | "plus" | "star" | "repeat":
                return self._repeat(kind, members, canonical)
            case "tag":
                return read_tag(members, self, canonical=canonical)
            case "triggered_tags":
                return read_tags(members, self, canonical=canonical, legacy=False)
            case _:
                message = f"The format {shown(kind)} is not supported."
                return refuse(RejectionCode.UNSUPPORTED_KEYWORD, message, pointer=members.at("type"), keyword=kind)

    def _json_schema(self, members: Members, canonical: str) -> JsonValue:
        style = members.optional_text("style")
        if style is not None and style != _STYLE:
            message = f"The style {shown(style)} is not supported; `json` is."
            refuse(RejectionCode.UNSUPPORTED_VALUE, message, pointer=members.at("style"), keyword="style")
        if members.flag("any_order"):
            message = "`any_order` gives up required members and unique names, which a schema demands."
            refuse(RejectionCode.UNSUPPORTED_VALUE, message, pointer=members.at("any_order"), keyword="any_order")
        value = members.value("json_schema")
        place = join(canonical, "json_schema")
        schema = self.schema(value, source=members.at("json_schema"), canonical=place)
        return {"json_schema": schema, "type": "json_schema"}

    def _regex(self, members: Members, canonical: str) -> JsonValue:
        source = members.at("pattern")
        contract = read_regex(members.text("pattern"), self._terms, pointer=source)
        self.parts.add(contract, canonical=join(canonical, "pattern"), source=source)
        return {"pattern": contract.text, "type": "regex"}

    def _any_text(self, members: Members) -> JsonValue:
        found: dict[str, JsonValue] = {}
        excludes = members.texts("excludes")
        if excludes:
            found["excludes"] = [*excludes]
        if members.has("max_chars"):
            most = members.count("max_chars")
            if most < 0:
                message = "`max_chars` is not negative."
                refuse(RejectionCode.INVALID_SCHEMA, message, pointer=members.at("max_chars"), keyword="max_chars")
            self.parts.check("max_length", most, "`max_chars`", pointer=members.at("max_chars"), keyword="max_chars")
            found["max_chars"] = most
        if members.has("max_tokens"):
            message = "`max_tokens` counts one tokenizer's tokens, and a contract is the same for all; use `max_chars`."
            refuse(RejectionCode.UNSUPPORTED_VALUE, message, pointer=members.at("max_tokens"), keyword="max_tokens")
        return {**found, "type": "any_text"}

    def _elements(self, kind: str, members: Members, canonical: str) -> JsonValue:
        elements = members.items("elements")
        if kind == "or":
            pointer = members.at("elements")
            self.parts.check("max_grammar_alternatives", len(elements), "The number of alternatives", pointer=pointer)
        if len(elements) == 1:  # a list of one is that one
            return self.read(elements[0], source=join(members.at("elements"), 0), canonical=canonical)
        return {
            "elements": [
                self.read(
                    element, source=join(members.at("elements"), index), canonical=join(canonical, "elements", index)
                )
                for index, element in enumerate(elements)
            ],
            "type": kind,
        }

    def _repeat(self, kind: str, members: Members, canonical: str) -> JsonValue:
        least, most = {"optional": (0, 1), "plus": (1, _UNBOUNDED), "star": (0, _UNBOUNDED)}.get(kind, (0, 0))
        if kind == "repeat":
            least, most = members.count("min"), members.count("max")
            if least < 0 or most < _UNBOUNDED or (most != _UNBOUNDED and most < least):
                message = "`repeat` needs 0 ≤ `min` ≤ `max`, or -1 as a `max` without bound."
                refuse(RejectionCode.INVALID_SCHEMA, message, pointer=members.pointer, keyword="repeat")
        outer = self._product
        self._product *= max(least, most, 1)
        self.parts.check("max_grammar_repeat_product", self._product, "The product of repeats", pointer=members.pointer)
        content = members.value("content")
        found = self.read(content, source=members.at("content"), canonical=join(canonical, "content"))
        self._product = outer
        return {"content": found, "max": most, "min": least, "type": "repeat"}
