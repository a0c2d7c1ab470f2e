"""The machine of an object in which no member hangs on another: one state for each member that may be there.

It is the one that the building of machines in general comes to. Most objects are of this kind, so it is made directly.
"""

from collections.abc import Sequence

from compiler_pool.form.making import Making
from compiler_pool.form.member_rules import MemberRule
from compiler_pool.form.name_classes import NameClass
from compiler_pool.form.name_unions import NameUnions
from compiler_pool.form.nodes import MemberMachine, MemberMove, MemberState
from compiler_pool.form.spending import ExpansionSpending


def member_chain(
    named: Sequence[tuple[str, MemberRule]],
    others: Sequence[tuple[NameClass, MemberRule]],
    unions: NameUnions,
    making: Making,
    spending: ExpansionSpending,
) -> MemberMachine | None:
    """The objects with members as their rules have them; `None` if one would have to be there and may not.

    Raises `ExpansionSpentError`.
    """
    if any(rule.is_required and not rule.is_allowed for _, rule in named):
        return None
    allowed = [(name, rule) for name, rule in named if rule.is_allowed]
    spending.states(len(allowed) + 1)
    states = [
        MemberState(
            is_final=False,
            moves=(MemberMove(names=name, value=making.node(rule.goal), target=place),),
            skips=() if rule.is_required else (place,),
        )
        for place, (name, rule) in enumerate(allowed, start=1)
    ]
    last = len(states)
    outcomes = unions.by_outcome((one, rule.goal) for one, rule in others)
    moves = (MemberMove(names=names, value=making.node(goal), target=last) for names, goal in outcomes)
    states.append(MemberState(is_final=True, moves=tuple(moves)))
    return MemberMachine(states=tuple(states))
