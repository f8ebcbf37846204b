"""Which windows do changed rows touch? Their rows in silver now, and their rows in gold as it was.

Everything else in gold stays as it is, and is not read: days that hold the touched windows are literals, by which
Iceberg leaves out files.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812

from smelter.gold.changes import AT
from smelter.gold.shapes import Fixed, Sessions
from smelter.gold.statement import WINDOW_END, WINDOW_START
from smelter.gold.windows import with_windows
from smelter.lake.spans import Spans

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_FROM, _TO = "_smelter_from", "_smelter_to"


@dataclass(frozen=True)
class Touched:
    """What has to be computed again."""

    source: DataFrame  # silver's rows of the touched windows, with these windows
    old: DataFrame  # gold's rows of the touched windows
    starts: Spans  # the days on which touched windows begin, before or now


def touched_windows(
    changed: DataFrame, silver: DataFrame, gold: DataFrame, event_time: str, window: Fixed | Sessions
) -> Touched:
    """What changed times touch; they are distinct, few and kept by Spark, because they are asked for several times."""
    find = _fixed if isinstance(window, Fixed) else _sessions
    return find(changed, silver, gold, event_time, window)  # type: ignore[arg-type]


def _fixed(changed: DataFrame, silver: DataFrame, gold: DataFrame, event_time: str, window: Fixed) -> Touched:
    """A window is touched if it holds a changed time."""
    windows = with_windows(changed, AT, window).select(WINDOW_START, WINDOW_END).distinct()
    days = days_between(windows, WINDOW_START, WINDOW_END)
    starts, held = Spans.of_days(first for first, _ in days), _whole_days(days)
    touched = windows.select(WINDOW_START)
    source = with_windows(within(silver, event_time, held), event_time, window)
    return Touched(
        source=source.join(touched, on=WINDOW_START, how="left_semi").select(*source.columns),
        old=within(gold, WINDOW_START, starts).join(touched, on=WINDOW_START, how="left_semi").select(*gold.columns),
        starts=starts,
    )


def _sessions(changed: DataFrame, silver: DataFrame, gold: DataFrame, event_time: str, window: Sessions) -> Touched:
    """A session is touched if a changed time is in it or less than the gap away from it.

    Computed again are silver's rows inside touched sessions, before their `window_end`, and those with a changed time.
    No other row of silver is less than the gap away from one of these, so they make whole sessions: let x be such
    another row. Its time has not changed, so it was there before, in a session that gold shows (a model of sessions
    shows all) and that is not touched. If it were near a changed time, its session would be touched. If it were near
    an unchanged row of a touched session, both were in one session before, and that one is touched. At `window_end`
    itself begins another session, which would be computed in part: hence before it, and not up to it.
    """
    pause = f"interval {window.gap_seconds} seconds"
    near = _near(_whole_days(days_between(changed, AT, AT)), pause)
    left, right = gold.where(near).alias("g"), changed.alias("c")
    in_reach = F.expr(f"c.{AT} > g.{WINDOW_START} - {pause} and c.{AT} < g.{WINDOW_END}")
    old = left.join(right, on=_same(window.by, "g", "c") & in_reach, how="left_semi").select("g.*").persist()
    spans = old.select(*window.by, F.col(WINDOW_START).alias(_FROM), F.col(WINDOW_END).alias(_TO))
    points = changed.select(*window.by, F.col(AT).alias(_FROM), F.expr(f"{AT} + interval 1 microsecond").alias(_TO))
    spans = spans.unionByName(points).distinct()
    held = _whole_days(days_between(spans, _FROM, _TO))
    rows = within(silver, event_time, held).alias("r")
    at = f"cast(r.{event_time} as timestamp)"
    inside = F.expr(f"{at} >= i.{_FROM} and {at} < i.{_TO}")
    rows = rows.join(spans.alias("i"), on=_same(window.by, "r", "i") & inside, how="left_semi").select("r.*")
    return Touched(with_windows(rows, event_time, window), old, held)


def days_between(rows: DataFrame, first: str, last: str) -> list[tuple[date, date]]:
    """The day of one column and the day of the other, each pair once."""
    earliest, latest = F.expr("date'0001-01-01'"), F.expr("date'9999-12-31'")  # Python has no days beyond these
    days = (F.least(F.greatest(F.to_date(column), earliest), latest).alias(column) for column in {first, last})
    return [(row[first], row[last]) for row in rows.select(*days).distinct().collect()]


def _whole_days(pairs: list[tuple[date, date]]) -> Spans:
    """Every day from the first to the last of each pair."""
    return Spans.of_days(
        first + timedelta(days=number) for first, last in pairs for number in range((last - first).days + 1)
    )


def within(rows: DataFrame, column: str, spans: Spans) -> DataFrame:
    """The rows whose time is on one of the days."""
    return rows.where(days_condition(spans, column, is_date=rows.schema[column].dataType.typeName() == "date"))


def days_condition(spans: Spans, column: str, *, is_date: bool = False) -> str:
    """The condition; none if the days reach to where Python has none."""
    if any(first == date.min or last == date.max for first, last in spans.ranges):
        return "true"
    return spans.sql(column, is_date=is_date)


def _near(days: Spans, pause: str) -> str:
    """Sessions that may be touched by a change on one of the days; a session can be longer than any day."""
    parts = (
        f"({WINDOW_END} >= timestamp'{first}T00:00:00Z' "
        f"and {WINDOW_START} <= timestamp'{last}T23:59:59.999999Z' + {pause})"
        for first, last in days.ranges
    )
    return " or ".join(parts) or "false"


def _same(by: tuple[str, ...], left: str, right: str) -> Column:
    equal = F.lit(True)
    for name in by:
        equal = equal & F.col(f"{left}.{name}").eqNullSafe(F.col(f"{right}.{name}"))
    return equal
