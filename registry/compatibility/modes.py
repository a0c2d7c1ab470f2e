"""The seven levels of Confluent's registry."""

from enum import StrEnum


class CompatibilityMode(StrEnum):
    """Which of the two questions a new revision has to answer with yes, and against which earlier ones."""

    NONE = "NONE"
    BACKWARD = "BACKWARD"
    BACKWARD_TRANSITIVE = "BACKWARD_TRANSITIVE"
    FORWARD = "FORWARD"
    FORWARD_TRANSITIVE = "FORWARD_TRANSITIVE"
    FULL = "FULL"
    FULL_TRANSITIVE = "FULL_TRANSITIVE"
