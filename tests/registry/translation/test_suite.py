"""The official suite's older drafts through translation: every verdict on an accepted schema is the suite's."""

from collections import Counter

import pytest

from registry.translation import translator
from tests.registry.translation.suite import SUITE, judged

pytestmark = [
    pytest.mark.corpus,
    pytest.mark.skipif(not SUITE.is_dir(), reason=f"the official suite is not at {SUITE} (SCHEMAGATE_CORPORA)"),
]

# Allowing nothing, a number beyond any double, and meta-schemas of the suite's own that drop a vocabulary.
_REQUIRED = {
    "draft4": (158, {"unsatisfiable": 1, "limit_exceeded": 1}),
    "draft6": (223, {"unsatisfiable": 8, "limit_exceeded": 1}),
    "draft7": (248, {"unsatisfiable": 8, "limit_exceeded": 1}),
    "draft2019-09": (360, {"unsatisfiable": 9, "limit_exceeded": 1, "unsupported_dialect": 2}),
}
_OPTIONAL = {
    "draft4": (31, {}),
    "draft6": (34, {}),
    "draft7": (35, {}),
    # `dependencies` in 2019-09, and references into unknown keywords: both are left to implementations.
    "draft2019-09": (36, {"foreign_dialect_keyword": 7, "unresolved_reference": 5}),
}
_FORMATS = {"draft4": 7, "draft6": 10, "draft7": 26, "draft2019-09": 28}

# Optional behaviour that is not offered, and is said not to be.
_DECLARED = {
    "draft4": ("optional/zeroTerminatedFloats", 1),  # the contract's transformations say that 1.0 is an integer
    "draft7": ("optional/content", 4),  # content keywords are annotations
}


@pytest.mark.parametrize("draft", _REQUIRED)
def test_every_required_verdict_is_the_suites(draft: str) -> None:
    found = judged(draft)
    assert found.wrong == []
    assert found.unjudged == []
    assert (len(found.exact), dict(Counter(code for code, _ in found.refused.values()))) == _REQUIRED[draft]


@pytest.mark.parametrize("draft", _OPTIONAL)
def test_every_optional_verdict_is_the_suites_but_for_what_is_declared(draft: str) -> None:
    found = judged(draft, "optional/*.json")
    name, num_declared = _DECLARED.get(draft, ("", 0))
    assert len(found.wrong) == num_declared
    assert all(line.startswith(name) for line in found.wrong)
    assert found.unjudged == []
    assert (len(found.exact), dict(Counter(code for code, _ in found.refused.values()))) == _OPTIONAL[draft]


@pytest.mark.parametrize("draft", _FORMATS)
def test_every_format_verdict_is_the_suites(draft: str) -> None:
    found = judged(draft, "optional/format/*.json")
    assert (found.wrong, found.unjudged, found.refused) == ([], [], {})
    assert len(found.exact) == _FORMATS[draft]


@pytest.mark.parametrize("rule", [rule.__name__ for rule in translator._RULES if rule.__name__.startswith("translate")])
def test_without_any_one_rule_the_suite_would_notice(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = tuple(kept for kept in translator._RULES if kept.__name__ != rule)
    monkeypatch.setattr(translator, "_RULES", rules)
    shrunk = [draft for draft in _REQUIRED if len(judged(draft).exact) < _REQUIRED[draft][0]]
    assert shrunk or rule == "translate_contains"  # for which the suite has no test; `test_counterparts` has
