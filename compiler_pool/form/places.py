"""Where the terms of a canonical schema stand: pointers for reports and refusals, sought only when one is needed."""

from collections.abc import Iterable, Iterator
from typing import Final

from registry.algebra.formulas import Wants
from registry.algebra.terms import TermId, Terms
from registry.contract import JsonValue
from registry.pointers import join

_REFERENCE: Final = "#/$defs/"
IN_PLACE: Final = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas")
"""Keywords whose subschemas apply to the value itself."""
_MAX_PLACES: Final = 8
"""Of one keyword: equal subschemas are one term, however often they are written."""


class Places:
    """The pointers of each term of one schema."""

    def __init__(self, schema: JsonValue, terms: Terms, root: TermId) -> None:
        self._terms = terms
        self._pointers: dict[TermId, list[str]] = {}
        definitions = schema.get("$defs") if isinstance(schema, dict) else None
        named = definitions if isinstance(definitions, dict) else {}
        pending: list[tuple[str, JsonValue, TermId]] = [("", schema, root)]
        entered: set[str] = set()
        while pending:
            pointer, subschema, term = pending.pop()
            while isinstance(subschema, dict) and "$ref" in subschema:
                name = str(subschema["$ref"]).removeprefix(_REFERENCE)
                pointer, subschema = join("", "$defs", name), named.get(name)
            if pointer in entered:
                continue
            entered.add(pointer)
            self._pointers.setdefault(term, []).append(pointer)
            if isinstance(subschema, dict):
                pending.extend(self._children(pointer, subschema, term))

    def of(self, goal: Iterable[Wants], keyword: str) -> list[str]:
        """The pointers at which the goal's terms, or what applies in their place, have the keyword."""
        found: dict[str, None] = {}
        seen = {want.term for want in goal}
        pending = sorted(seen)
        while pending:
            number = pending.pop(0)
            term = self._terms[number]
            if keyword in term.keywords:
                found.update(dict.fromkeys(join(at, keyword) for at in self._pointers.get(number, ())))
            for applicator in IN_PLACE:
                for target in term.of(applicator).values():
                    if target not in seen:
                        seen.add(target)
                        pending.append(target)
        return list(found)[:_MAX_PLACES]

    def of_goal(self, goal: Iterable[Wants]) -> str:
        """One pointer for a goal as a whole: the shortest of its terms'."""
        pointers = [at for want in goal for at in self._pointers.get(want.term, ())]
        return min(pointers, key=len, default="")

    def _children(
        self, pointer: str, subschema: dict[str, JsonValue], number: TermId
    ) -> Iterator[tuple[str, JsonValue, TermId]]:
        for keyword, targets in self._terms[number].children.items():
            held = subschema.get(keyword)
            for key, target in targets.items():
                match key, held:
                    case None, _:
                        yield join(pointer, keyword), held, target
                    case int(), list():
                        yield join(pointer, keyword, key), held[key], target
                    case str(), dict():
                        yield join(pointer, keyword, key), held.get(key), target
                    case _:
                        continue
