"""Whether there is an array of a length between two bounds."""

from collections.abc import Sequence

from compiler_pool.form.nodes import DistinctItems


def ends_within(finals: Sequence[bool], steps: Sequence[Sequence[int]], *, at_least: int, at_most: int | None) -> bool:
    """Whether `at_least` to `at_most` steps from the first state can end in a final one. Exact.

    From the first state and those that `steps` lead to, a final one is reached: without `at_most` any way goes on to
    an end.
    """
    reached = frozenset({0})
    length = 0
    while at_most is None or length <= at_most:
        if length >= at_least and (at_most is None or any(finals[state] for state in reached)):
            return bool(reached)
        following = frozenset(target for state in reached for target in steps[state])
        if not following:
            return False
        if following == reached and length >= at_least:
            return False
        # Once the states stay the same, they are the same at every greater length.
        length = max(length + 1, at_least) if following == reached else length + 1
        reached = following
    return False


def has_different_items(node: DistinctItems) -> bool:
    """Whether there are enough different values for the least array."""
    found = node.num_found if node.found_at_most is None else min(node.num_found, node.found_at_most)
    longest = found + len(node.texts) - node.num_found
    if node.at_most is not None:
        longest = min(longest, node.at_most)
    return node.found_at_least <= found and max(node.at_least, node.found_at_least) <= longest
