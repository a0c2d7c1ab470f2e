"""What random schemas brought to light, each as small as it gets."""

import pytest

from compiler_pool.tokenizer import BoundTokenizer
from registry.contract import JsonValue
from registry.parsing import parse_json
from tests.differential.examination import Examiner
from tests.differential.run import tokenizer_at


@pytest.fixture(scope="module")
def tokenizer() -> BoundTokenizer:
    return tokenizer_at(None)


def _parsed(text: str) -> JsonValue:
    return parse_json(text, max_bytes=1 << 20, max_nesting=64)


@pytest.mark.parametrize(
    ("schema", "values"),
    [
        pytest.param(
            '{"type":"object","patternProperties":{"^a.*b$":true,"\\\\s":true,"\\\\p{L}":true}}',
            ['{"a b":1}', "{}", "[]"],
            id="patterns of names that nothing is said of make no kinds of names",
        ),
    ],
)
def test_grammar_form_algebra_and_validator_agree(schema: str, values: list[str], tokenizer: BoundTokenizer) -> None:
    examiner = Examiner(tokenizer, num_walks=12)
    examined = examiner.examine(_parsed(schema), [_parsed(value) for value in values], seed=0)
    assert examined.findings == []
    assert examined.counts["form accepted"] == 1
