"""Contracts that would hold a compiler up: each gets a verdict within its budget."""

import time
from contextlib import suppress
from typing import Any

import pytest

from compiler_pool.kinds.kind_grammar import kind_grammar
from policy.enforcement import EnforcementPolicy
from policy.limits import TENANT
from registry.contract import ContractKind
from registry.errors import ContractRejectedError
from registry.reading import read_contract


def _tag(content: Any) -> Any:
    return {"type": "tag", "begin": "<", "content": content, "end": ">"}


def _nested(depth: int) -> Any:
    tree: Any = {"type": "any_text"}
    for _ in range(depth):
        tree = _tag(tree)
    return {"type": "structural_tag", "format": tree}


HOSTILE: list[tuple[str, Any]] = [
    ("regex", "(" * 60_000 + ")" * 60_000),
    ("regex", "(?:(?:a{1,30}){1,30}){1,30}"),
    ("regex", "(?:a|aa|aaa|b*)*" * 12),
    ("regex", r"(?:\p{L}|\p{N}|\p{P}){1,200}x"),
    ("choice", [f"{'a' * 25}{number}" for number in range(1_000)]),
    ("gbnf", "root ::= " + "(" * 60_000),
    ("gbnf", 'root ::= r0 "z"\n' + "\n".join(f"r{n} ::= r{n + 1} r{n + 1}" for n in range(25)) + "\nr25 ::= [a-z]"),
    ("gbnf", "root ::= root root root | root | [ab]"),
    ("gbnf", 'root ::= "" | root root | "a" root "b"'),
    ("gbnf", "root ::= " + " | ".join(f'"{n}" ([a-z]{{1,9}} root)*' for n in range(120)) + ' | "x"'),
    ("gbnf", "root ::= " + " ".join("([ab] root)?" for _ in range(60)) + ' "x"'),
    ("gbnf", 'root ::= ((([a-c]* [b-d]*)* [c-e]*)* root)? "x"'),
    ("lark", "start: a\n" + "\n".join(f"a{n}: a{n + 1} a{n + 1}" for n in range(25)) + '\na25: "x"\na: a0\n'),
    ("lark", 'start: s\ns: s s | s s s | "a" | "b"? \n'),
    ("structural_tag", _nested(14)),
    (
        "structural_tag",
        {
            "type": "structural_tag",
            "structures": [{"begin": f"<{n}>", "schema": {"type": "integer"}, "end": f"</{n}>"} for n in range(200)],
            "triggers": ["<"],
        },
    ),
    (
        "structural_tag",
        {
            "type": "structural_tag",
            "format": {"type": "repeat", "min": 0, "max": 100, "content": _tag({"type": "any_text"})},
        },
    ),
    ("tool_set", [{"type": "function", "name": f"f{n}", "parameters": {"type": "object"}} for n in range(128)]),
]


@pytest.mark.parametrize(
    ("kind", "value"), HOSTILE, ids=[f"{kind}-{number}" for number, (kind, _) in enumerate(HOSTILE)]
)
def test_a_hostile_contract_gets_a_verdict_in_bounded_time(kind: str, value: Any) -> None:
    started = time.thread_time()
    with suppress(ContractRejectedError):
        contract = read_contract(ContractKind(kind), value, limits=TENANT.contract, policy=EnforcementPolicy())
        kind_grammar(ContractKind(kind), contract.text, limits=TENANT, policy=EnforcementPolicy())
    # The bound is the budget's, with room for a slow machine: what is unbounded takes minutes or all memory.
    assert time.thread_time() - started < 20 * TENANT.compile.cpu_seconds
