"""One pass over the rows for everything that a row shows by itself; one more for each check that compares rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from smelter.contracts.checks import Check
from smelter.quality.conditions import ROW_CHECKS, fails, kinds_of, refuse_odd_expression
from smelter.quality.literals import refuse_strange_columns
from smelter.quality.others import count_doubled, strangers
from smelter.quality.verdict import Question

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_ROWS = "rows"
_MICROSECONDS = 1_000_000


@dataclass(frozen=True)
class Measure:
    """The number that a check is judged by, and how many rows failed it."""

    found: float | None
    failing: int = 0


def measure(rows: DataFrame, checks: Sequence[Check], question: Question) -> tuple[int, list[Measure]]:
    """The number of rows, and a measure for each check, in their order."""
    kinds = kinds_of(rows)
    for check in checks:
        refuse_strange_columns(check, kinds)
        if check.check == "sql":
            refuse_odd_expression(check, rows)
    sums = _sums(rows, checks)
    return sums[_ROWS], [
        _of_others(rows, check, question, sums[_ROWS]) or _of(check, sums.get(str(number)), sums[_ROWS], question)
        for number, check in enumerate(checks)
    ]


def _sums(rows: DataFrame, checks: Sequence[Check]) -> dict[str, Any]:
    """The one pass. Columns are called by the number of their check."""
    from pyspark.sql import functions as F  # noqa: N812

    kinds = kinds_of(rows)
    columns = [F.count(F.lit(1)).alias(_ROWS)]
    for number, check in enumerate(checks):
        summed = _sum(check, kinds)
        if summed is not None:
            columns.append(summed.alias(str(number)))
    return rows.agg(*columns).collect()[0].asDict()


def _sum(check: Check, kinds: Mapping[str, Any]) -> Column | None:
    from pyspark.sql import functions as F  # noqa: N812

    if check.check in ROW_CHECKS:
        return F.count_if(fails(check, kinds))
    if check.check == "null_share":
        return F.count_if(F.col(check.column or "").isNull())
    if check.check == "freshness":
        return F.unix_micros(F.max(F.col(check.column or "")).cast("timestamp"))
    return None


def _of(check: Check, summed: int | None, rows: int, question: Question) -> Measure:
    if check.check == "row_count":
        return Measure(rows)
    if check.check == "null_share":
        return Measure((summed or 0) / rows if rows else 0.0, summed or 0)
    if check.check == "freshness":
        return Measure(_age(summed, rows, question))
    return Measure(summed, summed or 0)


def _of_others(rows: DataFrame, check: Check, question: Question, count: int) -> Measure | None:
    """A check that compares rows with each other or with another dataset: a job of its own, unless there is no row."""
    if check.check not in ("unique", "exists_in"):
        return None
    if not count or question.holds_by_construction(check):
        return Measure(0)
    failing = count_doubled(rows, check) if check.check == "unique" else strangers(rows, check, question).count()
    return Measure(failing, failing)


def _age(newest_micros: int | None, rows: int, question: Question) -> float | None:
    """In seconds. An increment without rows is not stale; an empty table, or one without any time in it, has no age."""
    if newest_micros is None:
        return 0.0 if question.scope == "increment" and not rows else None
    return question.at.timestamp() - newest_micros / _MICROSECONDS
