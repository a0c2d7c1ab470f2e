import pytest

from inference_node.prefix_index import CachedBlock, PrefixDigest, PrefixIndex, next_digest, root_digest

IDS = tuple(range(16))
ROOT = root_digest("tenant")


def index_with_one(block: int = 3) -> tuple[PrefixIndex, PrefixDigest]:
    index = PrefixIndex()
    digest = next_digest(ROOT, IDS)
    index.add(digest, CachedBlock(block=block, parent=ROOT, token_ids=IDS, salt="tenant"))
    return index, digest


def test_a_block_is_found_by_what_stands_in_it_and_before_it() -> None:
    index, digest = index_with_one()
    found = index.find(digest, parent=ROOT, token_ids=IDS, salt="tenant")
    assert found is not None
    assert found.block == 3
    assert 3 in index


@pytest.mark.parametrize(
    ("parent", "token_ids", "salt"),
    [
        (ROOT, (*IDS[:-1], 99), "tenant"),
        (root_digest("other"), IDS, "tenant"),
        (ROOT, IDS, "other"),
    ],
    ids=["tokens", "parent", "salt"],
)
def test_a_digest_that_collides_gives_nobody_anothers_keys(
    parent: PrefixDigest, token_ids: tuple[int, ...], salt: str
) -> None:
    index, digest = index_with_one()
    assert index.find(digest, parent=parent, token_ids=token_ids, salt=salt) is None


def test_what_was_removed_is_not_found() -> None:
    index, digest = index_with_one()
    index.remove(3)
    assert index.find(digest, parent=ROOT, token_ids=IDS, salt="tenant") is None
    assert 3 not in index
    assert len(index) == 0


def test_digests_tell_salts_tokens_and_places_apart() -> None:
    first = next_digest(ROOT, IDS)
    others = {ROOT, root_digest(""), first, next_digest(first, IDS), next_digest(ROOT, IDS[::-1])}
    assert len(others) == 5
