"""How short a text can be that a pattern matches as a whole."""

from registry.pattern_syntax import Anchor, Characters, Choice, PatternNode, Repeat, Sequence, complement


def shortest_match_bytes(node: PatternNode) -> int | None:
    """Bytes of the shortest match, or a lower bound of it where Unicode classes are left out; `None`: there is none.

    Recurses over groups: the tree is one that `MAX_PATTERN_DEPTH` bounds.
    """
    match node:
        case Characters():
            return _shortest_character(node)
        case Anchor():
            return 0
        case Sequence():
            total = 0
            for part in node.parts:
                least = shortest_match_bytes(part)
                if least is None:
                    return None
                total += least
            return total
        case Choice():
            found = [least for branch in node.branches if (least := shortest_match_bytes(branch)) is not None]
            return min(found, default=None)
        case Repeat():
            if not node.minimum:
                return 0
            least = shortest_match_bytes(node.node)
            return None if least is None else least * node.minimum


def _shortest_character(node: Characters) -> int | None:
    if node.classes:
        return 1
    ranges = complement(node.ranges) if node.negated else node.ranges
    return len(chr(ranges[0][0]).encode("utf-8", "surrogatepass")) if ranges else None
