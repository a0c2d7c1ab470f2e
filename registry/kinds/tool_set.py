"""A set of tools as a contract: which calls may be made, with which arguments.

Both layouts of OpenAI's clients are read: members nested under `function` or `custom` (Chat Completions), or flat
(Responses). It is a set: the order of tools says nothing about what may be called, so they are sorted by name.
Descriptions are annotations.
"""

import re
from typing import Final

from policy.rejection import RejectionCode
from registry.contract import CanonicalContract, ContractKind, JsonValue
from registry.errors import ContractRejectedError
from registry.kinds.faults import check_encodable, check_value, moved, refuse, shown
from registry.kinds.lark import read_lark
from registry.kinds.members import Members
from registry.kinds.parts import Parts
from registry.kinds.regex import read_regex
from registry.kinds.terms import Terms
from registry.pointers import join

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NO_PARAMETERS: Final[JsonValue] = {"type": "object", "additionalProperties": False}
_SHORTEST_CALL: Final = 2
"""Bytes of `{}`: the arguments of a call."""


def read_tool_set(value: JsonValue, terms: Terms) -> CanonicalContract:
    """The contract that a list of tools is. Raises `ContractRejectedError`."""
    if not isinstance(value, list):
        refuse(RejectionCode.INVALID_SCHEMA, "A tool set is a list of tools.")
    parts = Parts(terms)
    parts.check("max_tools", len(value), "The number of tools")
    if not value:
        refuse(RejectionCode.UNSATISFIABLE, "The list of tools is empty: nothing could be called.")
    parts.observe("max_nesting", check_value(value, terms.limits))
    tools: dict[str, _Tool] = {}
    for index, member in enumerate(value):
        tool = _Tool(member, terms, pointer=join("", index))
        if tool.name in tools:
            message = f"Two tools have the name {shown(tool.name)}."
            refuse(RejectionCode.DUPLICATE_NAME, message, pointer=tool.members.at("name"), keyword="name")
        tools[tool.name] = tool
    ordered = [tools[name] for name in sorted(tools)]
    canonical = [tool.record(parts, canonical=join("", number)) for number, tool in enumerate(ordered)]
    parts.observe("max_shortest_instance_bytes", _SHORTEST_CALL)
    return parts.finish(ContractKind.TOOL_SET, [*canonical], depth=1)


class _Tool:
    """One tool, read and judged."""

    def __init__(self, value: JsonValue, terms: Terms, *, pointer: str) -> None:
        self._pointer = pointer
        outer = Members(value, what="A tool", pointer=pointer)
        kind = outer.text("type")
        if kind not in {"function", "custom"}:
            message = f"Tools of type {shown(kind)} are not supported; `function` and `custom` are."
            refuse(RejectionCode.UNSUPPORTED_VALUE, message, pointer=outer.at("type"), keyword="type")
        self.members = outer
        if outer.has(kind):
            self.members = Members(outer.value(kind), what=f"`{kind}`", pointer=outer.at(kind))
            outer.close()
        self.name = self._name()
        self._description = self.members.optional_text("description")
        self._written: dict[str, JsonValue] = {"name": self.name, "type": kind}
        self._inner: tuple[CanonicalContract, str, str] | None = None
        if kind == "function":
            self._read_function(terms)
        else:
            self._read_custom(terms)
        self.members.close()

    def record(self, parts: Parts, *, canonical: str) -> JsonValue:
        """The canonical form, which stands at `canonical`."""
        parts.place(canonical=canonical, source=self._pointer)
        if self._description is not None:
            keyword = "description"
            parts.annotate(self._description, canonical=f"/{self.name}", source=self.members.pointer, keyword=keyword)
        if self._inner is not None:
            contract, member, source = self._inner
            parts.add(contract, canonical=canonical + member, source=source)
        return {name: self._written[name] for name in sorted(self._written)}

    def _name(self) -> str:
        name = self.members.text("name")
        if not _NAME.fullmatch(name):
            message = f"{shown(name)} is not a tool's name: 1 to 64 of letters, digits, `_` and `-`."
            refuse(RejectionCode.INVALID_SCHEMA, message, pointer=self.members.at("name"), keyword="name")
        return name

    def _read_function(self, terms: Terms) -> None:
        pointer = self.members.at("parameters")
        is_given = self.members.has("parameters")
        schema = self.members.value("parameters") if is_given else _NO_PARAMETERS
        contract = terms.schema(schema, pointer=pointer)
        self._check_object(contract, pointer)
        self._inner = (contract, "/parameters", pointer if is_given else self.members.pointer)
        self._written["parameters"] = contract.schema
        if self.members.flag("strict"):
            self._written["strict"] = True

    def _check_object(self, contract: CanonicalContract, pointer: str) -> None:
        schema = contract.schema
        kind = schema.get("type", "object") if isinstance(schema, dict) else "object"
        if kind != "object" and not (isinstance(kind, list) and "object" in kind):
            message = "The arguments of a function are an object, which the schema excludes."
            refuse(RejectionCode.UNSATISFIABLE, message, pointer=join(pointer, "type"), keyword="type")

    def _read_custom(self, terms: Terms) -> None:
        if not self.members.has("format"):
            return
        form = Members(self.members.value("format"), what="`format`", pointer=self.members.at("format"))
        kind = form.text("type")
        if kind == "text":
            form.close()
            return
        if kind != "grammar":
            message = f"Formats of type {shown(kind)} are not supported; `text` and `grammar` are."
            refuse(RejectionCode.UNSUPPORTED_VALUE, message, pointer=form.at("type"), keyword="type")
        grammar = form
        if form.has("grammar"):
            grammar = Members(form.value("grammar"), what="`grammar`", pointer=form.at("grammar"))
            form.close()
        syntax = grammar.text("syntax")
        definition = grammar.text("definition")
        grammar.close()
        pointer = grammar.at("definition")
        check_encodable(definition, pointer=pointer)
        if syntax == "regex":
            contract = read_regex(definition, terms, pointer=pointer)
        elif syntax == "lark":
            contract = _read_lark(definition, terms, pointer)
        else:
            message = f"Grammars in {shown(syntax)} are not supported; `lark` and `regex` are."
            refuse(RejectionCode.UNSUPPORTED_VALUE, message, pointer=grammar.at("syntax"), keyword="syntax")
        self._inner = (contract, "/format/definition", pointer)
        self._written["format"] = {"definition": contract.text, "syntax": syntax, "type": "grammar"}


def _read_lark(definition: str, terms: Terms, pointer: str) -> CanonicalContract:
    try:
        return read_lark(definition, terms)
    except ContractRejectedError as error:
        raise moved(error, pointer) from error
