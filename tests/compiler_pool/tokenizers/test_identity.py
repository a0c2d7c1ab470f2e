"""A digest, and what sets two of them apart."""

import hashlib

import pytest

from compiler_pool.tokenizers.identity import IdentityParts


def _parts(**changes: object) -> IdentityParts:
    parts: dict[str, object] = {
        "vocabulary_size": 4,
        "token_bytes": (b"a", b"bc", b"<end>", b""),
        "special": frozenset({2, 3}),
        "end_ids": (2,),
        "normaliser": "null",
        "granted": (),
    }
    return IdentityParts(**parts | changes)  # type: ignore[arg-type]


def test_the_digest_is_what_the_documentation_says() -> None:
    spelled = (
        b"schemagate tokenizer 1"
        + (4).to_bytes(8, "big")
        + b"\x00\x00\x00\x00\x01a"
        + b"\x00\x00\x00\x00\x02bc"
        + b"\x01\x00\x00\x00\x05<end>"
        + b"\x01\x00\x00\x00\x00"
        + (2).to_bytes(8, "big")
        + b"null"
    )
    assert _parts().digest() == f"sha256:{hashlib.sha256(spelled).hexdigest()}"


@pytest.mark.parametrize(
    ("part", "changes"),
    [
        ("token_bytes", {"token_bytes": (b"ab", b"c", b"<end>", b"")}),
        ("special", {"special": frozenset({1, 2, 3})}),
        ("end_ids", {"end_ids": (2, 3)}),
        ("normaliser", {"normaliser": '{"type": "NFC"}'}),
        ("granted", {"granted": (3,)}),
    ],
)
def test_each_part_changes_the_digest_and_is_named_as_what_differs(part: str, changes: dict[str, object]) -> None:
    here, there = _parts(), _parts(**changes)
    assert here.digest() != there.digest()
    assert [difference.part for difference in here.differences(there)] == [part]
    assert [difference.part for difference in there.differences(here)] == [part]


def test_a_wider_table_differs_in_its_width_only() -> None:
    here = _parts()
    there = _parts(vocabulary_size=5, token_bytes=(*here.token_bytes, b""), special=frozenset({2, 3, 4}))
    assert here.digest() != there.digest()
    assert [difference.part for difference in here.differences(there)] == ["vocabulary_size"]


def test_the_order_of_ends_and_grants_is_no_difference() -> None:
    assert _parts(end_ids=(2, 3)).digest() == _parts(end_ids=(3, 2)).digest()
    assert _parts(granted=(2, 3)).differences(_parts(granted=(3, 2))) == ()


def test_a_difference_names_the_first_tokens_and_counts_the_rest() -> None:
    here = _parts(token_bytes=(b"a", b"b", b"c", b"d"), special=frozenset())
    there = _parts(token_bytes=(b"e", b"f", b"g", b"h"), special=frozenset())
    (difference,) = here.differences(there)
    assert difference.first == "0: b'a', 1: b'b', 2: b'c' and 1 more"
