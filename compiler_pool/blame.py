"""Which subschema the engine refuses: found by lowering and compiling subschemas on their own, from the root down."""

from collections.abc import Callable, Iterator

from compiler_pool.lowering.lower import lower
from compiler_pool.lowering.outcome import Lowered, subschemas
from compiler_pool.trial import CompileFailed
from policy.enforcement import EnforcementPolicy
from policy.limits import ContractLimits
from registry.contract import JsonValue
from registry.pointers import join, tokens_of

MAX_ATTEMPTS = 64
"""Compiles spent on finding the place; past it the best place so far is named."""

Attempt = Callable[[str], CompileFailed | None]


def blame(
    schema: dict[str, JsonValue],
    failure: CompileFailed,
    *,
    attempt: Attempt,
    limits: ContractLimits,
    policy: EnforcementPolicy,
) -> str:
    """The canonical pointer of the smallest subschema that fails as the whole does, on the path from the root."""
    definitions = schema.get("$defs")
    known = definitions if isinstance(definitions, dict) else {}
    pointer, node = "", {key: value for key, value in schema.items() if key != "$defs"}
    seen = {pointer}
    num_left = MAX_ATTEMPTS
    while True:
        for below, child in _children(pointer, node, known):
            if below in seen or num_left == 0:
                continue
            seen.add(below)
            num_left -= 1
            lowered = lower(child | {"$defs": known}, limits=limits, policy=policy)
            found = attempt(lowered.grammar) if isinstance(lowered, Lowered) else None
            if found is not None and found.is_unsatisfiable == failure.is_unsatisfiable:
                pointer, node = below, child
                break
        else:
            return pointer


def _children(
    pointer: str, node: dict[str, JsonValue], definitions: dict[str, JsonValue]
) -> Iterator[tuple[str, dict[str, JsonValue]]]:
    reference = node.get("$ref")
    if isinstance(reference, str):
        name = tokens_of(reference.removeprefix("#"))[-1]
        target = definitions.get(name)
        if isinstance(target, dict):
            yield join("", "$defs", name), target
    for keyword, value in node.items():
        yield from subschemas(join(pointer, keyword), keyword, value)
