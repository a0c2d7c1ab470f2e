"""Two files compared on this machine, in a process of its own that can be killed, by the code that a gateway runs."""

from typing import Final

from cli.contract.definition_file import Definition
from cli.contract.rejections import rejected
from cli.contract.terms import Terms
from cli.remote.exits import CommandError, Exit
from cli.remote.members import Members
from policy.limits import GOVERNED
from registry.contract import CanonicalContract
from registry.contract_references import SCHEME
from registry.errors import ContractRejectedError
from registry.parsing import parse_json
from registry.reading import read_contract
from registry.text import canonical_json

_MAX_ANSWER_BYTES: Final = 64 * 1024 * 1024
_MAX_ANSWER_NESTING: Final = 64


def refers_to_others(definition: Definition) -> bool:
    """Whether the text may refer to registered contracts, which only a registry can look up."""
    return f'"{SCHEME}' in canonical_json(definition.value)


def compare_here(old: Definition, new: Definition, terms: Terms) -> Members:
    """What the gateway's `/v1/contracts/diff` would answer. Raises `CommandError`."""
    before, after = read_here(old, terms), read_here(new, terms)
    # Heavy, and only needed here: the command line starts without it.
    from compiler_pool.errors import WorkerStartError
    from gateway.compatibility.service import compare_once
    from gateway.contract_members import diff_answer

    try:
        comparison = compare_once((before.kind.value, before.text), (after.kind.value, after.text))
    except WorkerStartError as error:
        message = f"the comparing process could not be started: {error}"
        raise CommandError(message, exit_code=Exit.TRY_AGAIN, code="comparison_failed") from error
    value = parse_json(
        diff_answer(comparison).model_dump_json(by_alias=True),
        max_bytes=_MAX_ANSWER_BYTES,
        max_nesting=_MAX_ANSWER_NESTING,
    )
    assert isinstance(value, dict), "an answer is an object"
    return Members(value)


def read_here(definition: Definition, terms: Terms) -> CanonicalContract:
    """The contract in a file, under the larger limits: nothing is registered by comparing. Raises `CommandError`."""
    said = terms.for_kind(definition.kind)
    try:
        return read_contract(
            definition.kind, definition.value, limits=GOVERNED.contract, policy=said.policy, dialect=said.dialect
        )
    except ContractRejectedError as error:
        raise rejected(error, place=str(definition.path)) from error
