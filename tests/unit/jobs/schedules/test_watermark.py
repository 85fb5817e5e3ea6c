"""What is new is taken once, however late it is listed, and however many have the same time."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from jobs.addresses import Address
from jobs.schedules.watermark import Watermark, advanced, news
from jobs.store.bucket import Found


def found(key, at, etag="e"):
    return Found(Address("b", key), 1, etag, datetime.fromtimestamp(at, UTC))


@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.integers(0, 60), st.integers(0, 30)),
        max_size=20,
    )
)
def test_whatever_is_listed_late_within_the_window_is_taken_once(objects):
    """Objects (turn that they are listed from, time, delay) with equal times and late ones."""
    window = 100.0
    mark, taken = Watermark(), []
    for turn in range(7):
        listing = [
            found(f"k{n}", 1000 + turn_listed * 10 + at - late)
            for n, (turn_listed, at, late) in enumerate(objects)
            if turn_listed <= turn
        ]
        new = news(mark, listing, window + 100)
        mark = advanced(mark, new, window + 100)
        taken += [each.address.key for each in new]
    assert sorted(taken) == sorted(f"k{n}" for n in range(len(objects)))


def test_what_lies_before_the_window_is_forgotten():
    mark = advanced(Watermark(), [found("a", 10), found("b", 1000)], 100)
    assert list(mark.seen) == ["b"]
    assert news(mark, [found("a", 10), found("b", 1000), found("c", 950)], 100) == [found("c", 950)]
