"""Which windows a row is in, on the edges of windows and before 1970."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from recount import EPOCH, starts_of

from smelter.gold.shapes import Fixed, Sessions
from smelter.gold.windows import with_windows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.jvm
MOMENTS = [
    EPOCH + timedelta(seconds=seconds, microseconds=micros)
    for seconds in (*range(-1300, 1300, 10), 1_800_000_000)
    for micros in (-1, 0, 1)
]


@pytest.mark.parametrize(("size", "every"), [(60, 60), (600, 300), (420, 180), (100, 70), (86_400, 3600)])
def test_a_row_is_in_every_window_that_holds_its_time(spark: SparkSession, size: int, every: int) -> None:
    rows = spark.createDataFrame([(moment,) for moment in [*MOMENTS, None]], "at timestamp")
    found = defaultdict(set)
    for row in with_windows(rows, "at", Fixed(size, every)).collect():
        start, end = row.window_start.astimezone(UTC), row.window_end.astimezone(UTC)
        assert end - start == timedelta(seconds=size)
        found[row.at.astimezone(UTC)].add(start)
    assert found == {moment: set(starts_of(moment, size, every)) for moment in MOMENTS}


def test_sessions_are_apart_for_each_value_of_all_columns(spark: SparkSession) -> None:
    at = datetime(2026, 11, 16, tzinfo=UTC)
    rows = [("a", 1, at), ("a", 2, at), ("a", 1, at + timedelta(seconds=9)), ("a", 1, at + timedelta(seconds=19))]
    table = spark.createDataFrame([*rows, ("a", None, at), ("a", 1, None)], "user string, shop int, at timestamp")
    found = with_windows(table, "at", Sessions(10, ("user", "shop"))).collect()
    told = {
        (row.shop, (row.window_start.astimezone(UTC) - at).seconds, (row.window_end - row.at).seconds) for row in found
    }
    assert told == {(1, 0, 19), (1, 0, 10), (1, 19, 10), (2, 0, 10), (None, 0, 10)}
