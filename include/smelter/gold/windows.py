"""The rows that a model sees as `source`: silver's, once for each window that they are in. DataFrame in, DataFrame out.

A row without an event time is in no window.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window as Over
from pyspark.sql import functions as F  # noqa: N812

from smelter.gold.shapes import Fixed, Sessions, Window
from smelter.gold.statement import WINDOW_END, WINDOW_START

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_MICROS = 1_000_000
_AT = "_smelter_micros"
_OPENS = "_smelter_opens"


def with_windows(rows: DataFrame, event_time: str, window: Window) -> DataFrame:
    """Silver's columns and `window_start`, `window_end`; all rows as they are, if the model has no window."""
    if isinstance(window, Fixed):
        return _fixed(rows, event_time, window)
    if isinstance(window, Sessions):
        return _sessions(rows, event_time, window)
    return rows


def moment(event_time: str) -> Column:
    """The event time as a timestamp: a date is its midnight in UTC."""
    return F.col(event_time).cast("timestamp")


def _fixed(rows: DataFrame, event_time: str, window: Fixed) -> DataFrame:
    every, size = window.every_seconds * _MICROS, window.size_seconds * _MICROS
    at = F.unix_micros(moment(event_time))
    last = at - F.pmod(at, F.lit(every))
    if window.most_per_row == 1:
        start: Column = last
    else:
        first = last - F.lit(every * (window.most_per_row - 1))
        start = F.explode(F.filter(F.sequence(first, last, F.lit(every)), lambda one: one > at - F.lit(size)))
    placed = rows.where(F.col(event_time).isNotNull()).select("*", start.alias(_AT))
    return placed.select(
        *rows.columns,
        F.timestamp_micros(F.col(_AT)).alias(WINDOW_START),
        F.timestamp_micros(F.col(_AT) + F.lit(size)).alias(WINDOW_END),
    )


def _sessions(rows: DataFrame, event_time: str, window: Sessions) -> DataFrame:
    gap = window.gap_seconds * _MICROS
    timed = rows.where(F.col(event_time).isNotNull()).withColumn(_AT, F.unix_micros(moment(event_time)))
    in_time = Over.partitionBy(*window.by).orderBy(_AT)
    before = F.lag(_AT).over(in_time)
    begins = before.isNull() | (F.col(_AT) - before >= F.lit(gap))
    up_to_here = in_time.rangeBetween(Over.unboundedPreceding, Over.currentRow)
    opened = timed.withColumn(_OPENS, F.when(begins, F.col(_AT)))
    opened = opened.withColumn(_OPENS, F.max(_OPENS).over(up_to_here))  # the latest beginning: that of its session
    ended = F.max(_AT).over(Over.partitionBy(*window.by, _OPENS))
    return opened.select(
        *rows.columns,
        F.timestamp_micros(F.col(_OPENS)).alias(WINDOW_START),
        F.timestamp_micros(ended + F.lit(gap)).alias(WINDOW_END),
    )
