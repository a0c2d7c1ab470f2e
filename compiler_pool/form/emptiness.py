"""Whether a language holds no string at all: exact, by looking for the shortest one."""

from compiler_pool.form.languages import Among, Both, Either, Except, Language, Lengths, Matching
from compiler_pool.form.running import LanguageRun
from compiler_pool.form.spending import ExpansionSpending
from registry.algebra.alphabet import code_points
from registry.pattern_syntax import Anchor, Characters, Choice, PatternNode, Repeat, Sequence


def is_empty_language(language: Language, spending: ExpansionSpending) -> bool:
    """Whether no string is in the language. Raises `ExpansionSpentError` where that is too dear to find out."""
    match language:
        case Matching(tree=tree):
            return matches_nothing(tree)
        case Among(texts=texts):
            return not texts
        case Lengths(minimum=minimum, maximum=maximum):
            return maximum is not None and maximum < minimum
        case Either(parts=parts):
            return all(is_empty_language(part, spending) for part in parts)
        case Except(part=Among()):
            return False
        case Both() | Except():
            return _is_unreachable(language, spending)


def matches_nothing(tree: PatternNode) -> bool:
    """Whether a tree without anchors matches no text: somewhere it needs a character out of an empty set."""
    match tree:
        case Characters(ranges=(_, *_), negated=False) | Characters(classes=(_, *_), negated=False):
            return False
        case Characters():
            return all(low >= 0xD800 and high <= 0xDFFF for low, high in code_points(tree))
        case Anchor():
            raise AssertionError(tree)
        case Sequence(parts=parts):
            return any(map(matches_nothing, parts))
        case Choice(branches=branches):
            return all(map(matches_nothing, branches))
        case Repeat(node=node, minimum=minimum):
            return minimum > 0 and matches_nothing(node)


def _is_unreachable(language: Language, spending: ExpansionSpending) -> bool:
    run = LanguageRun(language, spending)
    seen = {run.start}
    pending = [run.start]
    # Depth first: of the texts that there are, any will do, and long ones are found soonest that way.
    while pending:
        states = pending.pop()
        if run.accepts(states):
            return False
        for _, after in run.successors(states):
            if after not in seen:
                seen.add(after)
                pending.append(after)
    return True
