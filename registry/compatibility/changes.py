"""What a review lists: one change at one place, what follows from it, and a document that shows it."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from registry.contract import JsonValue


class Effect(StrEnum):
    """What one change alone does to the documents that the contract allows."""

    WIDENS = "widens"
    """More are allowed."""
    NARROWS = "narrows"
    """Fewer are."""
    BOTH = "both"
    """Some are new, and some are lost."""
    NEITHER = "neither"
    """The same documents, proved."""
    UNKNOWN = "unknown"


class ChangeKind(StrEnum):
    """What was changed, as an author would name it; a closed list. *Open* objects take members of any other name."""

    SCHEMA_REPLACED = "schema_replaced"
    SCHEMA_TO_TRUE = "schema_to_true"
    SCHEMA_TO_FALSE = "schema_to_false"
    FALSE_TO_SCHEMA = "false_to_schema"
    TRUE_TO_SCHEMA = "true_to_schema"

    TYPE_ADDED = "type_added"
    TYPE_REMOVED = "type_removed"
    TYPE_CHANGED = "type_changed"
    TYPE_CONSTRAINT_ADDED = "type_constraint_added"
    TYPE_CONSTRAINT_REMOVED = "type_constraint_removed"
    NULL_ALLOWED = "null_allowed"
    NULL_FORBIDDEN = "null_forbidden"
    INTEGER_TO_NUMBER = "integer_to_number"
    NUMBER_TO_INTEGER = "number_to_integer"

    ENUM_ADDED = "enum_added"
    ENUM_REMOVED = "enum_removed"
    ENUM_MEMBERS_ADDED = "enum_members_added"
    ENUM_MEMBERS_REMOVED = "enum_members_removed"
    ENUM_MEMBERS_REPLACED = "enum_members_replaced"
    CONST_ADDED = "const_added"
    CONST_REMOVED = "const_removed"
    CONST_CHANGED = "const_changed"

    MINIMUM_ADDED = "minimum_added"
    MINIMUM_REMOVED = "minimum_removed"
    MINIMUM_RAISED = "minimum_raised"
    MINIMUM_LOWERED = "minimum_lowered"
    MAXIMUM_ADDED = "maximum_added"
    MAXIMUM_REMOVED = "maximum_removed"
    MAXIMUM_RAISED = "maximum_raised"
    MAXIMUM_LOWERED = "maximum_lowered"
    EXCLUSIVE_MINIMUM_ADDED = "exclusive_minimum_added"
    EXCLUSIVE_MINIMUM_REMOVED = "exclusive_minimum_removed"
    EXCLUSIVE_MINIMUM_RAISED = "exclusive_minimum_raised"
    EXCLUSIVE_MINIMUM_LOWERED = "exclusive_minimum_lowered"
    EXCLUSIVE_MAXIMUM_ADDED = "exclusive_maximum_added"
    EXCLUSIVE_MAXIMUM_REMOVED = "exclusive_maximum_removed"
    EXCLUSIVE_MAXIMUM_RAISED = "exclusive_maximum_raised"
    EXCLUSIVE_MAXIMUM_LOWERED = "exclusive_maximum_lowered"
    MULTIPLE_OF_ADDED = "multiple_of_added"
    MULTIPLE_OF_REMOVED = "multiple_of_removed"
    MULTIPLE_OF_CHANGED = "multiple_of_changed"

    MIN_LENGTH_ADDED = "min_length_added"
    MIN_LENGTH_REMOVED = "min_length_removed"
    MIN_LENGTH_RAISED = "min_length_raised"
    MIN_LENGTH_LOWERED = "min_length_lowered"
    MAX_LENGTH_ADDED = "max_length_added"
    MAX_LENGTH_REMOVED = "max_length_removed"
    MAX_LENGTH_RAISED = "max_length_raised"
    MAX_LENGTH_LOWERED = "max_length_lowered"
    PATTERN_ADDED = "pattern_added"
    PATTERN_REMOVED = "pattern_removed"
    PATTERN_CHANGED = "pattern_changed"
    FORMAT_ADDED = "format_added"
    FORMAT_REMOVED = "format_removed"
    FORMAT_CHANGED = "format_changed"

    MIN_ITEMS_ADDED = "min_items_added"
    MIN_ITEMS_REMOVED = "min_items_removed"
    MIN_ITEMS_RAISED = "min_items_raised"
    MIN_ITEMS_LOWERED = "min_items_lowered"
    MAX_ITEMS_ADDED = "max_items_added"
    MAX_ITEMS_REMOVED = "max_items_removed"
    MAX_ITEMS_RAISED = "max_items_raised"
    MAX_ITEMS_LOWERED = "max_items_lowered"
    UNIQUE_ITEMS_ADDED = "unique_items_added"
    UNIQUE_ITEMS_REMOVED = "unique_items_removed"
    ITEMS_ADDED = "items_added"
    ITEMS_REMOVED = "items_removed"
    ITEMS_CLOSED = "items_closed"
    ITEMS_OPENED = "items_opened"
    PREFIX_ITEM_ADDED = "prefix_item_added"
    PREFIX_ITEM_REMOVED = "prefix_item_removed"
    CONTAINS_ADDED = "contains_added"
    CONTAINS_REMOVED = "contains_removed"
    MIN_CONTAINS_CHANGED = "min_contains_changed"
    MAX_CONTAINS_CHANGED = "max_contains_changed"
    UNEVALUATED_ITEMS_ADDED = "unevaluated_items_added"
    UNEVALUATED_ITEMS_REMOVED = "unevaluated_items_removed"

    OPTIONAL_PROPERTY_ADDED_TO_OPEN = "optional_property_added_to_open"
    OPTIONAL_PROPERTY_ADDED_TO_CLOSED = "optional_property_added_to_closed"
    OPTIONAL_PROPERTY_ADDED_TO_PARTLY_OPEN = "optional_property_added_to_partly_open"
    REQUIRED_PROPERTY_ADDED_TO_OPEN = "required_property_added_to_open"
    REQUIRED_PROPERTY_ADDED_TO_CLOSED = "required_property_added_to_closed"
    REQUIRED_PROPERTY_ADDED_TO_PARTLY_OPEN = "required_property_added_to_partly_open"
    OPTIONAL_PROPERTY_REMOVED_FROM_OPEN = "optional_property_removed_from_open"
    OPTIONAL_PROPERTY_REMOVED_FROM_CLOSED = "optional_property_removed_from_closed"
    OPTIONAL_PROPERTY_REMOVED_FROM_PARTLY_OPEN = "optional_property_removed_from_partly_open"
    REQUIRED_PROPERTY_REMOVED_FROM_OPEN = "required_property_removed_from_open"
    REQUIRED_PROPERTY_REMOVED_FROM_CLOSED = "required_property_removed_from_closed"
    REQUIRED_PROPERTY_REMOVED_FROM_PARTLY_OPEN = "required_property_removed_from_partly_open"
    PROPERTY_MADE_REQUIRED = "property_made_required"
    PROPERTY_MADE_OPTIONAL = "property_made_optional"
    UNDECLARED_NAME_REQUIRED = "undeclared_name_required"
    UNDECLARED_NAME_NOT_REQUIRED = "undeclared_name_not_required"
    PROPERTY_ORDER_CHANGED = "property_order_changed"
    OBJECT_CLOSED = "object_closed"
    OBJECT_OPENED = "object_opened"
    OTHER_MEMBERS_RESTRICTED = "other_members_restricted"
    OTHER_MEMBERS_FREED = "other_members_freed"
    OTHER_MEMBERS_OPENED_PARTLY = "other_members_opened_partly"
    OTHER_MEMBERS_CLOSED = "other_members_closed"
    PATTERN_PROPERTY_ADDED = "pattern_property_added"
    PATTERN_PROPERTY_REMOVED = "pattern_property_removed"
    PROPERTY_NAMES_ADDED = "property_names_added"
    PROPERTY_NAMES_REMOVED = "property_names_removed"
    MIN_PROPERTIES_ADDED = "min_properties_added"
    MIN_PROPERTIES_REMOVED = "min_properties_removed"
    MIN_PROPERTIES_RAISED = "min_properties_raised"
    MIN_PROPERTIES_LOWERED = "min_properties_lowered"
    MAX_PROPERTIES_ADDED = "max_properties_added"
    MAX_PROPERTIES_REMOVED = "max_properties_removed"
    MAX_PROPERTIES_RAISED = "max_properties_raised"
    MAX_PROPERTIES_LOWERED = "max_properties_lowered"
    DEPENDENT_REQUIRED_ADDED = "dependent_required_added"
    DEPENDENT_REQUIRED_REMOVED = "dependent_required_removed"
    DEPENDENT_REQUIRED_CHANGED = "dependent_required_changed"
    DEPENDENT_SCHEMA_ADDED = "dependent_schema_added"
    DEPENDENT_SCHEMA_REMOVED = "dependent_schema_removed"
    UNEVALUATED_PROPERTIES_ADDED = "unevaluated_properties_added"
    UNEVALUATED_PROPERTIES_REMOVED = "unevaluated_properties_removed"

    ANY_OF_ADDED = "any_of_added"
    ANY_OF_REMOVED = "any_of_removed"
    ANY_OF_BRANCH_ADDED = "any_of_branch_added"
    ANY_OF_BRANCH_REMOVED = "any_of_branch_removed"
    ONE_OF_ADDED = "one_of_added"
    ONE_OF_REMOVED = "one_of_removed"
    ONE_OF_BRANCH_ADDED = "one_of_branch_added"
    ONE_OF_BRANCH_REMOVED = "one_of_branch_removed"
    ALL_OF_BRANCH_ADDED = "all_of_branch_added"
    ALL_OF_BRANCH_REMOVED = "all_of_branch_removed"
    ONE_OF_TO_ANY_OF = "one_of_to_any_of"
    ANY_OF_TO_ONE_OF = "any_of_to_one_of"
    NOT_ADDED = "not_added"
    NOT_REMOVED = "not_removed"
    NOT_CHANGED = "not_changed"
    CONDITION_ADDED = "condition_added"
    CONDITION_REMOVED = "condition_removed"
    CONDITION_CHANGED = "condition_changed"
    THEN_ADDED = "then_added"
    THEN_REMOVED = "then_removed"
    ELSE_ADDED = "else_added"
    ELSE_REMOVED = "else_removed"

    CHOICE_ADDED = "choice_added"
    CHOICE_REMOVED = "choice_removed"
    EXPRESSION_CHANGED = "expression_changed"
    TOOL_ADDED = "tool_added"
    TOOL_REMOVED = "tool_removed"
    TOOL_CHANGED = "tool_changed"
    KIND_CHANGED = "kind_changed"
    TEXT_CHANGED = "text_changed"
    """Of a kind that is compared by identity only."""
    ANNOTATIONS_CHANGED = "annotations_changed"
    """The same contract with another annotation digest: no document is touched."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoExample:
    """No document shows the change, or none was found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A whole document that the change alone, made at this one place, allows (`is_allowed`) or forbids."""

    document: JsonValue
    is_allowed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change. Pointers lead into the canonical forms; the one to a side where nothing stands, to what holds it."""

    kind: ChangeKind
    old_pointer: str
    new_pointer: str
    effect: Effect
    message: str
    example: Example | NoExample = NoExample()


Changes: TypeAlias = tuple[Change, ...]


ANNOTATIONS_CHANGED: Change = Change(
    kind=ChangeKind.ANNOTATIONS_CHANGED,
    old_pointer="",
    new_pointer="",
    effect=Effect.NEITHER,
    message="titles, descriptions or other annotations were changed",
)
"""For whoever compares two revisions whose digests are equal and whose annotation digests are not: a comparison sees
canonical texts only."""
