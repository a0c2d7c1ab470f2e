"""A proof that no value satisfies two schemas. "No" means "not proven", so that `oneOf` is never widened by a guess."""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal

from compiler_pool.lowering.idle import is_nothing
from compiler_pool.lowering.numbers import as_number
from registry.contract import JsonValue
from registry.text import canonical_json, sorted_members

Facets = tuple[JsonValue, ...]
"""Schemas that one value has to satisfy together."""

_KINDS = frozenset({"null", "boolean", "integer", "fraction", "string", "array", "object"})
"""The types, with numbers split in two so that `integer` and `number` can be told apart."""
_MAX_STEPS = 4_096
_MAX_DEPTH = 24


class DisjointnessProof:
    """Proofs over one contract; `definitions` are what `#/$defs/…` refers to. The effort is bounded per contract."""

    def __init__(self, definitions: Mapping[str, JsonValue]) -> None:
        self._definitions = definitions
        self._num_steps = 0

    @property
    def is_spent(self) -> bool:
        """Whether "not proven" may only mean that the effort for this contract was used up."""
        return self._num_steps > _MAX_STEPS

    def holds_pairwise(self, branches: Sequence[JsonValue], beside: JsonValue) -> bool:
        """Whether it is proven that no value satisfies `beside` and two of the branches."""
        if _are_listed_apart(branches):
            return True
        return all(
            self.holds((beside, left), (right,)) for at, left in enumerate(branches) for right in branches[at + 1 :]
        )

    def holds(self, left: Facets, right: Facets) -> bool:
        """Whether it is proven that no value satisfies all of `left` and all of `right`."""
        return self._disjoint(left, right, 0)

    def _disjoint(self, left: Facets, right: Facets, depth: int) -> bool:
        self._num_steps += 1
        if self._num_steps > _MAX_STEPS or depth > _MAX_DEPTH:
            return False
        left, right = tuple(self._flat(left)), tuple(self._flat(right))
        together = left + right
        if any(map(is_nothing, together)):
            return True
        if all(self._disjoint_in(kind, left, right, depth) for kind in self._kinds(together)):
            return True
        return self._by_cases(left, right, depth) or self._by_cases(right, left, depth)

    def _flat(self, facets: Facets) -> Iterator[JsonValue]:
        """The schemas with their references and `allOf`s laid beside them; each definition once."""
        pending, seen = list(facets), set()
        while pending:
            facet = pending.pop(0)
            yield facet
            if not isinstance(facet, dict):
                continue
            reference = facet.get("$ref")
            if isinstance(reference, str) and reference not in seen:
                seen.add(reference)
                pending.append(self._definitions.get(reference.removeprefix("#/$defs/"), True))
            parts = facet.get("allOf")
            pending.extend(parts if isinstance(parts, list) else ())

    def _by_cases(self, left: Facets, right: Facets, depth: int) -> bool:
        """Open one `anyOf` or `oneOf` of `left`: every branch must be disjoint from `right`."""
        for at, facet in enumerate(left):
            for keyword in ("anyOf", "oneOf"):
                branches = facet.get(keyword) if isinstance(facet, dict) else None
                if isinstance(branches, list) and isinstance(facet, dict):
                    rest = {name: value for name, value in facet.items() if name not in (keyword, "$ref", "allOf")}
                    others = (*left[:at], rest, *left[at + 1 :])
                    return all(self._disjoint((*others, branch), right, depth + 1) for branch in branches)
        return False

    def _kinds(self, facets: Facets) -> frozenset[str]:
        kinds = _KINDS
        for facet in facets:
            if isinstance(facet, dict):
                kinds &= _declared_kinds(facet)
        return kinds

    def _disjoint_in(self, kind: str, left: Facets, right: Facets, depth: int) -> bool:
        ours, theirs = _values(left, kind), _values(right, kind)
        if ours is not None and theirs is not None and not ours & theirs:
            return True
        match kind:
            case "integer" | "fraction":
                return _empty_range(left + right, ("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum"))
            case "string":
                return _empty_range(left + right, ("minLength",), ("maxLength",))
            case "array":
                return _empty_range(left + right, ("minItems",), ("maxItems",))
            case "object":
                return self._disjoint_objects(left, right, depth)
            case _:
                return False

    def _disjoint_objects(self, left: Facets, right: Facets, depth: int) -> bool:
        if _empty_range(left + right, ("minProperties",), ("maxProperties",)):
            return True
        required = {name for facet in left + right for name in _required(facet)}
        for name in sorted(required):
            ours, theirs = _member(left, name), _member(right, name)
            # A member that one side demands: the two sides' schemas for it must have a value in common.
            if any(map(is_nothing, ours + theirs)) or (ours and theirs and self._disjoint(ours, theirs, depth + 1)):
                return True
        return False


def _are_listed_apart(branches: Sequence[JsonValue]) -> bool:
    """Whether every branch lists its values and no value stands in two: told in one pass, however many there are."""
    seen: set[str] = set()
    for branch in branches:
        values = next(_listed(branch), None) if isinstance(branch, dict) else None
        if values is None:
            return False
        texts = {canonical_json(sorted_members(value)) for value in values}
        if texts & seen:
            return False
        seen |= texts
    return True


def _declared_kinds(facet: Mapping[str, JsonValue]) -> frozenset[str]:
    kinds = _KINDS
    declared = facet.get("type")
    if declared is not None:
        names = declared if isinstance(declared, list) else [declared]
        kinds &= frozenset(kind for name in names for kind in _kinds_of_type(str(name)))
    for values in _listed(facet):
        kinds &= frozenset(map(_kind_of, values))
    return kinds


def _kinds_of_type(name: str) -> tuple[str, ...]:
    return ("integer", "fraction") if name == "number" else (name,)


def _kind_of(value: JsonValue) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case Decimal():
            return "integer" if value == value.to_integral_value() else "fraction"
        case str():
            return "string"
        case list():
            return "array"
        case dict():
            return "object"


def _listed(facet: Mapping[str, JsonValue]) -> Iterator[list[JsonValue]]:
    if "const" in facet:
        yield [facet["const"]]
    members = facet.get("enum")
    if isinstance(members, list):
        yield members


def _values(facets: Facets, kind: str) -> frozenset[str] | None:
    """The texts of the only values of this kind that can satisfy the facets, if they are listed anywhere."""
    found: frozenset[str] | None = None
    for facet in facets:
        for values in _listed(facet) if isinstance(facet, dict) else ():
            texts = frozenset(canonical_json(sorted_members(value)) for value in values if _kind_of(value) == kind)
            found = texts if found is None else found & texts
    return found


def _required(facet: JsonValue) -> tuple[str, ...]:
    names = facet.get("required") if isinstance(facet, dict) else None
    return tuple(name for name in names if isinstance(name, str)) if isinstance(names, list) else ()


def _member(facets: Facets, name: str) -> Facets:
    """What the facets say about one member: by name, or by `additionalProperties` where nothing else could."""
    found: list[JsonValue] = []
    for facet in facets:
        if not isinstance(facet, dict):
            continue
        properties = facet.get("properties")
        if isinstance(properties, dict) and name in properties:
            found.append(properties[name])
        elif "additionalProperties" in facet and not facet.get("patternProperties"):
            found.append(facet["additionalProperties"])
    return tuple(found)


def _empty_range(facets: Facets, lows: tuple[str, ...], highs: tuple[str, ...]) -> bool:
    """Whether some lower bound lies above some upper one, or meets it where one of them is exclusive."""
    low = [(value, key.startswith("exclusive")) for key, value in _bounds(facets, lows)]
    high = [(value, key.startswith("exclusive")) for key, value in _bounds(facets, highs)]
    return any(
        at_least > at_most or (at_least == at_most and (open_low or open_high))
        for at_least, open_low in low
        for at_most, open_high in high
    )


def _bounds(facets: Facets, keywords: tuple[str, ...]) -> Iterator[tuple[str, int | Decimal]]:
    for facet in facets:
        for keyword in keywords if isinstance(facet, dict) else ():
            value = as_number(facet.get(keyword)) if isinstance(facet, dict) else None
            if value is not None:
                yield keyword, value
