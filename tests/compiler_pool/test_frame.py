"""Artifact frames: what was sealed comes back, and nothing else is ever opened."""

import hmac
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler_pool.artifact import Artifact, ArtifactAddress, TokenizerDigest
from compiler_pool.errors import FrameError
from compiler_pool.frame import MAX_FRAME_BYTES, KeyRing, open_frame, seal
from policy.enforcement import KeywordStatus, ReportEntry
from policy.limits import TENANT
from policy.text_bounds import BoundedPlace, TextBounds, TextReport
from registry.contract import ContractDigest

_SECRET, _OTHER = "aa" * 32, "bb" * 32
RING = KeyRing.from_text(f"k1:{_SECRET}")


def _artifact(grammar: str = 'start: %json {"type":"string"}\n') -> Artifact:
    return Artifact(
        address=ArtifactAddress(
            contract_digest=ContractDigest("sha256:1"),
            tokenizer_digest=TokenizerDigest("sha256:2"),
            engine="llguidance",
            engine_version="1.9.1",
            lowering_version="1",
            policy_digest="p",
            limits="tenant",
            tenant_partition="t",
        ),
        grammar=grammar,
        engine_budget=TENANT.engine,
        report=(ReportEntry(pointer="/type", keyword="type", status=KeywordStatus.ENFORCED),),
        compile_ms=1.5,
        cpu_ms=2.5,
    )


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=200))
def test_an_artifact_comes_back_as_it_was_sealed(grammar: str) -> None:
    artifact = _artifact(grammar)
    assert open_frame(seal(artifact, RING), RING) == artifact


def test_what_is_said_of_the_text_comes_back_too() -> None:
    place = BoundedPlace(pointer="/items", limit_name="max_digits", limit=9)
    text = TextReport(bounds=TextBounds(max_digits=9), bounded=(place,))
    artifact = replace(_artifact(), text=text)
    assert open_frame(seal(artifact, RING), RING) == artifact


def test_a_frame_of_an_earlier_version_is_refused_and_compiled_anew() -> None:
    frame = seal(_artifact(), RING)
    earlier = frame[:4] + bytes([frame[4] - 1]) + frame[5:-32]
    signed = earlier + hmac.digest(bytes.fromhex(_SECRET), earlier, "sha256")
    with pytest.raises(FrameError, match="version 1"):
        open_frame(signed, RING)


@settings(max_examples=300)
@given(st.data())
def test_one_changed_byte_anywhere_is_refused(data: st.DataObject) -> None:
    frame = bytearray(seal(_artifact(), RING))
    at = data.draw(st.integers(0, len(frame) - 1))
    frame[at] ^= data.draw(st.integers(1, 255))
    with pytest.raises(FrameError):
        open_frame(bytes(frame), RING)


@given(st.integers(min_value=0, max_value=10_000))
def test_a_truncated_frame_is_refused(length: int) -> None:
    frame = seal(_artifact(), RING)
    with pytest.raises(FrameError):
        open_frame(frame[: length % len(frame)], RING)


@given(st.binary(max_size=300))
def test_bytes_that_are_no_frame_are_refused(data: bytes) -> None:
    for candidate in (data, b"SGAF" + data, b"SGAF\x01\x02k1" + data):
        with pytest.raises(FrameError):
            open_frame(candidate, RING)


def test_an_oversized_frame_is_refused_before_it_is_read() -> None:
    with pytest.raises(FrameError, match="at most"):
        open_frame(b"SGAF" + bytes(MAX_FRAME_BYTES), RING)
    with pytest.raises(FrameError, match="at most"):
        seal(_artifact("x" * MAX_FRAME_BYTES), RING)


def test_a_key_can_be_changed_while_both_are_known() -> None:
    old_frame = seal(_artifact(), RING)
    both = KeyRing.from_text(f"k2:{_OTHER},k1:{_SECRET}")
    assert open_frame(old_frame, both) == _artifact()
    new_frame = seal(_artifact(), both)
    assert b"k2" in new_frame[:10]
    with pytest.raises(FrameError, match="not known"):
        open_frame(new_frame, RING)


def test_the_same_key_id_with_another_secret_is_refused() -> None:
    with pytest.raises(FrameError, match="signature"):
        open_frame(seal(_artifact(), RING), KeyRing.from_text(f"k1:{_OTHER}"))


def test_a_signed_body_of_another_shape_is_refused() -> None:
    frame = seal(_artifact(), RING)
    changed = frame[:-32].replace(b'"cpu_ms"', b'"cpu_mS"')
    signed = changed + hmac.digest(bytes.fromhex(_SECRET), changed, "sha256")
    with pytest.raises(FrameError, match="another shape"):
        open_frame(signed, RING)


def test_a_table_is_not_accepted_in_this_version() -> None:
    frame = seal(_artifact(), RING)[:-32]
    at = len(b"SGAF\x01\x02k1") + 4
    with_table = frame[:at] + (4).to_bytes(4, "big") + frame[at + 4 :] + b"\x00" * 4
    signed = with_table + hmac.digest(bytes.fromhex(_SECRET), with_table, "sha256")
    with pytest.raises(FrameError, match="lengths"):
        open_frame(signed, RING)


@pytest.mark.parametrize(
    "text", ["", "k1", f"k1:{_SECRET},k1:{_OTHER}", "k1:zz", "k1:aabb", f":{_SECRET}", f"k1:{_SECRET},"]
)
def test_keys_that_are_badly_written_are_refused_without_being_repeated(text: str) -> None:
    with pytest.raises(FrameError) as caught:
        KeyRing.from_text(text)
    assert _SECRET not in str(caught.value)
    assert _SECRET not in repr(RING)
