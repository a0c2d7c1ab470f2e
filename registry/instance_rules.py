"""What each keyword of one subschema demands of its shortest instance, given what its children demand."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from json.encoder import encode_basestring
from typing import Final

from registry.bounds import (
    ARRAY,
    FREE,
    IMPOSSIBLE,
    LARGE,
    NONE,
    NUMBER,
    OBJECT,
    STRING,
    Sizes,
    count,
    has_bounds,
    is_number_possible,
    is_only_integers,
    type_sizes,
    value_sizes,
)
from registry.merge import MergedGraph
from registry.name_search import NameSearch

_SHORTEST_MEMBER: Final = 4
"""`"":0`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraint:
    """One keyword's demand. `blames` is the child that would have to be other, if it is one child's doing."""

    keyword: str
    """Empty for the schema `false`."""
    sizes: Sizes
    reason: str
    blames: int | None = None


class InstanceRules:
    """The keywords of one class of subschemas, prepared once and asked whenever a child has changed."""

    def __init__(self, merged: MergedGraph, number: int, search: NameSearch) -> None:
        self._node = merged.graph.nodes[number]
        self._targets: dict[str, dict[str | int | None, int]] = {}
        for edge in self._node.edges:
            self._targets.setdefault(edge.keyword, {})[edge.key] = merged.representative[edge.target]
        excluded = [merged.graph.nodes[target] for target in self._targets.get("not", {}).values()]
        self._excludes_everything = any(not (n.accepts_nothing or n.assertions or n.edges) for n in excluded)
        self._own = tuple(self._own_constraints())
        self._required = self._required_names()
        self._members = {name: self._member_schemas(name, search) for name in self._required}

    def constraints(self, sizes: Mapping[int, Sizes]) -> list[Constraint]:
        """Every demand, `type` first. All hold at once."""
        found = [*self._own]
        if "allOf" in self._targets:
            found.extend(self._in_place("allOf", target, sizes[target]) for target in self._targets["allOf"].values())
        for keyword in ("anyOf", "oneOf"):
            if keyword in self._targets:
                branches = [sizes[target] for target in self._targets[keyword].values()]
                found.append(self._demand(keyword, tuple(map(min, *branches, IMPOSSIBLE)), "No branch is possible"))
        if "if" in self._targets:
            found.append(self._conditional(sizes))
        if self._excludes_everything:
            found.append(self._demand("not", IMPOSSIBLE, "`not` excludes everything"))
        for name, target in self._targets.get("dependentSchemas", {}).items():
            if name in self._members:
                demanded = tuple(sizes[target][i] if i == OBJECT else FREE[i] for i in range(len(FREE)))
                found.append(self._demand("dependentSchemas", demanded, "A required name's schema excludes objects"))
        found.extend(self._array(sizes))
        found.extend(self._object(sizes))
        return found

    def _demand(self, keyword: str, sizes: Sizes, reason: str, blames: int | None = None) -> Constraint:
        return Constraint(keyword=keyword, sizes=sizes, reason=reason, blames=blames)

    def _one_type(self, keyword: str, index: int, size: int, reason: str, blames: int | None = None) -> Constraint:
        sizes = tuple(size if i == index else least for i, least in enumerate(FREE))
        return self._demand(keyword, sizes, reason, blames)

    def _in_place(self, keyword: str, target: int, sizes: Sizes) -> Constraint:
        return self._demand(keyword, sizes, "Not all members of `allOf` are possible together", target)

    def _own_constraints(self) -> Iterator[Constraint]:
        node = self._node
        assertions = node.assertions
        if node.accepts_nothing:
            yield self._demand("", IMPOSSIBLE, "The schema `false` allows nothing")
        types = assertions.get("type")
        if types is not None:
            yield self._demand("type", type_sizes(types), "The type excludes what the other keywords allow")
        values = assertions.get("enum")
        if isinstance(values, list):
            yield self._demand("enum", value_sizes(values, assertions), "No value of `enum` is allowed")
        if "const" in assertions:
            sizes = value_sizes([assertions["const"]], assertions)
            yield self._demand("const", sizes, "The value of `const` is not allowed")
        only_integers = types is not None and is_only_integers(types)
        if has_bounds(assertions) and not is_number_possible(assertions, only_integers=only_integers):
            keyword = next(k for k in ("minimum", "exclusiveMinimum") if k in assertions)
            yield self._one_type(keyword, NUMBER, NONE, "No number lies between the bounds")
        shortest = count(assertions, "minLength", 0)
        if shortest:
            is_possible = shortest <= count(assertions, "maxLength", NONE)
            reason = "`minLength` is above `maxLength`"
            yield self._one_type("minLength", STRING, min(2 + shortest, LARGE) if is_possible else NONE, reason)

    def _conditional(self, sizes: Mapping[int, Sizes]) -> Constraint:
        test, then, otherwise = (
            sizes[self._targets[keyword][None]] if keyword in self._targets else FREE
            for keyword in ("if", "then", "else")
        )
        both = tuple(min(max(a, b), c) for a, b, c in zip(test, then, otherwise, strict=True))
        return self._demand("if", both, "Neither branch of `if` is possible")

    def _array(self, sizes: Mapping[int, Sizes]) -> Iterator[Constraint]:
        assertions = self._node.assertions
        least, most = count(assertions, "minItems", 0), count(assertions, "maxItems", NONE)
        num_found = count(assertions, "minContains", 1) if "contains" in self._targets else 0
        num_items = max(least, num_found)
        if least > most:
            yield self._one_type("minItems", ARRAY, NONE, "`minItems` is above `maxItems`")
        elif num_items > most or num_found > count(assertions, "maxContains", NONE):
            yield self._one_type("contains", ARRAY, NONE, "More items must be found than there may be")
        if num_found:
            target = self._targets["contains"][None]
            size = min(sizes[target])
            total = NONE if size >= NONE else min(1 + num_found * (size + 1), LARGE)
            yield self._one_type("contains", ARRAY, total, "No item can be what `contains` asks for", target)
        if not num_items:
            return
        total = 1 + num_items  # brackets and commas
        prefix = list(self._targets.get("prefixItems", {}).values())
        rest = self._targets.get("items", {}).get(None)
        for target in prefix[:num_items]:
            if min(sizes[target]) >= NONE:
                yield self._one_type("prefixItems", ARRAY, NONE, "An item that must be there is impossible", target)
                return
            total += min(sizes[target])
        num_rest = max(0, num_items - len(prefix))
        if num_rest and rest is not None:
            size = min(sizes[rest])
            if size >= NONE:
                keyword = "minItems" if "minItems" in assertions else "contains"
                yield self._one_type(keyword, ARRAY, NONE, "More items are asked for than `items` allows", rest)
                return
            total += num_rest * size
        else:
            total += num_rest
        yield self._one_type("minItems" if least else "contains", ARRAY, min(total, LARGE), "The array is too long")

    def _object(self, sizes: Mapping[int, Sizes]) -> Iterator[Constraint]:
        assertions = self._node.assertions
        most = count(assertions, "maxProperties", NONE)
        num_members = max(len(self._required), count(assertions, "minProperties", 0))
        if num_members > most:
            keyword = "minProperties" if len(self._required) <= most else "required"
            yield self._one_type(keyword, OBJECT, NONE, "More members are required than `maxProperties` allows")
        if not num_members:
            return
        names = self._targets.get("propertyNames", {}).get(None)
        if names is not None and sizes[names][STRING] >= NONE:
            yield self._one_type("propertyNames", OBJECT, NONE, "No name is allowed, but members are required")
        total = 1 + num_members + (num_members - len(self._required)) * _SHORTEST_MEMBER  # braces and commas
        for name, (keyword, targets) in self._members.items():
            culprit = next((target for target in targets if min(sizes[target]) >= NONE), None)
            if culprit is not None:
                reason = f"The required member {name[:64]!r} is not possible"
                yield self._one_type(
                    "required" if keyword == "additionalProperties" else keyword, OBJECT, NONE, reason, culprit
                )
                return
            total += len(encode_basestring(name).encode()) + 1
            total += max((min(sizes[target]) for target in targets), default=1)
        if num_members > self._num_possible_members(sizes):
            yield self._one_type(
                "minProperties" if "minProperties" in assertions else "required",
                OBJECT,
                NONE,
                "More members are required than `additionalProperties` leaves",
            )
        keyword = "required" if self._required else "minProperties"
        yield self._one_type(keyword, OBJECT, min(total, LARGE), "The object is too long")

    def _num_possible_members(self, sizes: Mapping[int, Sizes]) -> int:
        """How many members an object can have, where only declared ones may be there."""
        others = self._targets.get("additionalProperties", {}).get(None)
        if others is None or min(sizes[others]) < NONE or "patternProperties" in self._targets:
            return NONE
        declared = self._targets.get("properties", {}).values()
        return sum(min(sizes[target]) < NONE for target in declared)

    def _required_names(self) -> tuple[str, ...]:
        """The names that must be there, with those that they bring along."""
        required = self._node.assertions.get("required")
        brings = self._node.assertions.get("dependentRequired")
        names: dict[str, None] = {}
        pending = [str(name) for name in required] if isinstance(required, list) else []
        while pending:
            name = pending.pop()
            if name in names:
                continue
            names[name] = None
            more = brings.get(name) if isinstance(brings, dict) else None
            if isinstance(more, list):
                pending.extend(map(str, more))
        return tuple(sorted(names))

    def _member_schemas(self, name: str, search: NameSearch) -> tuple[str, tuple[int, ...]]:
        """The keyword that decides about a member, and the schemas that apply to its value."""
        declared = self._targets.get("properties", {}).get(name)
        found = self._targets.get("patternProperties", {}).items()
        verdicts = [(search.finds(str(pattern), name), target) for pattern, target in found]
        patterns = [target for is_found, target in verdicts if is_found]
        if declared is not None:
            return "properties", (declared, *patterns)
        if any(is_found is not False for is_found, _ in verdicts):
            return "patternProperties", tuple(patterns)
        others = self._targets.get("additionalProperties", {}).get(None)
        return "additionalProperties", () if others is None else (others,)
