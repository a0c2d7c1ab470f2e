"""Literals that a tokenizer would read as something else are generated all the same."""

import json

import numpy as np
import pytest

from compiler_pool.compiler import CompiledContract, compile_contract
from compiler_pool.tokenizer import BoundTokenizer
from inference_node.grammar import Prototype
from policy.enforcement import EnforcementPolicy
from policy.limits import TENANT
from registry.json_schema import read_json_schema


def compiled(schema: object, tokenizer: BoundTokenizer) -> CompiledContract:
    contract = read_json_schema(schema, limits=TENANT.contract, policy=EnforcementPolicy())  # type: ignore[arg-type]
    result = compile_contract(
        "json_schema", contract.text, tokenizer=tokenizer, policy=EnforcementPolicy(), limits=TENANT
    )
    assert isinstance(result, CompiledContract), result
    return result


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"const": "<|im_end|>"}, '"<|im_end|>"'),
        ({"const": "a <|im_start|> b"}, '"a <|im_start|> b"'),
        ({"const": "<repo_name>"}, '"<repo_name>"'),
        ({"type": "string", "pattern": r"^<\|im_end\|>$"}, '"<|im_end|>"'),
        ({"enum": ["<|im_end|>", "<|im_end|>b", "b<|im_start|>", "<|endoftext|>"]}, '"b<|im_start|>"'),
        (
            {
                "type": "object",
                "properties": {"<|im_start|>": {"type": "boolean"}},
                "required": ["<|im_start|>"],
                "additionalProperties": False,
            },
            '{"<|im_start|>":true}',
        ),
        ({"const": "e\u0301"}, '"e\u0301"'),
    ],
)
def test_a_literal_that_spells_a_special_token_is_generated_as_text(
    schema: object, text: str, tokenizer: BoundTokenizer
) -> None:
    result = compiled(schema, tokenizer)
    prototype = Prototype.build(tokenizer, result.grammar, TENANT.engine)
    assert prototype.matcher().accepts_text(text.encode())
    # And token by token through the masks that decoding goes through: the longest text token at each place.
    matcher, left = prototype.matcher(), text.encode()
    while left:
        row = np.zeros(-(-tokenizer.vocabulary_size // 32), dtype=np.int32)
        matcher.fill_bitmask(row)
        fits = [
            index
            for data, index in tokenizer.longest_first.items()
            if left.startswith(data) and row[index // 32] >> (index % 32) & 1
        ]
        assert fits, f"nothing continues before {left!r}"
        chosen = max(fits, key=lambda index: len(tokenizer.token_bytes[index]))
        matcher.advance([chosen])
        left = left[len(tokenizer.token_bytes[chosen]) :]
    assert matcher.is_accepting


def test_other_contracts_keep_their_forced_runs(tokenizer: BoundTokenizer) -> None:
    assert "no_forcing" not in compiled({"const": json.dumps({"a": "plain"})}, tokenizer).grammar
