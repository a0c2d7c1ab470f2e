"""The seven levels of Confluent's registry, in its names and in plain words, and what each makes of comparisons."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeAlias

from registry.compatibility.verdicts import Direction, Safe, Unknown, Unsafe

if TYPE_CHECKING:
    # Names of levels are read everywhere; the comparing itself should not have to be loaded for them.
    from registry.compatibility.comparison import Comparison


class CompatibilityMode(StrEnum):
    """Which of the two questions a new revision has to answer with yes, and against which earlier ones."""

    NONE = "NONE"
    BACKWARD = "BACKWARD"
    BACKWARD_TRANSITIVE = "BACKWARD_TRANSITIVE"
    FORWARD = "FORWARD"
    FORWARD_TRANSITIVE = "FORWARD_TRANSITIVE"
    FULL = "FULL"
    FULL_TRANSITIVE = "FULL_TRANSITIVE"


PLAIN_WORDS: Final[Mapping[str, CompatibilityMode]] = MappingProxyType(
    {
        "none": CompatibilityMode.NONE,
        "producer-safe": CompatibilityMode.BACKWARD,
        "producer-safe-always": CompatibilityMode.BACKWARD_TRANSITIVE,
        "consumer-safe": CompatibilityMode.FORWARD,
        "consumer-safe-always": CompatibilityMode.FORWARD_TRANSITIVE,
        "both-safe": CompatibilityMode.FULL,
        "both-safe-always": CompatibilityMode.FULL_TRANSITIVE,
    }
)
"""What a person may write instead of Confluent's names; `always` means against every earlier revision."""

_TRANSITIVE: Final = frozenset(mode for mode in CompatibilityMode if mode.value.endswith("_TRANSITIVE"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Compatible:
    """Every question that the level asks is answered with a proof."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Incompatible:
    """The newest earlier revision against which a document speaks."""

    version: int
    direction: Direction
    unsafe: Unsafe


@dataclass(frozen=True, slots=True, kw_only=True)
class Undecided:
    """Nothing speaks against the level, but a question has no answer. It is not a yes."""

    version: int
    direction: Direction
    unknown: Unknown


ModeVerdict: TypeAlias = Compatible | Incompatible | Undecided


def mode_named(text: str) -> CompatibilityMode | None:
    """The level of a name, Confluent's in any case or a plain word; `None` if it is neither."""
    folded = text.strip().lower().replace("_", "-")
    by_name = {mode.value.lower().replace("_", "-"): mode for mode in CompatibilityMode}
    return PLAIN_WORDS.get(folded) or by_name.get(folded)


def plain_words(mode: CompatibilityMode) -> str:
    """The level in plain words."""
    return next(words for words, known in PLAIN_WORDS.items() if known is mode)


def is_transitive(mode: CompatibilityMode) -> bool:
    """Whether all earlier revisions count, not the latest alone."""
    return mode in _TRANSITIVE


def directions(mode: CompatibilityMode) -> tuple[Direction, ...]:
    """The questions that a level asks."""
    match mode:
        case CompatibilityMode.NONE:
            return ()
        case CompatibilityMode.BACKWARD | CompatibilityMode.BACKWARD_TRANSITIVE:
            return (Direction.PRODUCER_SAFE,)
        case CompatibilityMode.FORWARD | CompatibilityMode.FORWARD_TRANSITIVE:
            return (Direction.CONSUMER_SAFE,)
        case CompatibilityMode.FULL | CompatibilityMode.FULL_TRANSITIVE:
            return (Direction.CONSUMER_SAFE, Direction.PRODUCER_SAFE)


def judge_mode(mode: CompatibilityMode, comparisons: "Sequence[tuple[int, Comparison]]") -> ModeVerdict:
    """What a level says, given comparisons with earlier revisions by their numbers, newest first.

    Those that the level does not ask for are ignored. A document that speaks against it outweighs a missing answer.
    """
    asked = comparisons if is_transitive(mode) else comparisons[:1]
    undecided: Undecided | None = None
    for version, comparison in asked:
        for direction in directions(mode):
            match comparison.answer(direction):
                case Unsafe() as unsafe:
                    return Incompatible(version=version, direction=direction, unsafe=unsafe)
                case Unknown() as unknown:
                    undecided = undecided or Undecided(version=version, direction=direction, unknown=unknown)
                case Safe():
                    pass
    return undecided or Compatible()
