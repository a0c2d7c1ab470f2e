"""Which members an atom of objects speaks of, and which names a formula gives an object to begin with."""

from collections.abc import Iterable, Iterator, Mapping

from compiler_pool.form.flattening import every, some
from compiler_pool.form.making import Making
from compiler_pool.form.strings import pattern_language
from compiler_pool.form.unevaluated_members import unevaluated_members
from registry.algebra.formulas import (
    TRUE,
    All,
    Any,
    EachMember,
    EachName,
    Formula,
    Has,
    Matching,
    MembersAtMost,
    Named,
    OneOf,
    Others,
    Scope,
    SomeMember,
    SomeName,
    Unsettled,
    Wants,
    negated,
)
from registry.algebra.keyword_formulas import JsonType
from registry.algebra.truth import Truth
from registry.errors import UnsupportedPatternError
from registry.parsing import parse_json


def sayable(flat: Formula, making: Making) -> Formula:
    """The formula over atoms of members alone: listed objects member by member, `unevaluatedProperties` name by name.

    What no machine of members can say is left out, and reported. Raises `ExpansionSpentError`.
    """
    said: dict[Formula, Formula] = {}
    pending = [flat]
    seen: set[int] = set()
    while pending:
        part = pending.pop()
        if isinstance(part, All | Any):
            # Parts that stand in many places are looked at in one.
            if id(part) not in seen:
                seen.add(id(part))
                making.spending.step(1 + len(part.parts) // 16)
                pending.extend(part.parts)
        elif isinstance(part, EachMember | SomeMember):
            if not isinstance(part.scope, Named) and part not in said:
                said[part] = _said(part, making)
        elif isinstance(part, Unsettled | OneOf) and part not in said:
            said[part] = _said(part, making)
    changed = {part: other for part, other in said.items() if other is not part}
    return _with(flat, changed, {}) if changed else flat


def _with(flat: Formula, changed: Mapping[Formula, Formula], known: dict[int, Formula]) -> Formula:
    if not isinstance(flat, All | Any):
        return changed.get(flat, flat)
    if id(flat) not in known:
        parts = (_with(part, changed, known) for part in flat.parts)
        known[id(flat)] = every(parts) if isinstance(flat, All) else some(parts)
    return known[id(flat)]


def _said(atom: Formula, making: Making) -> Formula:
    match atom:
        case Unsettled(term=term, keyword=keyword, positive=positive):
            formula = unevaluated_members(term, making)
            if formula is None:
                making.cannot(keyword, "too many patterns of names decide which members it speaks of")
                return TRUE
            return sayable(making.flat([formula if positive else negated(formula)], JsonType.OBJECT), making)
        case OneOf(texts=texts, positive=True):
            return some(_exactly(text, making) for text in texts)
        case OneOf():
            making.cannot("enum", "too many objects, or too large ones, are excluded")
            return TRUE
        case EachMember(scope=Matching() | Others(), wanted=wanted) if _is_idle(wanted, making):
            # What is said of a name by its pattern alone need not tell it apart from others.
            return TRUE
        case EachMember(scope=scope) | SomeMember(scope=scope) if not _is_sayable(scope, making):
            return TRUE
        case _:
            return atom


def _is_idle(wanted: Wants, making: Making) -> bool:
    """Whether it is plain that every value is as wanted."""
    term = making.solver.terms[wanted.term]
    return term.allows_all if wanted.positive else term.allows_nothing


def _exactly(text: str, making: Making) -> Formula:
    """What an object satisfies exactly if it is the one that the text spells."""
    value = parse_json(text, max_bytes=1 << 26, max_nesting=512)
    assert isinstance(value, dict), text
    making.spending.step(1 + len(value))
    constant = making.solver.terms.constant
    members = (
        SomeMember(scope=Named(name=name), wanted=Wants(term=constant([member]), positive=True))
        for name, member in value.items()
    )
    return every((*members, MembersAtMost(count=len(value))))


def _is_sayable(scope: Scope, making: Making) -> bool:
    for pattern in patterns_of(scope):
        try:
            pattern_language(pattern)
        except UnsupportedPatternError as error:
            making.cannot("patternProperties", f"{error.reason} (at position {error.position})")
            return False
    return True


def patterns_of(scope: Scope) -> Iterable[str]:
    """The patterns that decide whether a name is in the scope."""
    match scope:
        case Named():
            return ()
        case Matching(pattern=pattern):
            return (pattern,)
        case Others(patterns=patterns):
            return sorted(patterns)


def speaks_of(scope: Scope, name: str, truth: Truth) -> bool:
    """Whether a member of that name is in a scope whose patterns are all supported."""
    held = truth.in_scope(scope, name)
    assert held is not None, scope
    return held


def name_of(atom: object) -> str | None:
    """The one member that an atom speaks of."""
    match atom:
        case Has(name=name) | EachMember(scope=Named(name=name)) | SomeMember(scope=Named(name=name)):
            return name
        case _:
            return None


def atoms_of(flat: Formula) -> Iterator[Formula]:
    """All atoms, in order, those first that hold in any case. A part that stands in many places is looked at in one."""
    pending = [flat]
    seen: set[int] = set()
    while pending:
        choices: list[Formula] = []
        while pending:
            part = pending.pop()
            match part:
                case All(parts=parts):
                    pending.extend(reversed(parts))
                case Any(parts=parts):
                    if id(part) not in seen:
                        seen.add(id(part))
                        choices.append(part)
                case _:
                    yield part
        pending = [part for choice in choices if isinstance(choice, Any) for part in reversed(choice.parts)]


def declared_names(flat: Formula) -> list[str]:
    """The names that the formula mentions, in the order in which members are generated.

    Those with a schema of their own first, in the order of their schemas, and those that stand in no choice before
    those that do; then names that are only asked for, and names that only other members are told apart from.
    """
    schemas: dict[str, None] = {}
    mentioned: dict[str, None] = {}
    told_apart: set[str] = set()
    for atom in atoms_of(flat):
        match atom:
            case EachMember(scope=Named(name=name)) | SomeMember(scope=Named(name=name)):
                schemas[name] = None
            case Has(name=name):
                mentioned[name] = None
            case EachMember(scope=Others(names=names)) | SomeMember(scope=Others(names=names)):
                told_apart |= names
            case _:
                pass
    return list(dict.fromkeys((*schemas, *mentioned, *sorted(told_apart))))


def name_wishes(flat: Formula) -> list[Wants]:
    """What is wanted of names, each once and as it is wanted positively."""
    atoms = (atom for atom in atoms_of(flat) if isinstance(atom, EachName | SomeName))
    return list(dict.fromkeys(Wants(term=atom.wanted.term, positive=True) for atom in atoms))


def name_patterns(flat: Formula) -> list[str]:
    """The patterns that decide what is said of a name."""
    atoms = (atom for atom in atoms_of(flat) if isinstance(atom, EachMember | SomeMember))
    return list(dict.fromkeys(pattern for atom in atoms for pattern in patterns_of(atom.scope)))
