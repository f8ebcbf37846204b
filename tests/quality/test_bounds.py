"""A bound in time is that very moment, in whatever century, whichever calendar Java has for it."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

from asking import check_of, failing, rows_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MOMENTS = (
    datetime(1500, 1, 5, tzinfo=UTC),
    datetime(1582, 10, 10, 0, 0, 0, 1, tzinfo=UTC),  # a day that the old calendar left out
    datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
    datetime(2026, 11, 16, 12, 0, 0, 123456, tzinfo=UTC),
    datetime(9999, 12, 31, 23, 59, 59, 999998, tzinfo=UTC),
)
DAYS = (date(1, 1, 2), date(1500, 1, 5), date(1582, 10, 10), date(2026, 11, 16))


def test_a_bound_in_time_is_that_microsecond_in_every_century(spark: SparkSession) -> None:
    around = [moment + timedelta(microseconds=n) for moment in MOMENTS for n in (-1, 0, 1)]
    texts = ", ".join(f"timestamp '{one.isoformat()}'" for one in around)
    rows = rows_of(spark, *({} for _ in around)).drop("at")
    bounds = [moment.isoformat().replace("+00:00", "Z") for moment in MOMENTS]
    checks = [check_of("between", column="at", **{word: bound}) for bound in bounds for word in ("min", "max")]
    places = [place for at in range(1, len(around), 3) for place in (range(at), range(at + 1, len(around)))]
    found = failing(rows.selectExpr("*", f"get(array({texts}), cast(_position as int)) at"), *checks)
    assert found == [list(place) for place in places]


def test_a_bound_in_days_is_that_day_in_every_century(spark: SparkSession) -> None:
    around = [day + timedelta(days=n) for day in DAYS for n in (-1, 0, 1)]
    texts = ", ".join(f"date '{one}'" for one in around)
    rows = rows_of(spark, *({} for _ in around)).drop("day")
    checks = [check_of("in_set", column="day", values=(day.isoformat(),)) for day in DAYS]
    checks += [check_of("between", column="day", **{word: day.isoformat()}) for day in DAYS for word in ("min", "max")]
    found = failing(rows.selectExpr("*", f"get(array({texts}), cast(_position as int)) day"), *checks)
    middles = range(1, len(around), 3)
    others = [[place for place in range(len(around)) if place != at] for at in middles]
    assert found == others + [list(place) for at in middles for place in (range(at), range(at + 1, len(around)))]
