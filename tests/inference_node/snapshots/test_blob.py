import json
from hashlib import sha256

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler_pool.frame import KeyRing
from inference_node.errors import RefusedRequestError
from inference_node.protocol import GenerateRequest, ReasoningSpan, Sampling, TokenLogprob, TopLogprob
from inference_node.snapshots.blob import Snapshot, described, opened, sealed
from inference_node.snapshots.protocol import SavedLogprob, SavedModel, SavedRequest, SnapshotHeader
from inference_node.snapshots.restored_state import SavedCounters
from tests.inference_node.snapshots.saving_worlds import ASKED, MODEL

RING = KeyRing.from_text("new:" + "5e" * 32 + ",old:" + "17" * 32)
OLD_RING = KeyRing.from_text("old:" + "17" * 32)
LIMIT = 1 << 20

COUNTS = st.integers(0, 2**40)
TOKENS = st.lists(st.integers(0, 2**31 - 1), max_size=8)
DIGESTS = st.binary(min_size=2, max_size=8).map(lambda data: "sha256:" + sha256(data).hexdigest())
LOGPROBS = st.builds(
    TokenLogprob,
    text=st.text(max_size=4),
    token_bytes=st.lists(st.integers(0, 255), max_size=4),
    logprob=st.floats(-1e6, 0),
    top=st.lists(
        st.builds(TopLogprob, text=st.text(max_size=4), token_bytes=st.just([1]), logprob=st.floats(-1e6, 0)),
        max_size=2,
    ),
)
REQUESTS = st.builds(
    SavedRequest,
    request_id=st.text(max_size=8),
    artifact_key=st.none() | st.text(max_size=8),
    sampling=st.builds(
        Sampling,
        temperature=st.floats(0, 2),
        top_p=st.floats(0, 1, exclude_min=True),
        top_k=st.integers(0, 2**31 - 1),
        seed=st.integers(0, 2**63 - 1),
        repetition_damping=st.floats(0, 10),
    ),
    max_tokens=st.none() | st.integers(1, 2**30),
    stop=st.lists(st.text(max_size=4), max_size=4),
    top_logprobs=st.none() | st.integers(0, 20),
    partition=st.text(max_size=8),
    adapter=st.none() | st.text(max_size=8),
    reasoning=st.none() | st.builds(ReasoningSpan, budget_tokens=st.none() | st.integers(0, 100)),
    drafts=st.booleans(),
)
MODELS = st.builds(
    SavedModel,
    name=st.text(max_size=8),
    model_digest=DIGESTS,
    dtype=st.sampled_from(["float32", "bfloat16"]),
    tokenizer_digest=DIGESTS,
    chat_template_digest=DIGESTS,
    engine_version=st.text(max_size=8),
    device=st.sampled_from(["cpu", "cuda"]),
)


@st.composite
def keys_and_values(draw: st.DrawFn) -> torch.Tensor:
    """Any bits at all, not-a-numbers among them."""
    shape = (draw(st.integers(1, 3)), draw(st.integers(0, 5)), draw(st.integers(1, 6)))
    dtype = draw(st.sampled_from([torch.float32, torch.bfloat16, torch.float16]))
    num_bytes = shape[0] * shape[1] * shape[2] * dtype.itemsize
    if not num_bytes:
        return torch.empty(shape, dtype=dtype)
    data = draw(st.binary(min_size=num_bytes, max_size=num_bytes))
    return torch.frombuffer(bytearray(data), dtype=dtype).view(shape)


@st.composite
def snapshots(draw: st.DrawFn) -> Snapshot:
    tensor = draw(keys_and_values())
    header = SnapshotHeader(
        model=draw(MODELS),
        request=draw(REQUESTS),
        prompt_ids=draw(TOKENS),
        answer_ids=draw(TOKENS),
        forced_places=draw(st.lists(COUNTS, max_size=4)),
        asks_forced=draw(st.booleans()),
        owed_forced_ids=draw(TOKENS),
        num_sent_tokens=draw(COUNTS),
        num_sent_characters=draw(COUNTS),
        unsent_logprobs=draw(st.lists(st.builds(SavedLogprob, begins_at=COUNTS, logprob=LOGPROBS), max_size=2)),
        counters=draw(st.builds(SavedCounters, num_steps=COUNTS, drafted_tokens=COUNTS, num_preemptions=COUNTS)),
        keys_values=described(tensor),
    )
    return Snapshot(header=header, keys_values=tensor)


def a_snapshot(*, num_tokens: int = 3, prompt_ids: list[int] | None = None) -> Snapshot:
    tensor = torch.arange(2 * num_tokens * 4, dtype=torch.bfloat16).view(2, num_tokens, 4)
    header = SnapshotHeader(
        model=MODEL.model_copy(update={"dtype": "bfloat16"}),
        request=ASKED,
        prompt_ids=[1, 2, 3] if prompt_ids is None else prompt_ids,
        answer_ids=[4],
        forced_places=[],
        asks_forced=False,
        owed_forced_ids=[],
        num_sent_tokens=1,
        num_sent_characters=1,
        unsent_logprobs=[],
        counters=SavedCounters(),
        keys_values=described(tensor),
    )
    return Snapshot(header=header, keys_values=tensor)


def refusal(data: bytes, *, ring: KeyRing = RING, max_bytes: int = LIMIT) -> str:
    with pytest.raises(RefusedRequestError) as caught:
        opened(data, ring, max_bytes=max_bytes)
    return caught.value.fault.code


@settings(max_examples=60, deadline=None)
@given(snapshot=snapshots())
def test_what_was_sealed_opens_as_it_was_bit_by_bit(snapshot: Snapshot) -> None:
    again = opened(sealed(snapshot, RING, max_bytes=LIMIT), RING, max_bytes=LIMIT)
    assert again.header == snapshot.header
    if snapshot.keys_values.numel():
        assert again.keys_values.dtype == snapshot.keys_values.dtype
        assert torch.equal(again.keys_values.view(torch.uint8), snapshot.keys_values.view(torch.uint8))
    else:
        assert again.keys_values.shape[1] == 0


@settings(max_examples=20, deadline=None)
@given(snapshot=snapshots())
def test_equal_snapshots_have_equal_bytes(snapshot: Snapshot) -> None:
    assert sealed(snapshot, RING, max_bytes=LIMIT) == sealed(snapshot, RING, max_bytes=LIMIT)


def test_every_changed_byte_is_noticed() -> None:
    data = sealed(a_snapshot(), RING, max_bytes=LIMIT)
    for place in range(len(data)):
        for flip in (0x01, 0x80, 0xFF):
            damaged = bytearray(data)
            damaged[place] ^= flip
            assert refusal(bytes(damaged)) in {"snapshot_damaged", "snapshot_version"}
            assert (refusal(bytes(damaged)) == "snapshot_version") == (place == 4)


@settings(max_examples=60, deadline=None)
@given(snapshot=snapshots(), place=st.integers(0, 2**20), flip=st.integers(1, 255))
def test_a_changed_byte_is_noticed_in_any_snapshot(snapshot: Snapshot, place: int, flip: int) -> None:
    damaged = bytearray(sealed(snapshot, RING, max_bytes=LIMIT))
    damaged[place % len(damaged)] ^= flip
    assert refusal(bytes(damaged)) in {"snapshot_damaged", "snapshot_version"}


def test_what_is_cut_short_or_too_long_is_noticed() -> None:
    data = sealed(a_snapshot(), RING, max_bytes=LIMIT)
    for length in range(len(data)):
        assert refusal(data[:length]) == "snapshot_damaged"
    assert refusal(data + b"\x00") == "snapshot_damaged"
    assert refusal(data + data) == "snapshot_damaged"


@settings(max_examples=100, deadline=None)
@given(data=st.binary(max_size=300), start=st.sampled_from([b"", b"SGSS", b"SGSS\x01\x03new", b"SGAF\x02\x03new"]))
def test_bytes_that_nobody_signed_are_no_snapshot(data: bytes, start: bytes) -> None:
    assert refusal(start + data) in {"snapshot_damaged", "snapshot_version"}


def test_lengths_that_claim_more_than_there_is_take_no_memory() -> None:
    data = sealed(a_snapshot(), RING, max_bytes=LIMIT)
    at = 6 + len(b"new")
    claimed = data[:at] + b"\xff" * 12 + data[at + 12 :]
    assert refusal(claimed) == "snapshot_damaged"


def test_another_version_is_told_by_its_number() -> None:
    data = bytearray(sealed(a_snapshot(), RING, max_bytes=LIMIT))
    data[4] = 9
    with pytest.raises(RefusedRequestError) as caught:
        opened(bytes(data), RING, max_bytes=LIMIT)
    assert (caught.value.fault.code, caught.value.fault.observed, caught.value.fault.limit) == (
        "snapshot_version",
        9,
        1,
    )


def test_a_key_that_no_longer_signs_still_opens_and_a_foreign_one_never_did() -> None:
    by_old = sealed(a_snapshot(), OLD_RING, max_bytes=LIMIT)
    assert opened(by_old, RING, max_bytes=LIMIT).header == a_snapshot().header
    assert refusal(sealed(a_snapshot(), RING, max_bytes=LIMIT), ring=OLD_RING) == "snapshot_damaged"
    impostor = KeyRing.from_text("new:" + "00" * 32)
    assert refusal(sealed(a_snapshot(), impostor, max_bytes=LIMIT)) == "snapshot_damaged"


def test_neither_side_handles_more_than_the_limit() -> None:
    data = sealed(a_snapshot(), RING, max_bytes=LIMIT)
    assert refusal(data, max_bytes=len(data) - 1) == "body_too_large"
    opened(data, RING, max_bytes=len(data))
    with pytest.raises(RefusedRequestError) as caught:
        sealed(a_snapshot(), RING, max_bytes=len(data) - 1)
    fault = caught.value.fault
    assert (fault.code, fault.limit, fault.observed) == ("body_too_large", len(data) - 1, len(data))


def test_keys_and_values_that_lie_apart_in_memory_are_kept_in_order() -> None:
    tensor = torch.randn(2, 4, 3).transpose(1, 2)
    snapshot = a_snapshot()
    apart = Snapshot(header=snapshot.header.model_copy(update={"keys_values": described(tensor)}), keys_values=tensor)
    again = opened(sealed(apart, RING, max_bytes=LIMIT), RING, max_bytes=LIMIT)
    assert torch.equal(again.keys_values, tensor)


def test_a_header_holds_no_more_and_no_less_than_a_request_asks_for_beside_its_prompt() -> None:
    asked = set(GenerateRequest.model_fields) - {"messages", "tools"}
    assert set(SavedRequest.model_fields) == asked | {"is_thought_open"}


def test_a_header_is_readable_by_whoever_holds_the_bytes() -> None:
    data = sealed(a_snapshot(), RING, max_bytes=LIMIT)
    header = json.loads(data[data.index(b"{") : data.rindex(b"}") + 1])
    assert header["prompt_ids"] == [1, 2, 3]
    assert header["model"]["name"] == MODEL.name
