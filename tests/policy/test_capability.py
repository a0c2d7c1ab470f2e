import pytest

from policy.capability import LLGUIDANCE_1_9_1, Capability, CapabilityMatrix, KeywordUse, Plan, negotiate
from policy.enforcement import EnforcementPolicy, KeywordStatus
from registry.keywords import ANNOTATIONS, APPLICATORS, ASSERTIONS, CORE, SHAPES

_MATRIX = CapabilityMatrix(
    engine="engine",
    engine_version="1",
    rows={
        "type": Capability.ENFORCED, "pattern": Capability.DECIDED_BY_LOWERING, "uniqueItems": Capability.CHECKABLE,
        "title": Capability.ANNOTATION, "$ref": Capability.RESOLVED,
    },
)  # fmt: skip


def use(keyword: str) -> KeywordUse:
    return KeywordUse(pointer=f"/items/{keyword}", keyword=keyword)


def statuses(plan: object) -> dict[str, str]:
    assert isinstance(plan, Plan)
    return {entry.pointer: entry.status.value for entry in plan.decided}


def test_the_matrix_has_a_row_for_every_keyword_and_for_nothing_else() -> None:
    assert set(LLGUIDANCE_1_9_1.rows) == set(SHAPES)


@pytest.mark.parametrize("keyword", sorted(ANNOTATIONS))
def test_annotations_are_annotations_to_every_engine(keyword: str) -> None:
    assert LLGUIDANCE_1_9_1.rows[keyword] is Capability.ANNOTATION


@pytest.mark.parametrize("keyword", sorted(ASSERTIONS | APPLICATORS))
def test_no_keyword_that_restricts_is_an_annotation(keyword: str) -> None:
    assert LLGUIDANCE_1_9_1.rows[keyword] not in {Capability.ANNOTATION, Capability.RESOLVED}


@pytest.mark.parametrize("keyword", sorted(CORE))
def test_names_and_references_are_resolved_before_the_engine(keyword: str) -> None:
    assert LLGUIDANCE_1_9_1.rows[keyword] is Capability.RESOLVED


def test_what_is_certain_is_decided_and_the_rest_waits_for_the_lowering() -> None:
    plan = negotiate(map(use, ["type", "pattern", "title", "$ref"]), _MATRIX, EnforcementPolicy())
    assert statuses(plan) == {"/items/type": "enforced", "/items/title": "annotation", "/items/$ref": "enforced"}
    assert isinstance(plan, Plan)
    assert plan.undecided == (use("pattern"),)


def test_what_only_the_validator_can_judge_is_refused_unless_the_policy_allows_it() -> None:
    refused = negotiate([use("type"), use("uniqueItems")], _MATRIX, EnforcementPolicy())
    assert isinstance(refused, tuple)
    assert [(r.code, r.pointer, r.keyword) for r in refused] == [
        ("unsupported_keyword", "/items/uniqueItems", "uniqueItems")
    ]
    allowed = negotiate([use("uniqueItems")], _MATRIX, EnforcementPolicy(allow_checked_after=True))
    assert statuses(allowed) == {"/items/uniqueItems": KeywordStatus.CHECKED_AFTER.value}


def test_a_keyword_without_a_row_is_refused_under_every_policy() -> None:
    for policy in (EnforcementPolicy(), EnforcementPolicy(allow_checked_after=True)):
        refused = negotiate([use("frobnicate")], _MATRIX, policy)
        assert isinstance(refused, tuple)
        assert refused[0].code == "unsupported_keyword"


def test_every_refusal_is_told() -> None:
    refused = negotiate(map(use, ["uniqueItems", "frobnicate"]), _MATRIX, EnforcementPolicy())
    assert isinstance(refused, tuple)
    assert len(refused) == 2
