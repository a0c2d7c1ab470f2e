"""Two contracts compared: both questions, and the changes one by one. The entry of this package."""

from dataclasses import dataclass
from typing import Final

from registry.algebra.terms import UnreadableContractError
from registry.compatibility.changes import Change, ChangeKind, Changes, Effect
from registry.compatibility.document_schemas import DocumentSchema, NotComparableError, document_schema
from registry.compatibility.reviewing import Review, review_schemas
from registry.compatibility.schema_comparison import SchemaPair
from registry.compatibility.text_changes import text_changes
from registry.compatibility.verdicts import (
    Answer,
    ComparisonBudget,
    Direction,
    JudgePreparation,
    Safe,
    Unknown,
    UnknownReason,
    Unsafe,
)
from registry.contract import ContractKind
from registry.errors import ContractRejectedError

DEFAULT_BUDGET: Final = ComparisonBudget()

_SAME: Final = Safe(proof=("both contracts have the same canonical form",))


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractText:
    """A contract as it is compared: its kind, and its canonical text."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Both answers, and what was changed. `changes_left_out` counts those beyond what is listed."""

    consumer_safe: Answer
    producer_safe: Answer
    changes: Changes
    changes_left_out: int = 0

    def answer(self, direction: Direction) -> Answer:
        """The answer to one question."""
        match direction:
            case Direction.CONSUMER_SAFE:
                return self.consumer_safe
            case Direction.PRODUCER_SAFE:
                return self.producer_safe


def compare(
    old: ContractText, new: ContractText, preparation: JudgePreparation, budget: ComparisonBudget = DEFAULT_BUDGET
) -> Comparison:
    """Compare two contracts. Raises nothing that a contract could cause: what cannot be compared is `Unknown`."""
    if old == new:
        return Comparison(consumer_safe=_SAME, producer_safe=_SAME, changes=())
    try:
        pair = document_schema(old.kind, old.text), document_schema(new.kind, new.text)
        return _of_documents(old, new, pair, preparation, budget)
    except NotComparableError as error:
        return _unknown(old, new, Unknown(reason=UnknownReason.KIND, message=str(error)))
    except (UnreadableContractError, ContractRejectedError) as error:
        return _unknown(old, new, Unknown(reason=UnknownReason.UNREADABLE, message=str(error)[:300]))
    except RecursionError:
        return _unknown(old, new, Unknown(reason=UnknownReason.BUDGET, message="the contracts are nested too deeply"))


def _of_documents(
    old: ContractText,
    new: ContractText,
    documents: tuple[DocumentSchema, DocumentSchema],
    preparation: JudgePreparation,
    budget: ComparisonBudget,
) -> Comparison:
    before, after = documents
    if before.is_text != after.is_text:
        raise NotComparableError("the documents of the one are plain texts, those of the other JSON")
    if before.grammars != after.grammars:
        raise NotComparableError("a tool's grammar was changed; grammars are compared by identity only")
    is_schema = old.kind == new.kind == ContractKind.JSON_SCHEMA
    pair = SchemaPair(before.schema, after.schema, preparation, budget, is_own_schema=is_schema)
    answers = {direction: pair.answer(direction) for direction in Direction}
    if is_schema:
        review = review_schemas(pair)
    else:
        review = Review(changes=text_changes(old, new, _effect_of(answers)), num_left_out=0)
    return Comparison(
        consumer_safe=answers[Direction.CONSUMER_SAFE],
        producer_safe=answers[Direction.PRODUCER_SAFE],
        changes=review.changes,
        changes_left_out=review.num_left_out,
    )


def _unknown(old: ContractText, new: ContractText, unknown: Unknown) -> Comparison:
    kind = ChangeKind.TEXT_CHANGED if old.kind == new.kind else ChangeKind.KIND_CHANGED
    change = Change(kind=kind, old_pointer="", new_pointer="", effect=Effect.UNKNOWN, message=unknown.message)
    return Comparison(consumer_safe=unknown, producer_safe=unknown, changes=(change,))


def _effect_of(answers: dict[Direction, Answer]) -> Effect:
    """What both answers say of the documents: the effect of a change that is the only one."""
    match answers[Direction.CONSUMER_SAFE], answers[Direction.PRODUCER_SAFE]:
        case Safe(), Safe():
            return Effect.NEITHER
        case Unsafe(), Safe():
            return Effect.WIDENS
        case Safe(), Unsafe():
            return Effect.NARROWS
        case Unsafe(), Unsafe():
            return Effect.BOTH
        case _:
            return Effect.UNKNOWN
