from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from compiler_pool.artifact import Artifact
from compiler_pool.frame import KeyRing, seal
from compiler_pool.tokenizer import BoundTokenizer
from inference_node.artifact_store import ArtifactStore
from inference_node.errors import RefusedRequestError
from inference_node.matcher import GrammarMatcher
from inference_node.metrics import NodeMetrics
from tests.inference_node.poison import BUDGET, GRAMMAR, LETTERS
from tests.inference_node.worlds import new_artifact

RING = KeyRing.from_text("test:" + "5e" * 32)


def new_store(
    tokenizer: BoundTokenizer, *, max_artifacts: int = 8, max_prototypes: int = 16, per_artifact: int = 2
) -> tuple[ArtifactStore, NodeMetrics]:
    metrics = NodeMetrics()
    store = ArtifactStore(
        tokenizer,
        RING,
        max_artifacts=max_artifacts,
        max_prototypes=max_prototypes,
        prototypes_per_artifact=per_artifact,
        metrics=metrics,
    )
    return store, metrics


def stored(store: ArtifactStore, tokenizer: BoundTokenizer, **changes: Any) -> Artifact:
    artifact = replace(new_artifact(tokenizer.digest, GRAMMAR, **changes), engine_budget=BUDGET)
    store.put(artifact.key, seal(artifact, RING))
    return artifact


def break_lexer_of(matcher: GrammarMatcher) -> None:
    tokenizer = matcher.prototype.tokenizer
    assert matcher.accept_tokens(tokenizer.encode_exact(b"t"))
    row = np.zeros(-(-tokenizer.vocabulary_size // 32), dtype=np.int32)
    for token_id in tokenizer.encode_exact(LETTERS):
        matcher.fill_bitmask(row)
        if matcher.is_broken:
            return
        matcher.advance([token_id])
    raise AssertionError("the lexer did not break")


def test_the_same_contract_of_two_tenants_shares_no_lexer(tokenizer: BoundTokenizer) -> None:
    store, _ = new_store(tokenizer, per_artifact=1)
    mine = stored(store, tokenizer, tenant_partition="a" * 64)
    theirs = stored(store, tokenizer, tenant_partition="b" * 64)
    assert mine.grammar == theirs.grammar
    first, second = store.matcher(mine.key), store.matcher(theirs.key)
    assert first.prototype is not second.prototype
    break_lexer_of(first)
    assert not first.prototype.is_sound()
    assert second.prototype.is_sound()


def test_a_governed_contract_has_one_shelf_for_all_and_the_next_caller_gets_a_sound_lexer(
    tokenizer: BoundTokenizer,
) -> None:
    store, _ = new_store(tokenizer, per_artifact=1)
    shared = stored(store, tokenizer, tenant_partition="governed")
    first, second = store.matcher(shared.key), store.matcher(shared.key)
    assert first.prototype is second.prototype
    break_lexer_of(first)
    assert store.matcher(shared.key).prototype.is_sound()


def test_a_frame_under_another_partitions_key_is_refused(tokenizer: BoundTokenizer) -> None:
    store, _ = new_store(tokenizer)
    mine = stored(store, tokenizer, tenant_partition="a" * 64)
    theirs = new_artifact(tokenizer.digest, GRAMMAR, tenant_partition="b" * 64)
    with pytest.raises(RefusedRequestError) as caught:
        store.put(theirs.key, seal(mine, RING))
    assert caught.value.fault.code == "artifact_key_mismatch"


def test_over_the_nodes_limit_the_oldest_artifacts_lose_their_spares_and_then_themselves(
    tokenizer: BoundTokenizer,
) -> None:
    store, metrics = new_store(tokenizer, max_prototypes=3)
    first = stored(store, tokenizer, tenant_partition="1")
    in_use = [store.matcher(first.key) for _ in range(2)]
    second = stored(store, tokenizer, tenant_partition="2")
    assert metrics.registry.get_sample_value("schemagate_node_prototypes") == 3
    third = stored(store, tokenizer, tenant_partition="3")
    store.matcher(first.key)
    fourth = stored(store, tokenizer, tenant_partition="4")
    for artifact in (first, third, fourth):
        assert store.matcher(artifact.key).is_standing
    with pytest.raises(RefusedRequestError) as caught:
        store.matcher(second.key)
    assert caught.value.fault.code == "artifact_required"
    for matcher in in_use:
        assert matcher.accept_tokens(tokenizer.encode_exact(b"a"))


def test_more_artifacts_than_the_node_keeps_push_out_the_oldest(tokenizer: BoundTokenizer) -> None:
    store, metrics = new_store(tokenizer, max_artifacts=2)
    first, second, third = (stored(store, tokenizer, tenant_partition=name) for name in "123")
    assert metrics.registry.get_sample_value("schemagate_node_artifacts") == 2
    with pytest.raises(RefusedRequestError):
        store.matcher(first.key)
    assert store.matcher(second.key).is_standing
    assert store.matcher(third.key).is_standing
