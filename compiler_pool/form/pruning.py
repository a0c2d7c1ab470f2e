"""A form without what cannot be finished: every state of every machine has an end, every node has a text.

A least fixpoint finds what has a text; then whatever leads to something else is dropped. Recursion without a base is
found here as well: it has no text.
"""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace

from compiler_pool.form.item_lengths import ends_within, has_different_items
from compiler_pool.form.nodes import (
    AnyOf,
    DistinctItems,
    Form,
    ItemMachine,
    ItemMove,
    Items,
    ItemState,
    Literals,
    MemberMachine,
    MemberMove,
    MemberState,
    Node,
    NodeId,
    Numbers,
    Strings,
)


def pruned(form: Form) -> Form | None:
    """The same texts, with no way into a dead end; None if there is no text at all."""
    fruitful = _fruitful(form)
    if form.root not in fruitful:
        return None
    is_whole = len(fruitful) == len(form.nodes)
    order: dict[NodeId, NodeId] = {form.root: NodeId(0)}
    kept: list[Node] = []
    pending = deque([form.root])
    while pending:
        node = form.nodes[pending.popleft()]
        if not (is_whole and isinstance(node, MemberMachine) and _is_tidy(node.states)):
            node = _trimmed(node, fruitful)
        kept.append(node)
        for part in parts_of(node):
            if part not in order:
                order[part] = NodeId(len(order))
                pending.append(part)
    if len(order) < len(form.nodes):
        return Form(nodes=tuple(_renumbered(node, order.__getitem__) for node in kept), root=NodeId(0))
    # Nothing is gone: numbers may stay as they are.
    nodes = list(form.nodes)
    for number, node in zip(order, kept, strict=True):
        nodes[number] = node
    return Form(nodes=tuple(nodes), root=form.root)


def parts_of(node: Node) -> Iterable[NodeId]:
    """The nodes that one refers to."""
    match node:
        case AnyOf(parts=parts):
            return parts
        case Items(prefix=prefix, rest=rest):
            return prefix if rest is None else (*prefix, rest)
        case ItemMachine(states=states):
            return (move.item for state in states for move in state.moves)
        case MemberMachine(states=states):
            return (move.value for state in states for move in state.moves)
        case Literals() | Strings() | Numbers() | DistinctItems():
            return ()


def _fruitful(form: Form) -> set[NodeId]:
    """The nodes that have a text."""
    found: set[NodeId] = set()
    left: list[NodeId] = []
    # What a node holds was mostly made after it: seen backwards, only recursion has to be come back to.
    for number in map(NodeId, range(len(form.nodes) - 1, -1, -1)):
        if _has_text(form.nodes[number], found):
            found.add(number)
        else:
            left.append(number)
    users: dict[NodeId, set[NodeId]] = {}
    for number in left:
        for part in parts_of(form.nodes[number]):
            users.setdefault(part, set()).add(number)
    pending = deque(left)
    waiting = set(left)
    while pending:
        number = pending.popleft()
        waiting.discard(number)
        if number not in found and _has_text(form.nodes[number], found):
            found.add(number)
            again = users.get(number, set()) - found - waiting
            waiting |= again
            pending.extend(again)
    return found


def _has_text(node: Node, fruitful: set[NodeId]) -> bool:
    match node:
        case Literals() | Strings() | Numbers():
            return True
        case AnyOf(parts=parts):
            return not fruitful.isdisjoint(parts)
        case Items():
            return _shortened(node, fruitful) is not None
        case DistinctItems():
            return has_different_items(node)
        case ItemMachine():
            return _has_array(node, fruitful)
        case MemberMachine(states=states):
            if _seen_to_end(states, lambda value: value in fruitful)[0]:
                return True
            return 0 in _ending([state.is_final for state in states], _member_steps(states, fruitful))


def _has_array(node: ItemMachine, fruitful: set[NodeId]) -> bool:
    finals = [state.is_final for state in node.states]
    steps = [[move.target for move in state.moves if move.item in fruitful] for state in node.states]
    ending = _ending(finals, steps)
    kept = [[target for target in targets if target in ending] for targets in steps]
    return 0 in ending and ends_within(finals, kept, at_least=node.at_least, at_most=node.at_most)


def _member_steps(states: tuple[MemberState, ...], fruitful: set[NodeId]) -> list[list[int]]:
    return [[*(move.target for move in state.moves if move.value in fruitful), *state.skips] for state in states]


def _seen_to_end(states: tuple[MemberState, ...], is_fruitful: Callable[[NodeId], bool]) -> list[bool]:
    """For each state whether it is plain, by states of higher numbers alone, that a final one is reached."""
    ending = [state.is_final for state in states]
    for at in range(len(states) - 1, -1, -1):
        if not ending[at]:
            state = states[at]
            ending[at] = any(ending[target] for target in state.skips) or any(
                ending[move.target] and is_fruitful(move.value) for move in state.moves
            )
    return ending


def _is_tidy(states: tuple[MemberState, ...]) -> bool:
    """Whether it is plain that all states are reached, and lead to an end, if all values have a text."""
    reached = {0}
    for at, state in enumerate(states):
        if at not in reached:
            return False
        reached.update(state.skips)
        reached.update(move.target for move in state.moves)
    return all(_seen_to_end(states, lambda _: True))


def _ending(finals: list[bool], steps: list[list[int]]) -> set[int]:
    """The states from which a final one is reached."""
    before: dict[int, list[int]] = {}
    for at, targets in enumerate(steps):
        for target in targets:
            before.setdefault(target, []).append(at)
    reached = {at for at, is_final in enumerate(finals) if is_final}
    pending = list(reached)
    while pending:
        for at in before.get(pending.pop(), ()):
            if at not in reached:
                reached.add(at)
                pending.append(at)
    return reached


def _shortened(node: Items, fruitful: set[NodeId]) -> Items | None:
    """The arrays of the node without items that have no text; None if none is left."""
    at_most = node.at_most
    dead = next((at for at, part in enumerate(node.prefix) if part not in fruitful), None)
    prefix, rest = node.prefix, node.rest
    if dead is not None:
        prefix, rest = prefix[:dead], None
    elif rest is not None and rest not in fruitful:
        rest = None
    if at_most is not None and at_most <= len(prefix):
        prefix, rest = prefix[:at_most], None
    longest = at_most if rest is not None else len(prefix)
    if longest is not None and node.at_least > longest:
        return None
    return replace(node, prefix=prefix, rest=rest, at_most=longest)


def _trimmed(node: Node, fruitful: set[NodeId]) -> Node:
    """A fruitful node without what is not."""
    match node:
        case AnyOf(parts=parts):
            return AnyOf(parts=tuple(dict.fromkeys(part for part in parts if part in fruitful)))
        case Items():
            shortened = _shortened(node, fruitful)
            assert shortened is not None
            return shortened
        case ItemMachine(states=states):
            return replace(node, states=_trimmed_items(states, fruitful))
        case MemberMachine(states=states):
            return _trimmed_members(states, fruitful)
        case _:
            return node


def _trimmed_items(states: tuple[ItemState, ...], fruitful: set[NodeId]) -> tuple[ItemState, ...]:
    steps = [[move.target for move in state.moves if move.item in fruitful] for state in states]
    ending = _ending([state.is_final for state in states], steps)
    order = _order(len(states), lambda at: [target for target in steps[at] if target in ending])
    kept: list[ItemState] = []
    for at in order:
        moves = (
            ItemMove(item=move.item, target=order[move.target])
            for move in states[at].moves
            if move.item in fruitful and move.target in ending
        )
        kept.append(ItemState(is_final=states[at].is_final, moves=tuple(dict.fromkeys(moves))))
    return tuple(kept)


def _trimmed_members(states: tuple[MemberState, ...], fruitful: set[NodeId]) -> MemberMachine:
    steps = _member_steps(states, fruitful)
    ending = _ending([state.is_final for state in states], steps)
    order = _order(len(states), lambda at: [target for target in steps[at] if target in ending])
    kept: list[MemberState] = []
    for at in order:
        moves = (
            MemberMove(names=move.names, value=move.value, target=order[move.target])
            for move in states[at].moves
            if move.value in fruitful and move.target in ending
        )
        skips = (order[target] for target in states[at].skips if target in ending)
        kept.append(
            MemberState(
                is_final=states[at].is_final,
                moves=tuple(dict.fromkeys(moves)),
                skips=tuple(dict.fromkeys(skips)),
            )
        )
    return MemberMachine(states=tuple(kept))


def _order(count: int, targets: Callable[[int], Iterable[int]]) -> dict[int, int]:
    """New numbers of the states that the first one reaches, the first one first."""
    order = {0: 0}
    pending = deque([0])
    while pending:
        for target in targets(pending.popleft()):
            if target not in order:
                assert target < count
                order[target] = len(order)
                pending.append(target)
    return order


def _renumbered(node: Node, new: Callable[[NodeId], NodeId]) -> Node:
    match node:
        case AnyOf(parts=parts):
            return AnyOf(parts=tuple(map(new, parts)))
        case Items(prefix=prefix, rest=rest):
            return replace(node, prefix=tuple(map(new, prefix)), rest=None if rest is None else new(rest))
        case ItemMachine(states=states):
            return replace(
                node,
                states=tuple(
                    replace(state, moves=tuple(replace(move, item=new(move.item)) for move in state.moves))
                    for state in states
                ),
            )
        case MemberMachine(states=states):
            return MemberMachine(
                states=tuple(
                    replace(state, moves=tuple(replace(move, value=new(move.value)) for move in state.moves))
                    for state in states
                )
            )
        case _:
            return node
