"""Machines of members written as Lark: the engine takes exactly the objects of each, and comes to no dead end."""

from collections.abc import Iterator
from itertools import permutations
from random import Random
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler_pool.form.languages import Among, Language, both, excluding
from compiler_pool.form.nodes import Form, Literals, MemberMachine, MemberMove, MemberState, NodeId, Strings
from compiler_pool.form.pruning import pruned
from compiler_pool.form.strings import pattern_language
from compiler_pool.lark.writer import write_form
from tests.compiler_pool.lark.form_texts import generates, matcher_of, walk

VALUES: Final = {1: "0", 2: "1", 3: "01"}
"""By node, the values that it has, a digit each."""
LITERALS: Final = tuple(Literals(texts=tuple(digits)) for digits in VALUES.values())
LETTERS: Final = "ab"
OTHERS: Final = both(pattern_language("^[xy]"), excluding(Among(texts=("xx",))))
"""Names of members that no machine here names; `y` is one and `xx` is none."""


def has_name(names: str | Language, name: str) -> bool:
    if isinstance(names, str):
        return names == name
    return name[:1] in {"x", "y"} and name != "xx"


def reads(machine: MemberMachine, members: tuple[tuple[str, str], ...]) -> bool:
    """Whether a machine reads the members in this order."""

    def entered(states: set[int]) -> set[int]:
        pending = list(states)
        while pending:
            fresh = set(machine.states[pending.pop()].skips) - states
            states |= fresh
            pending.extend(fresh)
        return states

    states = entered({0})
    for name, value in members:
        moves = [move for state in states for move in machine.states[state].moves]
        taken = (move for move in moves if has_name(move.names, name) and value in VALUES[move.value])
        states = entered({move.target for move in taken})
    return any(machine.states[state].is_final for state in states)


def objects(names: tuple[str, ...] = (*LETTERS, "y", "xx"), longest: int = 3) -> Iterator[tuple[tuple[str, str], ...]]:
    for length in range(longest + 1):
        for chosen in permutations(names, length):
            for bits in range(1 << length):
                yield tuple((name, str(bits >> at & 1)) for at, name in enumerate(chosen))


def text(members: tuple[tuple[str, str], ...]) -> str:
    return "{" + ",".join(f'"{name}":{value}' for name, value in members) + "}"


@st.composite
def machines(draw: st.DrawFn) -> MemberMachine:
    """Machines in which moves go forward or stay, and skips go forward."""
    count = draw(st.integers(1, 5))
    states: list[MemberState] = []
    for at in range(count):
        later = st.integers(at, count - 1)
        move = st.builds(
            MemberMove,
            names=st.sampled_from([*LETTERS, OTHERS]),
            value=st.sampled_from([NodeId(number) for number in VALUES]),
            target=later,
        )
        states.append(
            MemberState(
                is_final=draw(st.booleans()),
                moves=tuple(draw(st.lists(move, max_size=3, unique=True))),
                skips=tuple(draw(st.lists(st.integers(at + 1, count - 1), max_size=2))) if at + 1 < count else (),
            )
        )
    return MemberMachine(states=tuple(states))


@settings(max_examples=60, deadline=None)
@given(machines(), st.randoms(use_true_random=False))
def test_the_engine_takes_what_the_machine_reads(machine: MemberMachine, random: Random) -> None:
    form = pruned(Form(nodes=(machine, *LITERALS), root=NodeId(0)))
    if form is None:
        assert not any(reads(machine, members) for members in objects())
        return
    matcher = matcher_of(write_form(form).text())
    for members in objects():
        assert generates(matcher, text(members)) == reads(machine, members), members
    for _ in range(3):
        walk(matcher, random, longest=20)


def chain(count: int, *, is_required: bool) -> Form:
    """So many declared members, in order."""
    states = [
        MemberState(
            is_final=False,
            moves=(MemberMove(names=f"p{at}", value=NodeId(1), target=at + 1),),
            skips=() if is_required else (at + 1,),
        )
        for at in range(count)
    ]
    machine = MemberMachine(states=(*states, MemberState(is_final=True)))
    return Form(nodes=(machine, *LITERALS), root=NodeId(0))


@pytest.mark.parametrize("is_required", [True, False])
def test_a_hundred_members_stay_within_a_tenants_row(is_required: bool) -> None:  # noqa: FBT001
    matcher = matcher_of(write_form(chain(100, is_required=is_required)).text())
    everything = tuple((f"p{at}", "0") for at in range(100))
    assert generates(matcher, text(everything))
    assert generates(matcher, text(everything[::9])) != is_required
    assert not generates(matcher, text(everything[::-1]))


def test_thousands_of_undeclared_members_leave_nothing_to_be_closed() -> None:
    loop = MemberState(is_final=True, moves=(MemberMove(names=OTHERS, value=NodeId(3), target=0),))
    form = Form(nodes=(MemberMachine(states=(loop,)), *LITERALS), root=NodeId(0))
    assert generates(matcher_of(write_form(form).text()), text(tuple((f"x{at}", "1") for at in range(3_000))))


def test_names_are_escaped_as_strings_are() -> None:
    names = ['"', "\\", "\n", "\x00", "\x7f", "é", "😀", "<|im_end|>", ""]
    states = [
        MemberState(is_final=False, moves=(MemberMove(names=name, value=NodeId(1), target=at + 1),))
        for at, name in enumerate(names)
    ]
    form = Form(nodes=(MemberMachine(states=(*states, MemberState(is_final=True))), *LITERALS), root=NodeId(0))
    spelled = ['"\\""', '"\\\\"', '"\\n"', '"\\u0000"', '"\\u007f"', '"é"', '"😀"', '"<|im_end|>"', '""']
    matcher = matcher_of(write_form(form).text())
    assert generates(matcher, "{" + ",".join(f"{name}:0" for name in spelled) + "}")


def test_a_declared_name_and_undeclared_ones_that_begin_like_it_live_side_by_side() -> None:
    names = both(pattern_language("^x"), excluding(Among(texts=("xab",))))
    machine = MemberMachine(
        states=(
            MemberState(
                is_final=True,
                moves=(
                    MemberMove(names="xab", value=NodeId(1), target=0),
                    MemberMove(names=names, value=NodeId(2), target=0),
                ),
            ),
        )
    )
    matcher = matcher_of(write_form(Form(nodes=(machine, *LITERALS), root=NodeId(0))).text())
    for first in ("xa", "xab", "xabc"):
        for second in ("xa", "xab", "xabc"):
            members = tuple((name, "0" if name == "xab" else "1") for name in (first, second))
            assert generates(matcher, text(members)), members
            assert not generates(matcher, text((members[0], (second, "1" if second == "xab" else "0"))))


def test_constant_objects_do_not_cut_off_others_that_begin_like_them() -> None:
    strings = Strings(contents=pattern_language("^s*$"))
    constants = Literals(texts=('{"a":1,"b":[1,{"c":"s,{"}]}', '{"a":12}', "{}", '["s",[]]'))
    number = Literals(texts=("1", "13", "123"))
    free = MemberMachine(
        states=(
            MemberState(is_final=True, moves=(MemberMove(names="a", value=NodeId(4), target=1),)),
            MemberState(is_final=True, moves=(MemberMove(names="b", value=NodeId(3), target=2),)),
            MemberState(is_final=True),
        )
    )
    outer = MemberMachine(
        states=(
            MemberState(
                is_final=False,
                moves=(
                    MemberMove(names="v", value=NodeId(1), target=1),
                    MemberMove(names="v", value=NodeId(2), target=1),
                ),
            ),
            MemberState(is_final=True),
        )
    )
    form = Form(nodes=(outer, constants, free, strings, number), root=NodeId(0))
    matcher = matcher_of(write_form(form).text())
    for inner in (*constants.texts, '{"a":1}', '{"a":13,"b":"ss"}', '{"a":123}'):
        assert generates(matcher, f'{{"v":{inner}}}'), inner
    for inner in ('{"a":12,"b":"s"}', '{"a":1,"b":[1]}', '{"a":2}', "[]"):
        assert not generates(matcher, f'{{"v":{inner}}}'), inner
