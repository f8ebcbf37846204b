"""A few ranges hold all the days that rows touch, and as few others as can be."""

from __future__ import annotations

from datetime import date, timedelta

from hypothesis import given
from hypothesis import strategies as st

from smelter.lake.spans import Spans

days = st.lists(st.dates(), max_size=30)


@given(days, st.integers(1, 6))
def test_every_day_is_in_a_range_and_ranges_are_few_and_apart(given: list[date], most: int) -> None:
    spans = Spans.of_days(given, most)
    assert len(spans.ranges) <= most
    assert all(any(first <= day <= last for first, last in spans.ranges) for day in given)
    ends = [day for span in spans.ranges for day in span]
    assert ends == sorted(ends)
    assert set(ends) <= set(given)


@given(days)
def test_with_ranges_enough_no_other_day_is_in_one(given: list[date]) -> None:
    ranges = Spans.of_days(given, 100).ranges
    assert sum((last - first).days + 1 for first, last in ranges) == len(set(given))


def test_the_widest_gaps_are_left_out_first() -> None:
    start = date(2026, 1, 1)
    near, far = start + timedelta(days=3), start + timedelta(days=100)
    assert Spans.of_days([far, start, near], most=2).ranges == ((start, near), (far, far))


def test_a_row_without_a_time_is_looked_for_among_those_without() -> None:
    assert Spans.of_days([None]).sql("t.at") == "(t.at is null)"
    assert Spans.of_days([]).sql("t.at") == "false"


def test_the_last_day_that_there_is_has_an_end() -> None:
    assert "9999-12-31T23:59:59.999999Z" in Spans.of_days([date.max]).sql("t.at")
