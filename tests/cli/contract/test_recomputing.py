"""Reading fetched revisions again, where whoever answers lies about what they refer to."""

from typing import Any

import pytest

from cli.contract.recomputing import MAX_REFERENCED, recompute_with
from cli.remote.exits import CommandError, Exit
from cli.remote.members import Members
from policy.enforcement import EnforcementPolicy
from policy.limits import GOVERNED
from registry.contract import ContractKind
from registry.naming import ByNumber, Reference
from registry.reading import read_contract

POLICY = {"allow_checked_after": False, "unknown_keyword": "reject", "unknown_format": "reject"}
DIGEST = "sha256:" + "a" * 64


def answer(
    number: int, source: Any, pins: list[dict[str, Any]], digests: tuple[str, str] = (DIGEST, DIGEST)
) -> Members:
    """What a gateway says of `a@number`."""
    revision: dict[str, Any] = {
        "id": f"rev_{number}",
        "number": number,
        "schema_id": number,
        "kind": "json_schema",
        "digest": digests[0],
        "annotation_digest": digests[1],
        "source_digest": "",
        "dialect": None,
        "policy": POLICY,
        "dependencies": pins,
        "author": "ada",
        "message": "",
        "created_at": "2026-01-01T00:00:00Z",
    }
    return Members({"contract": {"owner": "acme", "name": "a"}, "revision": revision, "source": source})


def pin(number: int, digest: str = DIGEST) -> dict[str, Any]:
    return {"uri": f"schemagate:a@{number}", "digest": digest, "revision_id": f"rev_{number}"}


def test_revisions_that_refer_to_each_other_are_refused() -> None:
    def lookup(reference: Reference) -> Members:
        assert isinstance(reference, ByNumber)
        return answer(reference.number, True, [pin(3 - reference.number)])

    with pytest.raises(CommandError, match="refers to itself") as caught:
        recompute_with(lookup, answer(1, True, [pin(2)]))
    assert caught.value.exit_code is Exit.NO


def test_a_chain_without_end_is_given_up() -> None:
    def lookup(reference: Reference) -> Members:
        assert isinstance(reference, ByNumber)
        return answer(reference.number, True, [pin(reference.number + 1)])

    with pytest.raises(CommandError, match=str(MAX_REFERENCED)):
        recompute_with(lookup, answer(1, True, [pin(2)]))


def test_what_is_referred_to_has_to_have_the_digest_that_it_is_pinned_by() -> None:
    read = read_contract(ContractKind.JSON_SCHEMA, True, limits=GOVERNED.contract, policy=EnforcementPolicy())
    honest = answer(2, True, [], (read.digest, read.annotation_digest))
    with pytest.raises(CommandError, match="is pinned to"):
        recompute_with(lambda _: honest, answer(1, {"$ref": "schemagate:a@2"}, [pin(2)]))


@pytest.mark.parametrize(
    "lie",
    [{"created_at": "yesterday"}, {"policy": POLICY | {"unknown_format": "perhaps"}}, {"kind": "poem"}, {"id": 7}],
)
def test_members_that_are_none_are_said(lie: dict[str, Any]) -> None:
    read = read_contract(ContractKind.JSON_SCHEMA, True, limits=GOVERNED.contract, policy=EnforcementPolicy())
    honest = answer(1, True, [], (read.digest, read.annotation_digest))

    def nobody(reference: Reference) -> Members:
        raise AssertionError(reference)

    assert recompute_with(nobody, honest).revision.digest == read.digest
    forged = Members(honest.value | {"revision": honest.member("revision").value | lie})
    with pytest.raises(CommandError) as caught:
        recompute_with(nobody, forged)
    assert caught.value.code == "unexpected_answer"
