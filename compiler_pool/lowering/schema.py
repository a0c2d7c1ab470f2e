"""The pass over a canonical schema: each keyword is kept, rewritten exactly, left to the validator, or refused.

Only positive positions are entered. What is dropped there only widens the grammar, and is reported; `not`, `if` and
their like are never entered, because dropping a keyword inside them would narrow what they forbid.
"""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from compiler_pool.lowering.counting import counted_properties
from compiler_pool.lowering.decimals import spelled_parts
from compiler_pool.lowering.disjoint import DisjointnessProof
from compiler_pool.lowering.idle import IN_PLACE, is_anything, is_idle
from compiler_pool.lowering.numbers import BOUNDS, Number, as_number, integral_bounds, narrowed
from compiler_pool.lowering.outcome import Ledger
from compiler_pool.lowering.strings import engine_pattern, needs_unicode_escape
from compiler_pool.lowering.values import inexact_bound, inexact_divisor, inexact_literal
from policy.capability import LLGUIDANCE_1_9_1, Capability
from policy.enforcement import EnforcementPolicy, KeywordStatus, Unknown
from policy.limits import ContractLimits
from policy.rejection import Rejection, RejectionCode
from registry.contract import JsonValue
from registry.errors import UnsupportedPatternError
from registry.keywords import KNOWN_FORMATS
from registry.pointers import join, tokens_of

Schema = dict[str, JsonValue]

_KEPT = frozenset({"type", "minLength", "maxLength", "minItems", "maxItems"})
"""The engine enforces these exactly as they stand."""
_SINGLE = frozenset({"items", "additionalProperties"})
_LISTS = frozenset({"allOf", "anyOf", "prefixItems"})


@dataclass(slots=True, kw_only=True)
class _Draft:
    """One engine schema in the making. `together` are schemas the instance must satisfy besides its keywords."""

    node: Schema
    pointer: str
    engine: Schema = field(default_factory=dict)
    together: list[JsonValue] = field(default_factory=list)

    def finished(self) -> JsonValue:
        if self.together:
            parts = self.engine.get("allOf")
            self.engine["allOf"] = [*(parts if isinstance(parts, list) else ()), *self.together]
        return self.engine


class SchemaPass:
    """One contract's lowering. The flags are what the whole contract was found to need, or to be able to do without."""

    def __init__(
        self,
        *,
        definitions: Mapping[str, JsonValue],
        limits: ContractLimits,
        policy: EnforcementPolicy,
        ledger: Ledger,
        single_spelling: bool,
        leaking: frozenset[tuple[str, int]],
        counts_properties: bool,
    ) -> None:
        self._definitions = definitions
        self._limits = limits
        self._policy = policy
        self._ledger = ledger
        self._single_spelling = single_spelling
        self._leaking = leaking
        self._counts_properties = counts_properties
        self._proof = DisjointnessProof(definitions)
        self._reached: deque[str] = deque()
        self._lowered: dict[str, JsonValue] = {}
        self._unspellable_names: list[Rejection] = []
        self._has_name_patterns = False
        self._keywords: dict[str, Callable[[_Draft, str, JsonValue], None]] = {
            "$ref": self._reference,
            "const": self._literal,
            "enum": self._literal,
            "format": self._format,
            "pattern": self._pattern,
            "oneOf": self._one_of,
            "not": self._negation,
            "required": self._required,
            "properties": self._properties,
            "patternProperties": self._pattern_properties,
            "minProperties": self._counted,
            "maxProperties": self._counted,
            "unevaluatedProperties": self._unevaluated,
            "unevaluatedItems": self._unevaluated,
        }

    def run(self, root: Schema) -> Schema:
        """The engine's schema for a canonical root, with the definitions that it reaches."""
        engine = self._schema({key: value for key, value in root.items() if key != "$defs"}, "")
        while self._reached:
            name = self._reached.popleft()
            self._lowered[name] = self._schema(self._definitions.get(name, False), join("", "$defs", name))
        if self._has_name_patterns:
            for rejection in self._unspellable_names:
                self._ledger.reject(rejection, None)
        assert isinstance(engine, dict)
        return engine | ({"$defs": self._lowered} if self._lowered else {})

    def _schema(self, node: JsonValue, pointer: str) -> JsonValue:
        if not isinstance(node, dict):
            return node
        draft = _Draft(node=node, pointer=pointer)
        for keyword, value in node.items():
            self._keyword(draft, keyword, value)
        self._numbers(draft)
        return draft.finished()

    def _keyword(self, draft: _Draft, keyword: str, value: JsonValue) -> None:
        pointer = join(draft.pointer, keyword)
        if keyword in BOUNDS or keyword == "multipleOf":
            return  # taken together at the end: what becomes of one depends on the others
        if is_idle(keyword, draft.node):
            self._ledger.write_subtree(pointer, keyword, value, KeywordStatus.ENFORCED)
        elif keyword in _KEPT:
            draft.engine[keyword] = value
            self._enforced(pointer, keyword)
        elif keyword in _SINGLE:
            self._enforced(pointer, keyword)
            draft.engine[keyword] = self._schema(value, pointer)
        elif keyword in _LISTS:
            self._enforced(pointer, keyword)
            draft.engine[keyword] = self._schemas(value, pointer)
        elif keyword in self._keywords:
            self._keywords[keyword](draft, keyword, value)
        else:
            self._static(pointer, keyword, value)

    def _static(self, pointer: str, keyword: str, value: JsonValue) -> None:
        """A keyword that the engine's compiler does not enforce: it is let pass only if it asserts nothing."""
        match LLGUIDANCE_1_9_1.rows.get(keyword):
            case Capability.ANNOTATION:
                self._ledger.write_subtree(pointer, keyword, value, KeywordStatus.ANNOTATION)
            case Capability.RESOLVED:
                self._ledger.write_subtree(pointer, keyword, value, KeywordStatus.ENFORCED)
            case None:
                code, message = RejectionCode.UNKNOWN_KEYWORD, f"nothing is known of {keyword!r}"
                rejection = Rejection(code=code, message=message, pointer=pointer, keyword=keyword)
                self._ledger.reject(rejection, value)
            case _:
                self._ledger.unsupported(pointer, keyword, value, f"the grammar cannot enforce {keyword!r} here")

    def _enforced(self, pointer: str, keyword: str) -> None:
        self._ledger.write(pointer, keyword, KeywordStatus.ENFORCED)

    def _schemas(self, value: JsonValue, pointer: str) -> list[JsonValue]:
        return [
            self._schema(item, join(pointer, at)) for at, item in enumerate(value if isinstance(value, list) else ())
        ]

    def _reference(self, draft: _Draft, keyword: str, value: JsonValue) -> None:
        name = tokens_of(str(value).removeprefix("#"))[-1]
        if name not in self._lowered:
            self._lowered[name] = True  # holds the place; the loop in `run` fills it
            self._reached.append(name)
        draft.engine["$ref"] = value
        self._enforced(join(draft.pointer, keyword), keyword)

    def _literal(self, draft: _Draft, keyword: str, value: JsonValue) -> None:
        pointer = join(draft.pointer, keyword)
        rejection = inexact_literal(value, pointer=pointer, keyword=keyword)
        if rejection is None and self._single_spelling and needs_unicode_escape(value):
            message = "a control character cannot be generated in a contract that also names properties"
            code = RejectionCode.UNSUPPORTED_VALUE
            rejection = Rejection(code=code, message=message, pointer=pointer, keyword=keyword)
        if rejection is not None:
            self._ledger.reject(rejection, value)
            return
        draft.engine[keyword] = value
        self._enforced(pointer, keyword)

    def _pattern(self, draft: _Draft, keyword: str, value: JsonValue) -> None:
        pointer = join(draft.pointer, keyword)
        text = self._anchored(str(value), pointer, keyword)
        if text is not None:
            draft.engine["pattern"] = text
            self._enforced(pointer, keyword)

    def _anchored(self, pattern: str, pointer: str, keyword: str) -> str | None:
        """The engine's expression, or None with the rejection written: neither it nor the validator could be exact."""
        try:
            return engine_pattern(pattern, single_spelling=self._single_spelling)
        except UnsupportedPatternError as error:
            message = f"this pattern is not supported: {error}"
            code = RejectionCode.UNSUPPORTED_REGEX
            self._ledger.reject(Rejection(code=code, message=message, pointer=pointer, keyword=keyword), None)
            return None

    def _format(self, draft: _Draft, keyword: str, value: JsonValue) -> None:
        pointer, name = join(draft.pointer, keyword), str(value)
        if name in KNOWN_FORMATS:
            # The engine's own formats are wider or narrower than the standards they are named after.
            self._ledger.unsupported(pointer, keyword, value, f"format {name!r} is written by the intermediate form")
        elif self._policy.unknown_format is Unknown.ANNOTATION:
            self._ledger.write(pointer, keyword, KeywordStatus.ANNOTATION)
        else:
            code, message = RejectionCode.UNKNOWN_FORMAT, f"format {name!r} is not one of JSON Schema 2020-12"
            self._ledger.reject(Rejection(code=code, message=message, pointer=pointer, keyword=keyword), value)

    def _numbers(self, draft: _Draft) -> None:
        """All of a schema's constraints on numbers. For integers alone the bounds become inclusive integers."""
        bounds, divisor = self._bounds(draft), self._divisor(draft)
        declared = draft.node.get("type")
        types = set(declared) if isinstance(declared, list) else {declared}
        if "number" not in types and "integer" in types:
            draft.engine |= integral_bounds(bounds) | ({} if divisor is None else {"multipleOf": divisor})
            return
        if declared is not None and "number" not in types:
            return  # no number gets this far, and what is not a number meets them all
        bounds = narrowed(bounds, self._leaking)
        parts = spelled_parts(bounds, divisor, max_multiple=self._limits.max_multiple_of)
        if len(parts) > 1 and declared is not None:
            draft.together.append({"anyOf": parts})
        else:
            draft.engine |= bounds | ({} if divisor is None else {"multipleOf": divisor})

    def _divisor(self, draft: _Draft) -> Number | None:
        divisor = as_number(draft.node.get("multipleOf"))
        if divisor is None:
            return None
        pointer = join(draft.pointer, "multipleOf")
        rejection = inexact_divisor(divisor, limits=self._limits, pointer=pointer)
        if rejection is None:
            self._enforced(pointer, "multipleOf")
            return divisor
        if rejection.code is RejectionCode.LIMIT_EXCEEDED:
            self._ledger.reject(rejection, divisor)
        else:
            self._ledger.leave_to_validator(rejection, divisor)
        return None

    def _bounds(self, draft: _Draft) -> dict[str, Number]:
        bounds: dict[str, Number] = {}
        for keyword in BOUNDS:
            value = as_number(draft.node.get(keyword))
            if value is None:
                continue
            pointer = join(draft.pointer, keyword)
            rejection = inexact_bound(value, pointer=pointer, keyword=keyword)
            if rejection is None:
                bounds[keyword] = value
                self._enforced(pointer, keyword)
            else:
                self._ledger.reject(rejection, value)
        return bounds

    def _one_of(self, draft: _Draft, keyword: str, value: JsonValue) -> None:
        pointer = join(draft.pointer, keyword)
        branches = value if isinstance(value, list) else []
        beside = {name: inner for name, inner in draft.node.items() if name != "oneOf"}
        if self._proof.holds_pairwise(branches, beside):
            self._enforced(pointer, keyword)
        else:
            message = "these alternatives are not provably exclusive; give each a required const of its own"
            if self._proof.is_spent:
                message = "these alternatives are too many to prove exclusive, pair by pair; use anyOf, or fewer"
            code = RejectionCode.UNSUPPORTED_KEYWORD
            rejection = Rejection(code=code, message=message, pointer=pointer, keyword=keyword)
            if not self._policy.allow_checked_after:
                self._ledger.reject(rejection, value)
                return
            # Any alternative may be generated; that no second one holds is the validator's to say.
            self._ledger.write(pointer, keyword, KeywordStatus.CHECKED_AFTER)
        draft.together.append({"anyOf": self._schemas(value, pointer)})

    def _negation(self, draft: _Draft, keyword: str, value: JsonValue) -> None:
        pointer = join(draft.pointer, keyword)
        if is_anything(value):
            draft.together.append(False)
            self._enforced(pointer, keyword)
        else:
            self._ledger.unsupported(pointer, keyword, value, "the grammar cannot enforce 'not'")

    def _required(self, draft: _Draft, keyword: str, value: JsonValue) -> None:
        pointer = join(draft.pointer, keyword)
        self._enforced(pointer, keyword)
        self._name(value, pointer, keyword)
        draft.engine[keyword] = value

    def _name(self, name: JsonValue, pointer: str, keyword: str) -> None:
        """Declared names are written out whatever the escapes, and patterns lack the characters that need `\\u`.

        So the engine would not see that such a name matches one, here or where schemas come together.
        """
        if needs_unicode_escape(name):
            message = "a name with this control character cannot stand in a contract with patternProperties"
            code = RejectionCode.UNSUPPORTED_VALUE
            self._unspellable_names.append(Rejection(code=code, message=message, pointer=pointer, keyword=keyword))

    def _properties(self, draft: _Draft, keyword: str, value: JsonValue) -> None:
        pointer = join(draft.pointer, keyword)
        self._enforced(pointer, keyword)
        members = value.items() if isinstance(value, dict) else ()
        for name, _ in members:
            self._name(name, join(pointer, name), keyword)
        draft.engine[keyword] = {name: self._schema(inner, join(pointer, name)) for name, inner in members}

    def _pattern_properties(self, draft: _Draft, keyword: str, value: JsonValue) -> None:
        pointer = join(draft.pointer, keyword)
        self._enforced(pointer, keyword)
        lowered: Schema = {}
        self._has_name_patterns = True
        for pattern, inner in value.items() if isinstance(value, dict) else ():
            text = self._anchored(pattern, join(pointer, pattern), keyword)
            if text is None:
                continue
            schema = self._schema(inner, join(pointer, pattern))
            lowered[text] = {"allOf": [lowered[text], schema]} if text in lowered else schema
        draft.engine[keyword] = lowered

    def _counted(self, draft: _Draft, keyword: str, value: JsonValue) -> None:
        pointer = join(draft.pointer, keyword)
        schema = counted_properties(keyword, draft.node, engine_counts=self._counts_properties)
        if schema is None:
            self._ledger.unsupported(pointer, keyword, value, "the grammar cannot count properties here")
            return
        self._enforced(pointer, keyword)
        draft.together.append(schema)

    def _unevaluated(self, draft: _Draft, keyword: str, value: JsonValue) -> None:
        """Without anything in place that could evaluate more, it is the plain keyword under another name."""
        pointer = join(draft.pointer, keyword)
        if IN_PLACE & draft.node.keys() or (keyword == "unevaluatedItems" and "contains" in draft.node):
            self._ledger.unsupported(pointer, keyword, value, f"the grammar cannot enforce {keyword!r} here")
            return
        self._enforced(pointer, keyword)
        plain = "additionalProperties" if keyword == "unevaluatedProperties" else "items"
        draft.engine[plain] = self._schema(value, pointer)
