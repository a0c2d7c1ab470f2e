from inference_node.mask_pace import DEAR_SECONDS, SLOW_SECONDS, MaskPace

QUICK = DEAR_SECONDS / 10


def quick_masks_until_it_joins(pace: MaskPace) -> int:
    for count in range(100_000):
        if pace.joins:
            return count
        pace.timed(QUICK)
    raise AssertionError("it never joins")


def test_a_contract_joins_others_until_it_is_seen_to_be_slow() -> None:
    pace = MaskPace()
    seen = [(pace.joins, pace.is_slow)]
    for seconds in (QUICK, QUICK, 2 * SLOW_SECONDS):
        pace.timed(seconds)
        seen.append((pace.joins, pace.is_slow))
    assert seen == [(True, False), (True, False), (True, False), (False, True)]


def test_who_held_others_up_proves_itself_for_longer_each_time() -> None:
    pace = MaskPace()
    waits = []
    for _ in range(7):
        pace.timed(2 * SLOW_SECONDS)
        waits.append(quick_masks_until_it_joins(pace))
    assert waits == [16, 64, 256, 1024, 4096, 4096, 4096]


def test_a_suspect_is_timed_and_then_believed_again() -> None:
    pace = MaskPace()
    pace.suspect()
    assert not pace.joins
    assert not pace.is_slow
    assert quick_masks_until_it_joins(pace) == 2


def test_masks_that_are_dear_one_like_the_other_stay_apart_while_they_are() -> None:
    pace = MaskPace()
    pace.suspect()
    for _ in range(1000):
        pace.timed(3 * DEAR_SECONDS)
    assert not pace.joins
    assert pace.is_slow
    assert quick_masks_until_it_joins(pace) < 16


def test_a_contract_that_broke_a_lexer_stays_apart() -> None:
    pace = MaskPace(is_apart=True)
    for _ in range(20_000):
        pace.timed(QUICK)
    assert not pace.joins
    assert pace.is_slow
