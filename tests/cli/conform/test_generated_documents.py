"""Whatever a grammar generates, the judge accepts: random walks through contracts, nothing chosen by a model."""

import random
from collections.abc import Iterator

import numpy as np
import pytest

from cli.conform.corpora import CorpusMissingError, suite_cases
from compiler_pool.compiler import CompiledContract, compile_contract
from compiler_pool.tokenizer import BoundTokenizer, load_tokenizer
from gateway.validation.judge import Judge
from gateway.validation.verdict import Invalid
from inference_node.grammar import Prototype
from policy.enforcement import EnforcementPolicy, Unknown
from policy.limits import UNLIMITED
from registry.errors import ContractRejectedError
from registry.json_schema import read_json_schema
from registry.parsing import parse_json
from tests.cli.conform.small_tokenizer import write_small_tokenizer

_POLICY = EnforcementPolicy(unknown_keyword=Unknown.ANNOTATION, unknown_format=Unknown.ANNOTATION)
_MAX_TOKENS = 200
_CLOSERS = b'"}],:0'


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> BoundTokenizer:
    return load_tokenizer(write_small_tokenizer(tmp_path_factory.mktemp("tokenizer")))


def generated(schema_text: str, tokenizer: BoundTokenizer, *, num_walks: int) -> Iterator[tuple[Judge, bytes]]:
    """Finished texts of seeded walks, each with the judge of its contract; none if the contract is refused."""
    try:
        schema = parse_json(schema_text, max_bytes=10_000_000, max_nesting=200)
        contract = read_json_schema(schema, limits=UNLIMITED.contract, policy=_POLICY)
    except ContractRejectedError:
        return
    compiled = compile_contract("json_schema", contract.text, tokenizer=tokenizer, policy=_POLICY, limits=UNLIMITED)
    if not isinstance(compiled, CompiledContract):
        return
    prototype = Prototype.build(tokenizer, compiled.grammar, UNLIMITED.engine)
    judge = Judge.prepare(contract.text)
    assert isinstance(judge, Judge)
    for seed in range(num_walks):
        text = _walk(prototype, tokenizer, random.Random(seed))
        if text is not None:
            yield judge, text


def _walk(prototype: Prototype, tokenizer: BoundTokenizer, choose: random.Random) -> bytes | None:
    matcher = prototype.matcher()
    row = np.zeros(-(-tokenizer.vocabulary_size // 32), dtype=np.int32)
    closers = [tokenizer.longest_first[bytes([byte])] for byte in _CLOSERS]
    text = b""
    for _ in range(_MAX_TOKENS):
        if matcher.is_accepting and choose.random() < 0.3:
            return text
        matcher.fill_bitmask(row)
        allowed = [int(token) for token in np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little"))]
        # A dead end would be a fault of the lowering's: the trial is there to find those.
        assert allowed or matcher.is_accepting, text
        # Without a nudge towards endings a walk never leaves its first string.
        closing = [token for token in closers if token in allowed]
        token = choose.choice(closing) if closing and choose.random() < 0.5 else choose.choice(allowed)
        if token in tokenizer.end_ids:
            return text
        assert matcher.accept_tokens([token])
        text += tokenizer.token_bytes[token]
    return None


def _assert_all_valid(schemas: list[tuple[str, str]], tokenizer: BoundTokenizer, *, num_walks: int) -> int:
    num_texts = 0
    for name, schema_text in schemas:
        for judge, text in generated(schema_text, tokenizer, num_walks=num_walks):
            num_texts += 1
            verdict = judge.judge(text)
            # That an undeclared name occurs once is beyond a grammar; the judge is there to see it.
            is_wrong = isinstance(verdict, Invalid) and verdict.keyword != "duplicate_name"
            assert not is_wrong, f"{name}: {text!r}: {verdict}"
    return num_texts


@pytest.mark.parametrize(
    "schema",
    [
        '{"type": "integer", "minimum": -7, "exclusiveMaximum": 12345, "multipleOf": 3}',
        '{"type": "number", "exclusiveMinimum": 0, "maximum": 0.25}',
        '{"type": "number", "minimum": -1.5, "multipleOf": 0.25}',
        '{"type": "string", "minLength": 2, "maxLength": 3}',
        '{"type": "string", "pattern": "^[a-c]+|[0-9]$"}',
        '{"type": "string", "pattern": "\\\\d\\\\w\\\\s", "maxLength": 6}',
        '{"type": "string", "format": "date"}',
        '{"type": "string", "format": "email"}',
        '{"type": "string", "format": "uri", "maxLength": 12}',
        '{"const": {"b": [1.5, "\\u00e9\\n"], "a": 9007199254740993}}',
        '{"enum": ["a", 1, null, [true], {"x": 0.1}]}',
        '{"properties": {"a": {"type": "boolean"}, "b": {"type": "null"}}, "required": ["b"], "minProperties": 1}',
        '{"type": "object", "patternProperties": {"^a": {"type": "null"}}, "additionalProperties": {"const": 1}}',
        '{"type": "array", "prefixItems": [{"type": "integer"}], "items": {"type": "string"}, "minItems": 2}',
        '{"oneOf": [{"type": "integer"}, {"type": "string"}]}',
        '{"allOf": [{"minLength": 2}, {"maxLength": 2}], "anyOf": [{"pattern": "^a"}, {"pattern": "b$"}]}',
        '{"$ref": "#/$defs/t", "$defs": {"t": {"type": "array", "items": {"$ref": "#/$defs/t"}, "maxItems": 2}}}',
    ],
)
def test_a_walk_through_a_contract_ends_in_a_valid_document(schema: str, tokenizer: BoundTokenizer) -> None:
    _assert_all_valid([(schema, schema)], tokenizer, num_walks=40)


@pytest.mark.corpus
def test_walks_through_the_official_suite_end_in_valid_documents(tokenizer: BoundTokenizer) -> None:
    try:
        cases = [(case.id, case.schema_text()) for case in suite_cases()]
    except CorpusMissingError as error:
        pytest.skip(str(error))
    assert _assert_all_valid(cases, tokenizer, num_walks=4) > 500
