"""Which rows of silver changed between two of its snapshots? Their old and new times, and what they belong to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812

from smelter.gold.plan import Plan
from smelter.gold.windows import moment
from smelter.lake.derived import spark_name
from smelter.lake.home import SILVER

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

AT = "_smelter_at"
_IDENTITY = ("_source", "_position", "_merged_at")  # one writing of one record: the rest of a row follows from it
_WRITTEN = "_smelter_written"


def silver_at(spark: SparkSession, dataset: str, snapshot: int) -> DataFrame:
    """Silver as it was in one snapshot, whatever comes in meanwhile."""
    return spark.read.option("versionAsOf", str(snapshot)).table(spark_name(SILVER, dataset))


def changed_times(spark: SparkSession, dataset: str, plan: Plan, event_time: str, by: tuple[str, ...]) -> DataFrame:
    """`by` and the time of every row that came, went or changed; a row that changed has its old and its new ones.

    Iceberg's changelog of a rewritten file names each of its rows twice, as gone and as come. Its own procedure takes
    these pairs out by sorting whole rows, which Spark refuses where one holds a map; here a row is known by the record
    that it is and by when it was merged. What left silver because its time was up is no change of an answer.
    """
    assert plan.start is not None
    assert plan.bookmark is not None
    table = spark_name(SILVER, dataset)
    bounds = {"start-snapshot-id": str(plan.start), "end-snapshot-id": str(plan.bookmark.snapshot)}
    if not plan.takes_rows_out:
        return _times(spark.read.options(**bounds).table(table), event_time, by)
    wanted = tuple(dict.fromkeys((*by, event_time, *_IDENTITY)))
    written = F.when(F.col("_change_type") == "INSERT", 1).otherwise(-1)
    if plan.retired:
        # Seen in Iceberg 1.12: a filter on this column is looked for in the data files; and where `_change_ordinal` is
        # not read too, its values are taken for the snapshot's.
        is_retired = F.col("_commit_snapshot_id").isin(*plan.retired) & (F.col("_change_ordinal") >= 0)
        written = F.when(is_retired, 0).otherwise(written)
    changelog = spark.read.options(**bounds).table(f"{table}.changes")
    rows = changelog.groupBy(*wanted).agg(F.sum(written).alias(_WRITTEN))
    return _times(rows.where(F.col(_WRITTEN) != 0), event_time, by)


def _times(rows: DataFrame, event_time: str, by: tuple[str, ...]) -> DataFrame:
    timed = rows.where(F.col(event_time).isNotNull())
    return timed.select(*by, moment(event_time).alias(AT)).distinct()
