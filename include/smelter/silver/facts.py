"""What is in an increment? Its rows, the days that it touches and the casts that failed, in one pass."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from smelter.contracts import Contract
from smelter.contracts.expressions import try_casts
from smelter.lake.spans import Spans
from smelter.silver.definition import silver_of


@dataclass(frozen=True)
class Facts:
    """What a merge and its report need to know of the rows."""

    rows: int
    spans: Spans | None  # the days of the event times; nothing if those of a key may differ
    failed_casts: dict[str, int]  # derived column to values that it could not read


def facts_of(rows: DataFrame, contract: Contract, also: Iterable[date | None] = ()) -> Facts:
    """One aggregation over rows that the caller has cached; `also` are days of other rows that the merge touches."""
    silver = silver_of(contract)
    prunes = silver.event_time is not None and silver.event_time_stable
    columns = [F.count(F.lit(1)).alias("rows")]
    if prunes:
        day = F.to_date(F.col(silver.event_time or ""))
        columns += [F.collect_set(day).alias("days"), F.count_if(day.isNull()).alias("dayless")]
    failed = {name: _failed(name, text) for name, text in silver.columns.items() if try_casts(text)}
    columns += [F.count_if(F.expr(condition)).alias(f"cast_{name}") for name, condition in failed.items()]
    found = rows.agg(*columns).collect()[0]
    days: list[date | None] = [*found["days"], *([None] if found["dayless"] else []), *also] if prunes else []
    return Facts(
        found["rows"],
        Spans.of_days(days) if prunes else None,
        {name: found[f"cast_{name}"] for name in failed if found[f"cast_{name}"]},
    )


def _failed(name: str, text: str) -> str:
    """Does any cast of the expression have a value that it could not read? One that is all of it was done already."""
    casts = ((one.value, f"`{name}`" if one.cast == text.strip() else one.cast) for one in try_casts(text))
    return " or ".join(f"(({value}) is not null and ({cast}) is null)" for value, cast in casts)
