"""Two schemas as one set of terms, in which equal subschemas are one, through whatever recursion.

What did not change between two revisions is therefore recognised by its number, however it is laid out, and needs no
proof; and a comparison can make new terms (an old subschema with one keyword of the new) that share all the rest.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NewType

from registry.contract import JsonValue
from registry.keywords import APPLICATORS, ASSERTIONS, SHAPES, Shape
from registry.shapes import shape_fault
from registry.text import value_text

TermId = NewType("TermId", int)

_REFERENCE: Final = "#/$defs/"


class UnreadableContractError(Exception):
    """The text is not the canonical form of a JSON Schema contract."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One subschema: its assertions, and its children by applicator and key (`None` where it takes one schema)."""

    allows_nothing: bool
    assertions: Mapping[str, JsonValue]
    children: Mapping[str, Mapping[str | int | None, TermId]]

    def child(self, keyword: str) -> TermId | None:
        """The only child of an applicator that takes one schema."""
        return self.children.get(keyword, {}).get(None)

    def of(self, keyword: str) -> Mapping[str | int | None, TermId]:
        """The children of an applicator, in order."""
        return self.children.get(keyword, {})

    @property
    def allows_all(self) -> bool:
        """Whether it asserts nothing."""
        return not (self.allows_nothing or self.assertions or self.children)

    @property
    def keywords(self) -> frozenset[str]:
        """All keywords that it has."""
        return frozenset((*self.assertions, *self.children))


class Terms:
    """All terms of one comparison. Terms are only ever added."""

    def __init__(self) -> None:
        self._terms: list[Term] = []
        self._known: dict[object, TermId] = {}
        self._num_filed = 0
        """Terms that are in `_known`; those that were read are put there once another one is added."""

    def __getitem__(self, number: TermId) -> Term:
        return self._terms[number]

    def __len__(self) -> int:
        return len(self._terms)

    def add(self, term: Term) -> TermId:
        """The number of a term, old or new."""
        for number in range(self._num_filed, len(self._terms)):
            old = self._terms[number]
            self._known[_key(old, old.children)] = TermId(number)
        key = _key(term, term.children)
        if key not in self._known:
            self._known[key] = TermId(len(self._terms))
            self._terms.append(term)
        self._num_filed = len(self._terms)
        return self._known[key]

    def constant(self, values: list[JsonValue]) -> TermId:
        """The term of an `enum`."""
        return self.add(Term(allows_nothing=False, assertions={"enum": values}, children={}))

    def any_of(self, targets: list[TermId]) -> TermId:
        """The term of an `anyOf`."""
        children = {"anyOf": dict[str | int | None, TermId](enumerate(targets))}
        return self.add(Term(allows_nothing=False, assertions={}, children=children))

    def read(self, *schemas: JsonValue) -> list[TermId]:
        """The roots of canonical schemas. To be called once, on an empty set.

        Raises `UnreadableContractError`.
        """
        reading = _Reading()
        roots = [reading.document(schema) for schema in schemas]
        classes = _classes(reading.raw)
        for number, raw in enumerate(reading.raw):
            if classes[number] == len(self._terms):
                children = {
                    keyword: {key: TermId(classes[target]) for key, target in targets.items()}
                    for keyword, targets in raw.children.items()
                }
                term = Term(allows_nothing=raw.allows_nothing, assertions=raw.assertions, children=children)
                self._terms.append(term)
        return [TermId(classes[root]) for root in roots]


class _Reading:
    """Subschemas as written, one per place; references lead to their targets."""

    def __init__(self) -> None:
        self.raw: list[Term] = []

    def document(self, schema: JsonValue) -> int:
        definitions = schema.get("$defs", {}) if isinstance(schema, dict) else {}
        if not isinstance(definitions, dict):
            raise UnreadableContractError("`$defs` is not an object")
        numbers: dict[str, int] = {}
        pending: list[tuple[int, JsonValue]] = []

        def place(subschema: JsonValue) -> int:
            """The number of a subschema; what it holds is read later, so that nothing recurses."""
            followed: set[str] = set()
            while isinstance(subschema, dict) and "$ref" in subschema:
                if subschema.keys() - {"$ref", "$defs"}:
                    raise UnreadableContractError("a reference has siblings")
                target = subschema["$ref"]
                name = target.removeprefix(_REFERENCE) if isinstance(target, str) else ""
                if target != _REFERENCE + name or name not in definitions or name in followed:
                    raise UnreadableContractError(f"the reference {str(target)[:64]!r} leads nowhere")
                if name in numbers:
                    return numbers[name]
                followed.add(name)
                subschema = definitions[name]
                if not (isinstance(subschema, dict) and "$ref" in subschema):
                    numbers[name] = self._reserve()
                    pending.append((numbers[name], subschema))
                    return numbers[name]
            number = self._reserve()
            pending.append((number, subschema))
            return number

        root = place(schema)
        while pending:
            number, subschema = pending.pop()
            self.raw[number] = self._term(subschema, place)
        return root

    def _reserve(self) -> int:
        self.raw.append(Term(allows_nothing=True, assertions={}, children={}))
        return len(self.raw) - 1

    def _term(self, subschema: JsonValue, place: Callable[[JsonValue], int]) -> Term:
        if isinstance(subschema, bool):
            return Term(allows_nothing=not subschema, assertions={}, children={})
        if not isinstance(subschema, dict):
            raise UnreadableContractError("a subschema is neither an object nor a boolean")
        assertions: dict[str, JsonValue] = {}
        children: dict[str, Mapping[str | int | None, TermId]] = {}
        for keyword, value in subschema.items():
            fault = shape_fault(keyword, value) if keyword in SHAPES else None
            if fault is not None:
                raise UnreadableContractError(fault)
            if keyword in ASSERTIONS:
                assertions[keyword] = value
            elif keyword in APPLICATORS:
                children[keyword] = {key: TermId(place(child)) for key, child in _held(keyword, value)}
            elif keyword != "$defs":
                raise UnreadableContractError(f"the keyword {keyword[:64]!r} is not in a canonical form")
        return Term(allows_nothing=False, assertions=assertions, children=children)


def _held(keyword: str, value: JsonValue) -> Iterator[tuple[str | int | None, JsonValue]]:
    match SHAPES[keyword], value:
        case Shape.SCHEMA, _:
            yield None, value
        case Shape.SCHEMAS, list():
            yield from enumerate(value)
        case Shape.SCHEMAS_BY_NAME, dict():
            yield from value.items()
        case _:
            raise UnreadableContractError(f"`{keyword}` does not hold schemas")


def _key(term: Term, children: Mapping[str, Mapping[str | int | None, int]]) -> object:
    """Equal exactly if two terms say the same, but for the order of `properties`, which asserts nothing."""
    return (
        term.allows_nothing,
        frozenset((keyword, value_text(value)) for keyword, value in term.assertions.items()),
        frozenset((keyword, frozenset(targets.items())) for keyword, targets in children.items()),
    )


def _classes(raw: list[Term]) -> list[int]:
    """The coarsest bisimulation, numbered by first member: labels first, then split by children until none splits."""
    labels = [
        _key(term, {keyword: dict.fromkeys(targets, 0) for keyword, targets in term.children.items()}) for term in raw
    ]
    current = _numbered(labels)
    # A label tells all keys, so that in one order of keys equal terms have their children at the same places. What has
    # none is told apart by its label for good.
    inner = [(number, _targets(term)) for number, term in enumerate(raw) if term.children]
    while True:
        keys: list[object] = list(current)
        for number, targets in inner:
            keys[number] = (current[number], *map(current.__getitem__, targets))
        refined = _numbered(keys)
        if max(refined, default=0) == max(current, default=0):
            return refined
        current = refined


def _targets(term: Term) -> list[TermId]:
    return [
        target
        for _, targets in sorted(term.children.items())
        for _, target in (sorted(targets.items(), key=_place) if len(targets) > 1 else targets.items())
    ]


def _place(item: tuple[str | int | None, TermId]) -> str:
    return str(item[0])


def _numbered(keys: Iterable[object]) -> list[int]:
    numbers: dict[object, int] = {}
    return [numbers.setdefault(key, len(numbers)) for key in keys]
