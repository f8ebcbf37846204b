"""One gold table, computed and committed: all of it, or the windows that changed rows touch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812

from smelter.contracts import Contract
from smelter.errors import Refused
from smelter.gold.answers import (
    FATE,
    Fate,
    Tally,
    answers,
    differences,
    refuse_taken_names,
    tally,
)
from smelter.gold.changes import changed_times, silver_at
from smelter.gold.models import Model
from smelter.gold.plan import MODEL, Plan, Step, fingerprint_of
from smelter.gold.shapes import Sessions
from smelter.gold.statement import WINDOW_START
from smelter.gold.touched import days_condition, touched_windows
from smelter.gold.windows import with_windows
from smelter.lake import derived
from smelter.lake.bookmarks import bookmark_summary
from smelter.lake.derived import ensure_derived, spark_name
from smelter.lake.home import GOLD, Lake
from smelter.lake.spans import Spans
from smelter.lake.spark_errors import spark_errors
from smelter.lake.spark_types import schema_of
from smelter.lake.tables import load_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Work:
    """One table that is to be computed."""

    spark: SparkSession
    lake: Lake
    contract: Contract
    model: Model
    plan: Plan
    reach: Callable[[str], None]  # named points, for those who break things there
    log: Path  # of Spark

    @property
    def summary(self) -> dict[str, str]:
        """What the commit says: how far silver was read."""
        return summary_of(self.plan)


def compute(work: Work) -> Tally:
    """Do what the plan says, in one commit."""
    model, plan = work.model, work.plan
    assert plan.bookmark is not None
    event_time = _event_time(model, work.contract)
    table = f"{GOLD}.{model.name}"
    advice = f"mend {model.file}; docs/gold.md tells how a model is written"
    with spark_errors(table, work.log, f"nothing was published; {table} is as it was", advice):
        try:
            silver = silver_at(work.spark, model.dataset, plan.bookmark.snapshot)
            refuse_taken_names(model, silver.schema)
            if plan.step is Step.WINDOWS:
                return _change_windows(work, silver, event_time)
            return _replace_all(work, answers(work.spark, model, with_windows(silver, event_time, model.window)))
        finally:
            work.spark.catalog.clearCache()


def summary_of(plan: Plan) -> dict[str, str]:
    """What the commit's summary says: how far silver was read."""
    assert plan.bookmark is not None
    return bookmark_summary(plan.bookmark)


def _replace_all(work: Work, everything: DataFrame) -> Tally:
    model = work.model
    rows = differences(model, everything, everything.limit(0)).persist()
    done = tally(model, rows)
    work.reach("computed")
    about = {"comment": model.about}
    ensure_derived(work.lake, GOLD, model.name, schema_of(everything.schema), (), about)  # Spark says how it is cut
    work.reach("table_ready")
    made_by = {MODEL: fingerprint_of(model, work.contract), **about}
    derived.replace(work.spark, GOLD, model.name, rows.select(*model.columns), model.partition, made_by, work.summary)
    return done


def _change_windows(work: Work, silver: DataFrame, event_time: str) -> Tally:
    spark, model, window = work.spark, work.model, work.model.window
    assert window is not None
    by = window.by if isinstance(window, Sessions) else ()
    changed = changed_times(spark, model.dataset, work.plan, event_time, by).persist()
    touched = touched_windows(changed, silver, spark.table(spark_name(GOLD, model.name)), event_time, window)
    rows = derived.frozen(differences(model, answers(spark, model, touched.source), touched.old))
    done = tally(model, rows)
    work.reach("computed")
    if done.written or done.removed:
        _merge(work, touched.starts, rows.where(F.col(FATE) != Fate.SAME.value))
    else:
        derived.move_bookmark(load_table(work.lake, GOLD, model.name), work.summary)
    return done


def _merge(work: Work, starts: Spans, changes: DataFrame) -> None:
    model = work.model
    same_row = " and ".join(f"t.{name} <=> s.{name}" for name in model.grain)
    columns, values = (", ".join(f"{prefix}{name}" for name in model.columns) for prefix in ("", "s."))
    assignments = ", ".join(f"{name} = s.{name}" for name in model.columns)
    is_gone = f"s.{FATE} = '{Fate.GONE.value}'"
    clauses = (
        f"WHEN MATCHED AND {is_gone} THEN DELETE",
        f"WHEN MATCHED THEN UPDATE SET {assignments}",
        f"WHEN NOT MATCHED AND NOT {is_gone} THEN INSERT ({columns}) VALUES ({values})",  # noqa: S608
    )
    on = f"{same_row} and {days_condition(starts, f't.{WINDOW_START}')}"
    derived.merge(work.spark, GOLD, model.name, changes, on, clauses, work.summary)


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
