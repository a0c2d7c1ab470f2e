"""Trees without some control characters: everything else stays, also where Unicode's tables say what is in a set."""

import re2
from hypothesis import given
from hypothesis import strategies as st

from registry.full_match import full_match_tree
from registry.pattern_removal import holds, without_controls
from registry.pattern_syntax import Characters, Sequence
from registry.patterns import write_pattern

_REMOVED = ((0x00, 0x07), (0x0B, 0x0B), (0x0E, 0x1F), (0x7F, 0x7F))
_WORDS = [chr(point) for point in range(0x100)] + ["\u2028", "\u0300", "\ud7ff", "\ue000", "\U0001f600", "\U0010ffff"]
_PARTS = ["\\p{Cc}", "\\P{Cc}", "\\p{L}", "\\P{L}", "\\p{sc=Common}", "\\P{sc=Common}", "\\p{Nd}", "\\P{Zs}",
          "\\d", "\\S", "a-f", "\\x00-\\x1f", "\\x05", "\\x7f", '"', "\\\\", "\\n", "\\u{d700}-\\u{e010}"]  # fmt: skip


def is_removed(word: str) -> bool:
    return any(low <= ord(character) <= high for low, high in _REMOVED for character in word)


@given(st.lists(st.sampled_from(_PARTS), max_size=4), st.sampled_from(["", "^"]))
def test_a_set_keeps_all_but_what_is_removed(parts: list[str], sign: str) -> None:
    tree = full_match_tree(f"^[{sign}{''.join(parts)}]$")
    whole = re2.compile(write_pattern(tree))
    narrowed = re2.compile(write_pattern(without_controls(tree, lambda _: _REMOVED)))
    for word in _WORDS:
        matches = whole.fullmatch(word) is not None and not is_removed(word)
        assert (narrowed.fullmatch(word) is not None) == matches, word


@given(
    st.lists(st.sampled_from(["\\x00-\\x1f", "\\x05", '"', "\\\\", "a-f", "\\S"]), max_size=4),
    st.sampled_from(["", "^"]),
)
def test_a_set_of_ranges_knows_what_it_holds(parts: list[str], sign: str) -> None:
    tree = full_match_tree(f"^[{sign}{''.join(parts)}]$")
    program = re2.compile(write_pattern(tree))
    assert isinstance(tree, Sequence)
    (node,) = tree.parts
    assert isinstance(node, Characters)
    for word in _WORDS[:0x80]:
        assert holds(node, ord(word)) == (program.fullmatch(word) is not None)
