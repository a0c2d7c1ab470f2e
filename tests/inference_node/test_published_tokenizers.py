"""Ends, padding and named tokens of published tokenizers, as masks and answers have them."""

import json
import os
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

from compiler_pool.tokenizer import BoundTokenizer, load_tokenizer
from inference_node.grammar import Prototype
from inference_node.matcher import GrammarMatcher
from inference_node.protocol import TokenEvent
from inference_node.text_stream import TextStream
from inference_node.token_sender import TokenSender
from policy.limits import TENANT
from tests.inference_node.worlds import Collector

_SHARED = Path(os.environ.get("SCHEMAGATE_CORPORA", Path(__file__).parents[3] / "shared" / "corpora")).parent

pytestmark = pytest.mark.corpus


@lru_cache(maxsize=2)
def published(name: str, vocab_size: int, named_end: str) -> BoundTokenizer:
    """As in a model's directory: one end in `generation_config.json`, and logits wider than the table."""
    path = _SHARED / "tokenizers" / f"{name}.json"
    if not path.is_file():
        pytest.skip(f"{path} is not here")
    document = json.loads(path.read_text())
    (end,) = (token["id"] for token in document["added_tokens"] if token["content"] == named_end)
    with TemporaryDirectory() as folder:
        (Path(folder) / "tokenizer.json").symlink_to(path)
        (Path(folder) / "config.json").write_text(json.dumps({"vocab_size": vocab_size}))
        (Path(folder) / "generation_config.json").write_text(json.dumps({"eos_token_id": [end]}))
        return load_tokenizer(Path(folder))


def qwen() -> BoundTokenizer:
    return published("qwen3", 151_936, "<|endoftext|>")


def gpt_oss() -> BoundTokenizer:
    return published("gpt-oss", 201_088, "<|return|>")


def offered(matcher: GrammarMatcher) -> set[int]:
    row = np.full(-(-matcher.prototype.tokenizer.vocabulary_size // 32), -1, dtype=np.int32)
    matcher.fill_bitmask(row)
    return set(np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist())


def spoken_of(tokenizer: BoundTokenizer, token_ids: list[int]) -> str:
    """What a reader gets of an answer without a contract."""
    sink = Collector()
    sender = TokenSender(TextStream(()), tokenizer, sink, has_logprobs=False)
    for token_id in token_ids:
        sender.add(token_id, None, is_forced=False, accepting=None)
    sender.flush(accepting=None)
    return "".join(event.text for event in sink.events if isinstance(event, TokenEvent))


@pytest.mark.parametrize("load", [qwen, gpt_oss])
def test_an_end_that_only_the_table_names_ends_as_one_that_the_model_names(load: Callable[[], BoundTokenizer]) -> None:
    tokenizer = load()
    assert len(tokenizer.end_ids) > 1
    matcher = Prototype.build(tokenizer, "start: /[0-9]{2,9}/", TENANT.engine).matcher()
    assert not offered(matcher) & set(tokenizer.end_ids)
    assert matcher.accept_tokens(tokenizer.encode_exact(b"12"))
    assert offered(matcher) >= set(tokenizer.end_ids)
    for end in tokenizer.end_ids:
        matcher.advance([end])
        assert matcher.is_terminated
        assert offered(matcher) == set()
        matcher.rollback(1)


@pytest.mark.parametrize("load", [qwen, gpt_oss])
def test_free_text_offers_neither_padding_nor_a_named_token(load: Callable[[], BoundTokenizer]) -> None:
    tokenizer = load()
    named = {index for index, data in enumerate(tokenizer.token_bytes) if data and index in tokenizer.special}
    padding = {index for index, data in enumerate(tokenizer.token_bytes) if not data}
    assert len(padding) > 200
    matcher = Prototype.build(tokenizer, "start: /(.|\\n)*/", TENANT.engine).matcher()
    allowed = offered(matcher)
    assert len(allowed) > 100_000
    assert not allowed & padding
    assert allowed & named == set(tokenizer.end_ids)


def test_a_named_token_that_is_flagged_as_no_special_one_is_seen_in_an_answer() -> None:
    tokenizer = qwen()
    ids = {data: index for index, data in enumerate(tokenizer.token_bytes) if index in tokenizer.special}
    hello = tokenizer.encode_exact(b"{}")
    answer = [
        ids[b"<think>"],
        ids[b"</think>"],
        ids[b"<tool_call>"],
        *hello,
        ids[b"</tool_call>"],
        ids[b"<|im_start|>"],
    ]
    assert spoken_of(tokenizer, answer) == "<think></think><tool_call>{}</tool_call>"


def test_special_tokens_and_ends_are_not_seen_in_an_answer() -> None:
    tokenizer = gpt_oss()
    assert tokenizer.spoken == frozenset()
    ids = {data: index for index, data in enumerate(tokenizer.token_bytes) if index in tokenizer.special}
    hello = tokenizer.encode_exact(b"hello")
    assert spoken_of(tokenizer, [ids[b"<|channel|>"], *hello, ids[b"<|message|>"], tokenizer.end_ids[0]]) == "hello"
