"""What each level makes of the comparisons with earlier revisions."""

import pytest

from registry.compatibility.comparison import Comparison
from registry.compatibility.modes import (
    PLAIN_WORDS,
    CompatibilityMode,
    Compatible,
    Incompatible,
    Undecided,
    is_transitive,
    judge_mode,
    mode_named,
    plain_words,
)
from registry.compatibility.verdicts import Answer, Direction, Safe, Unknown, UnknownReason, Unsafe

_SAFE = Safe(proof=("x",))
_UNSAFE = Unsafe(witness=1, witness_text="1", old_pointer="", new_pointer="", message="m")
_UNKNOWN = Unknown(reason=UnknownReason.NOT_PROVEN, message="m")


def _comparison(consumer: Answer, producer: Answer) -> Comparison:
    return Comparison(consumer_safe=consumer, producer_safe=producer, changes=())


def test_none_accepts_anything() -> None:
    assert judge_mode(CompatibilityMode.NONE, [(3, _comparison(_UNSAFE, _UNSAFE))]) == Compatible()


def test_backward_asks_whether_old_documents_stay_allowed() -> None:
    verdict = judge_mode(CompatibilityMode.BACKWARD, [(3, _comparison(_SAFE, _UNSAFE))])

    assert verdict == Incompatible(version=3, direction=Direction.PRODUCER_SAFE, unsafe=_UNSAFE)
    assert judge_mode(CompatibilityMode.BACKWARD, [(3, _comparison(_UNSAFE, _SAFE))]) == Compatible()


def test_forward_asks_whether_new_documents_were_allowed() -> None:
    verdict = judge_mode(CompatibilityMode.FORWARD, [(3, _comparison(_UNSAFE, _SAFE))])

    assert verdict == Incompatible(version=3, direction=Direction.CONSUMER_SAFE, unsafe=_UNSAFE)
    assert judge_mode(CompatibilityMode.FORWARD, [(3, _comparison(_SAFE, _UNSAFE))]) == Compatible()


def test_only_transitive_levels_look_past_the_latest() -> None:
    chain = [(3, _comparison(_SAFE, _SAFE)), (2, _comparison(_UNSAFE, _UNSAFE))]

    assert judge_mode(CompatibilityMode.FULL, chain) == Compatible()
    verdict = judge_mode(CompatibilityMode.FULL_TRANSITIVE, chain)
    assert verdict == Incompatible(version=2, direction=Direction.CONSUMER_SAFE, unsafe=_UNSAFE)


def test_a_missing_answer_is_not_a_yes_but_a_witness_outweighs_it() -> None:
    undecided = [(3, _comparison(_UNKNOWN, _SAFE))]
    shown = [*undecided, (2, _comparison(_SAFE, _UNSAFE))]

    verdict = judge_mode(CompatibilityMode.FULL, undecided)
    assert verdict == Undecided(version=3, direction=Direction.CONSUMER_SAFE, unknown=_UNKNOWN)
    assert isinstance(judge_mode(CompatibilityMode.FULL_TRANSITIVE, shown), Incompatible)


def test_a_first_revision_is_compatible_with_what_is_not_there() -> None:
    assert judge_mode(CompatibilityMode.FULL_TRANSITIVE, []) == Compatible()


@pytest.mark.parametrize("mode", CompatibilityMode)
def test_every_level_has_its_plain_words(mode: CompatibilityMode) -> None:
    assert mode_named(plain_words(mode)) is mode
    assert mode_named(mode.value.lower()) is mode
    assert is_transitive(mode) == plain_words(mode).endswith("-always")


def test_other_names_are_no_levels() -> None:
    assert len(PLAIN_WORDS) == 7
    assert mode_named("SIDEWAYS") is None
