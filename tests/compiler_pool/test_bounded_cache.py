"""A cache bounded in bytes: the last used stay, and who fills it gives way first."""

from hypothesis import given
from hypothesis import strategies as st

from compiler_pool.bounded_cache import BoundedCache


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 60), st.sampled_from("abc"))), st.integers(0, 100))
def test_it_never_holds_more_than_its_bound_and_knows_what_it_holds(
    puts: list[tuple[int, int, str]], max_bytes: int
) -> None:
    cache: BoundedCache[int, int] = BoundedCache(max_bytes=max_bytes)
    for key, size, owner in puts:
        cache.put(key, size, num_bytes=size, owner=owner)
        assert cache.num_bytes <= max_bytes
        assert size <= max_bytes or cache.get(key) is None
    held = [value for key in range(10) if (value := cache.get(key)) is not None]
    assert sum(held) == cache.num_bytes


def test_the_least_recently_used_entry_goes_first_and_a_peek_is_no_use() -> None:
    cache: BoundedCache[str, int] = BoundedCache(max_bytes=2)
    cache.put("a", 1, num_bytes=1)
    cache.put("b", 2, num_bytes=1)
    assert (cache.get("a"), cache.peek("b")) == (1, 2)
    cache.put("c", 3, num_bytes=1)
    assert (cache.get("a"), cache.get("b"), cache.get("c")) == (1, None, 3)


def test_a_tenant_who_fills_it_pushes_out_its_own() -> None:
    cache: BoundedCache[str, int] = BoundedCache(max_bytes=100)
    for number in range(10):
        cache.put(f"quiet {number}", number, num_bytes=1, owner="quiet")
    for number in range(1000):
        cache.put(f"flood {number}", number, num_bytes=7, owner="flood")
    assert all(cache.get(f"quiet {number}") == number for number in range(10))
    assert cache.get("flood 999") == 999
    assert cache.get("flood 0") is None


def test_an_owner_of_weight_gives_way_later() -> None:
    cache: BoundedCache[str, int] = BoundedCache(
        max_bytes=100, weight=lambda owner: 8.0 if owner == "everybody" else 1.0
    )
    for number in range(8):
        cache.put(f"shared {number}", number, num_bytes=10, owner="everybody")
    for number in range(100):
        cache.put(f"flood {number}", number, num_bytes=5, owner="flood")
    assert all(cache.get(f"shared {number}") == number for number in range(8))


def test_what_is_put_again_may_change_hands_and_size() -> None:
    cache: BoundedCache[str, int] = BoundedCache(max_bytes=10)
    cache.put("a", 1, num_bytes=3, owner="x")
    cache.put("a", 2, num_bytes=5, owner="y")
    assert (cache.get("a"), cache.num_bytes) == (2, 5)
    cache.put("a", 3, num_bytes=11, owner="y")
    assert (cache.get("a"), cache.num_bytes) == (None, 0)
    cache.drop("a")
