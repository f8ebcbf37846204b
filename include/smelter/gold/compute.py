"""One gold table, computed and committed: all of it, or the windows that changed rows touch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from smelter.contracts import Contract
from smelter.errors import Refused
from smelter.gold.answers import (
    GONE,
    answers,
    differences,
    refuse_doubles,
    refuse_taken_names,
    same_columns,
    spark_errors,
)
from smelter.gold.changes import changed_times, silver_at
from smelter.gold.models import Model
from smelter.gold.plan import MODEL, Plan, Step, fingerprint_of
from smelter.gold.shapes import Sessions
from smelter.gold.statement import WINDOW_START
from smelter.gold.touched import Touched, days_condition, touched_windows
from smelter.gold.windows import with_windows
from smelter.lake import derived
from smelter.lake.bookmarks import bookmark_summary
from smelter.lake.home import GOLD, Lake
from smelter.lake.tables import load_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Counts:
    """What a commit did to a table."""

    written: int = 0
    removed: int = 0
    windows: int | None = None


def compute(spark: SparkSession, lake: Lake, contract: Contract, model: Model, plan: Plan) -> tuple[Plan, Counts]:
    """Do what the plan says, in one commit; if silver's columns changed the table's, all of it is computed."""
    assert plan.bookmark is not None
    event_time = _event_time(model, contract)
    with spark_errors(model):
        try:
            silver = silver_at(spark, model.dataset, plan.bookmark.snapshot)
            refuse_taken_names(model, silver.schema)
            everything = answers(spark, model, with_windows(silver, event_time, model.window))
            if plan.step is Step.WINDOWS and not _fits(spark, model, everything):
                plan = replace(plan, step=Step.WHOLE, why="silver's columns changed, and with them the table's")
            if plan.step is Step.WHOLE:
                return plan, _replace_all(spark, lake, contract, model, plan, everything)
            return plan, _change_windows(spark, lake, model, plan, silver, event_time)
        finally:
            spark.catalog.clearCache()


def summary_of(plan: Plan) -> dict[str, str]:
    """What the commit's summary says: how far silver was read."""
    assert plan.bookmark is not None
    return bookmark_summary(plan.bookmark)


def _replace_all(
    spark: SparkSession, lake: Lake, contract: Contract, model: Model, plan: Plan, everything: DataFrame
) -> Counts:
    rows = everything.persist()
    refuse_doubles(model, rows)
    about = {"comment": model.about}
    derived.ensure_derived(lake, GOLD, model.name, derived.schema_of(rows.schema), model.partition, about)
    made_by = {MODEL: fingerprint_of(model, contract), **about}
    derived.replace(spark, GOLD, model.name, rows, model.partition, made_by, summary_of(plan))
    return Counts(written=rows.count())


def _change_windows(
    spark: SparkSession, lake: Lake, model: Model, plan: Plan, silver: DataFrame, event_time: str
) -> Counts:
    assert model.window is not None
    by = model.window.by if isinstance(model.window, Sessions) else ()
    changed = changed_times(spark, model.dataset, plan, event_time, by).persist()
    gold = spark.table(derived.spark_name(GOLD, model.name))
    touched = touched_windows(changed, silver, gold, event_time, model.window)
    new = answers(spark, model, touched.source).persist()
    refuse_doubles(model, new)
    changes = differences(model, new, touched.old).persist()
    counted = {row[GONE]: row["count"] for row in changes.groupBy(GONE).count().collect()}
    if counted:
        _merge(spark, model, plan, touched, changes)
    else:
        derived.move_bookmark(load_table(lake, GOLD, model.name), summary_of(plan))
    windows = new.select(WINDOW_START, *by).distinct().count()
    return Counts(counted.get(False, 0), counted.get(True, 0), windows)


def _merge(spark: SparkSession, model: Model, plan: Plan, touched: Touched, changes: DataFrame) -> None:
    same_row = " and ".join(f"t.{name} <=> s.{name}" for name in model.grain)
    columns, values = (", ".join(f"{prefix}{name}" for name in model.columns) for prefix in ("", "s."))
    assignments = ", ".join(f"{name} = s.{name}" for name in model.columns)
    clauses = (
        f"WHEN MATCHED AND s.{GONE} THEN DELETE",
        f"WHEN MATCHED THEN UPDATE SET {assignments}",
        f"WHEN NOT MATCHED AND NOT s.{GONE} THEN INSERT ({columns}) VALUES ({values})",  # noqa: S608
    )
    on = f"{same_row} and {days_condition(touched.starts, f't.{WINDOW_START}')}"
    derived.merge(spark, GOLD, model.name, changes, on, clauses, summary_of(plan))


def _fits(spark: SparkSession, model: Model, everything: DataFrame) -> bool:
    return same_columns(everything.schema, spark.table(derived.spark_name(GOLD, model.name)).schema)


def _event_time(model: Model, contract: Contract) -> str:
    event_time = contract.silver.event_time if contract.silver is not None else None
    if event_time is None and model.window is not None:
        raise Refused(
            f"{GOLD}.{model.name} has a window, and the contract {contract.label} names no event time",
            where=model.file,
            data=f"{GOLD}.{model.name} is as it was",
            next_step="add `event_time: FIELD` to `silver:` in the contract, or say `window: none`",
        )
    return event_time or ""
