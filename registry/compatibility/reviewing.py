"""All changes between two schemas, each measured by itself: the old contract with it alone, against the old."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from registry.algebra.outcomes import Empty, Found, Outcome
from registry.algebra.terms import Term, TermId
from registry.compatibility.applicator_changes import applicator_changes
from registry.compatibility.assertion_changes import assertion_changes
from registry.compatibility.changes import Change, ChangeKind, Changes, Effect, Example, NoExample
from registry.compatibility.object_changes import object_changes
from registry.compatibility.places import Draft, Place, at, rebuilt
from registry.compatibility.schema_comparison import SchemaPair
from registry.compatibility.verdicts import Allowed, Direction, NoVerdict
from registry.contract import JsonValue
from registry.text import canonical_json

MAX_LISTED: Final = 200
MAX_MEASURED: Final = 60
"""Changes whose effect is worked out; the others are listed without."""
MAX_PLACES: Final = 5_000
MAX_STEPS: Final = 6_000
"""For each direction of one change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """The changes that are listed, and how many more there are."""

    changes: Changes
    num_left_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewLine:
    """One change as a reviewer needs it."""

    change: Change
    speaks_against: tuple[Direction, ...]
    """The questions to which this change alone would make the answer no."""


def review_schemas(pair: SchemaPair) -> Review:
    """The changes from the old schema to the new one, in the order of the old."""
    changes: list[Change] = []
    num_left_out = 0
    measuring = _Measuring(pair)
    effect: Effect
    example: Example | NoExample
    for draft in _drafts(pair):
        if len(changes) >= MAX_LISTED:
            num_left_out += 1
            continue
        is_measured = len(changes) < MAX_MEASURED
        edited = rebuilt(pair.terms, pair.old.root, draft.place.path, draft.edited) if is_measured else None
        effect, example = (Effect.UNKNOWN, NoExample()) if edited is None else measuring.measured(edited)
        changes.append(
            Change(
                kind=draft.kind,
                old_pointer=draft.place.old.place(*draft.tokens),
                new_pointer=draft.place.new.place(*draft.tokens),
                effect=effect,
                message=draft.message,
                example=example,
            )
        )
    return Review(changes=tuple(changes), num_left_out=num_left_out)


def review_lines(changes: Changes) -> tuple[ReviewLine, ...]:
    """The changes, those first that take something away, then those that add something, then the rest."""
    order = (Effect.BOTH, Effect.NARROWS, Effect.WIDENS, Effect.UNKNOWN, Effect.NEITHER)
    lines = [ReviewLine(change=change, speaks_against=_AGAINST[change.effect]) for change in changes]
    return tuple(sorted(lines, key=lambda line: order.index(line.change.effect)))


_AGAINST: Final = {
    Effect.WIDENS: (Direction.CONSUMER_SAFE,),
    Effect.NARROWS: (Direction.PRODUCER_SAFE,),
    Effect.BOTH: (Direction.CONSUMER_SAFE, Direction.PRODUCER_SAFE),
    Effect.NEITHER: (),
    Effect.UNKNOWN: (),
}


class _Measuring:
    """Works out effects, all from one budget: the two answers matter more than the review."""

    def __init__(self, pair: SchemaPair) -> None:
        self._pair = pair
        self._left = pair.budget.max_steps // 2

    def measured(self, edited: TermId) -> tuple[Effect, Example | NoExample]:
        """What replacing the old root by another alone does, and a whole document that shows it."""
        old = self._pair.old.root
        if edited == old:
            return Effect.NEITHER, NoExample()
        match self._difference(old, edited), self._difference(edited, old):
            case Empty(), Empty():
                return Effect.NEITHER, NoExample()
            case Found(value=value), Empty():
                return Effect.NARROWS, self._example(value, is_allowed=False)
            case Empty(), Found(value=value):
                return Effect.WIDENS, self._example(value, is_allowed=True)
            case Found(value=value), Found():
                return Effect.BOTH, self._example(value, is_allowed=False)
            case _:
                return Effect.UNKNOWN, NoExample()

    def _difference(self, inner: TermId, outer: TermId) -> Outcome:
        outcome, num_spent = self._pair.difference(inner, outer, max_steps=min(MAX_STEPS, self._left))
        self._left = max(self._left - num_spent, 0)
        return outcome

    def _example(self, value: JsonValue, *, is_allowed: bool) -> Example | NoExample:
        """The document, if the judge of the old contract agrees."""
        verdict = self._pair.old.judge.judge(canonical_json(value).encode())
        if isinstance(verdict, NoVerdict) or isinstance(verdict, Allowed) == is_allowed:
            return NoExample()
        return Example(document=value, is_allowed=is_allowed)


def _drafts(pair: SchemaPair) -> Iterator[Draft]:
    """Depth first in the order of the old schema. What stands in `$defs` is looked at where it is met first."""
    root = Place(
        old=at(pair.old.schema, "", pair.old.schema, pair.old.root),
        new=at(pair.new.schema, "", pair.new.schema, pair.new.root),
        path=(),
    )
    pending = [root]
    seen: set[tuple[str, str]] = set()
    while pending and len(seen) < MAX_PLACES:
        place = pending.pop()
        key = (place.old.pointer, place.new.pointer)
        if key in seen:
            continue
        seen.add(key)
        whole = _replaced(pair, place)
        if whole is not None:
            yield whole
            continue
        if place.old.term != place.new.term:
            yield from assertion_changes(pair.terms, place)
        beneath: list[Place] = []
        for step in (*object_changes(pair.terms, place), *applicator_changes(pair.terms, place)):
            if isinstance(step, Draft):
                yield step
            else:
                beneath.append(step)
        pending.extend(reversed(beneath))


def _replaced(pair: SchemaPair, place: Place) -> Draft | None:
    """The change where one of the two is no schema with keywords."""
    old, new = pair.terms[place.old.term], pair.terms[place.new.term]
    if place.old.term == place.new.term:
        return None
    kinds = {
        (True, False): (ChangeKind.TRUE_TO_SCHEMA, "what could be anything must now satisfy a schema"),
        (False, True): (ChangeKind.SCHEMA_TO_TRUE, "what had to satisfy a schema may now be anything"),
    }
    if old.allows_nothing or new.allows_nothing:
        kind = ChangeKind.FALSE_TO_SCHEMA if old.allows_nothing else ChangeKind.SCHEMA_TO_FALSE
        message = "what was forbidden is now allowed" if old.allows_nothing else "what was allowed is now forbidden"
    elif (_is_anything(old), _is_anything(new)) in kinds:
        kind, message = kinds[_is_anything(old), _is_anything(new)]
    elif old.keywords.isdisjoint(new.keywords) and not old.keywords | new.keywords <= {"anyOf", "oneOf"}:
        kind, message = ChangeKind.SCHEMA_REPLACED, "the schema was replaced by another"
    else:
        return None
    return Draft(kind=kind, place=place, tokens=(), edited=new, message=message)


def _is_anything(term: Term) -> bool:
    return not term.allows_nothing and not term.keywords
