"""Some hundred random schemas, always the same: grammar, form, algebra, validator and report agree on each."""

from collections import Counter

import pytest

from compiler_pool.tokenizer import BoundTokenizer
from registry.text import canonical_json
from tests.differential.examination import Examiner
from tests.differential.run import case, examined, tokenizer_at

_SEED = 20
_BATCH = 30


@pytest.fixture(scope="module")
def tokenizer() -> BoundTokenizer:
    return tokenizer_at(None)


@pytest.mark.parametrize("first", range(0, 300, _BATCH))
def test_whatever_is_generable_is_valid_and_the_other_way_round(first: int, tokenizer: BoundTokenizer) -> None:
    examiner = Examiner(tokenizer, num_walks=3)
    counts: Counter[str] = Counter()
    for number in range(first, first + _BATCH):
        one = case(_SEED, number)
        result = examined(examiner, one)
        assert result.findings == [], f"schema {number}: {canonical_json(one.schema)}"
        counts.update(result.counts)
    assert counts["form accepted"] > _BATCH // 3
    assert counts["product accepted"] > _BATCH // 3
    assert counts["valid values"] > _BATCH
    assert counts["walks valid"] > _BATCH
