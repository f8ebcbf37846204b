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
_DAY = "_smelter_day"
_DAY_SECONDS = 86_400


@dataclass(frozen=True)
class Touched:
    """What has to be computed again."""

    source: DataFrame  # silver's rows of the touched windows, with these windows
    old: DataFrame  # gold's rows of the touched windows
    starts: Spans  # the days on which touched windows begin, before or now


def touched_windows(
    changed: DataFrame, silver: DataFrame, gold: DataFrame, event_time: str, window: Fixed | Sessions
) -> Touched:
    """The touched windows of changed rows, which are few and already cached: (`by`, time), distinct."""
    find = _fixed if isinstance(window, Fixed) else _sessions
    return find(changed, silver, gold, event_time, window)  # type: ignore[arg-type]


def _fixed(changed: DataFrame, silver: DataFrame, gold: DataFrame, event_time: str, window: Fixed) -> Touched:
    """A window is touched if it holds a changed time."""
    windows = with_windows(changed, AT, window).select(WINDOW_START, WINDOW_END).distinct()
    held = days_of(windows, F.col(WINDOW_START), F.col(WINDOW_END))
    starts = days_of(windows, F.col(WINDOW_START), F.col(WINDOW_START))
    touched = windows.select(WINDOW_START)
    source = with_windows(within(silver, event_time, held), event_time, window)
    return Touched(
        source=source.join(touched, on=WINDOW_START, how="left_semi").select(*source.columns),
        old=within(gold, WINDOW_START, starts).join(touched, on=WINDOW_START, how="left_semi").select(*gold.columns),
        starts=starts,
    )


def _sessions(changed: DataFrame, silver: DataFrame, gold: DataFrame, event_time: str, window: Sessions) -> Touched:
    """A session is touched if a changed time is in it or less than the gap away from it.

    Computed again are silver's rows inside touched sessions, and those with a changed time. No other row of silver is
    less than the gap away from one of these, so they make whole sessions: let x be such another row. Its time has not
    changed, so it was there before, in a session that gold shows (a model of sessions shows all) and that is not
    touched. If it were near a changed time, its session would be touched. If it were near an unchanged row of a
    touched session, both were in one session before, and that one is touched.
    """
    days = days_of(changed, F.col(AT), F.col(AT))
    near = _near(days, window.gap_seconds)
    pause = f"interval {window.gap_seconds} seconds"
    left, right = gold.where(near).alias("g"), changed.alias("c")
    in_reach = F.expr(f"c.{AT} >= g.{WINDOW_START} - {pause} and c.{AT} <= g.{WINDOW_END}")
    old = left.join(right, on=_same(window.by, "g", "c") & in_reach, how="left_semi").select("g.*").persist()
    spans = old.select(*window.by, F.col(WINDOW_START).alias(_FROM), F.col(WINDOW_END).alias(_TO))
    points = changed.select(*window.by, F.col(AT).alias(_FROM), F.col(AT).alias(_TO))
    spans = spans.unionByName(points).distinct()
    held = days_of(spans, F.col(_FROM), F.col(_TO))
    rows = within(silver, event_time, held).alias("r")
    inside = F.expr(f"cast(r.{event_time} as timestamp) between i.{_FROM} and i.{_TO}")
    rows = rows.join(spans.alias("i"), on=_same(window.by, "r", "i") & inside, how="left_semi").select("r.*")
    return Touched(with_windows(rows, event_time, window), old, held)


def days_of(rows: DataFrame, first: Column, last: Column) -> Spans:
    """The days from one column to the other, of all rows, as ranges."""
    earliest, latest = F.lit(date.min), F.lit(date.max)  # beyond these, Python has no days and silver no rows
    ends = (F.least(F.greatest(F.to_date(end), earliest), latest) for end in (first, last))
    days = rows.select(F.explode(F.sequence(*ends)).alias(_DAY)).distinct()
    return Spans.of_days(row[_DAY] for row in days.collect())


def within(rows: DataFrame, column: str, spans: Spans) -> DataFrame:
    """The rows whose time is on one of the days."""
    return rows.where(days_condition(spans, column, is_date=rows.schema[column].dataType.typeName() == "date"))


def days_condition(spans: Spans, column: str, *, is_date: bool = False) -> str:
    """The condition; none if the days reach to where Python has none."""
    if any(first == date.min or last == date.max for first, last in spans.ranges):
        return "true"
    return spans.sql(column, is_date=is_date)


def _near(days: Spans, gap_seconds: int) -> str:
    """Sessions that may be touched by a change on one of the days; a session can be longer than any day."""
    gap = timedelta(days=-(-gap_seconds // _DAY_SECONDS))
    parts = []
    for first, last in days.ranges:
        later = min(last, date.max - gap) + gap
        parts.append(
            f"({WINDOW_END} >= timestamp'{first}T00:00:00Z' and {WINDOW_START} <= timestamp'{later}T23:59:59.999999Z')"
        )
    return " or ".join(parts) or "false"


def _same(by: tuple[str, ...], left: str, right: str) -> Column:
    equal = F.lit(True)
    for name in by:
        equal = equal & F.col(f"{left}.{name}").eqNullSafe(F.col(f"{right}.{name}"))
    return equal
