"""What becomes of a thing whose record left bronze? The next record of its key takes its place, or it goes too.

Only things are looked at that were merged from batches which left; where nobody tells which, all of silver is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from pyiceberg.expressions import In
from pyiceberg.table import Table

from smelter.contracts import Contract
from smelter.lake.derived import frozen, spark_name
from smelter.lake.home import BRONZE, SILVER
from smelter.lake.increments import IDENTITY, Slice
from smelter.lake.spans import Spans
from smelter.silver.definition import silver_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

FATE = "_smelter_fate"
MERGED, INSTEAD, GOES = "merged", "instead", "goes"  # what a merge does with a row of its source


def holds_rows_that_left(silver: Table | None, part: Slice) -> bool:
    """May silver have things whose records left bronze in this slice? Asked without a JVM."""
    if silver is None or part.left == ():
        return False
    if part.left is None:
        return True
    found = silver.scan(In(term="_batch", literals=set(part.left)), selected_fields=("_batch",), limit=1).to_arrow()
    return bool(found.num_rows)


@dataclass(frozen=True)
class Gone:
    """Things of silver whose record is in bronze no more: their keys, and the days that they are on."""

    spark: SparkSession
    contract: Contract
    keys: DataFrame
    days: tuple[date | None, ...]

    def remaining(self, columns: Sequence[str]) -> DataFrame:
        """All rows of bronze with one of the keys; with a stable event time only files of its days are opened."""
        rows = self.spark.table(spark_name(BRONZE, self.contract.dataset)).select(*columns)
        silver = silver_of(self.contract)
        if silver.event_time is not None and silver.event_time_stable:
            is_date = self.contract.fields[silver.event_time].type == "date"
            rows = rows.where(Spans.of_days(self.days).sql(silver.event_time, is_date=is_date))
        return rows.alias("r").join(self.keys.alias("k"), on=self._same("r", "k"), how="left_semi").select("r.*")

    def beside(self, rows: DataFrame) -> DataFrame:
        """The rows of a merge, each with its fate, and those that go because nothing takes their place."""
        from pyspark.sql import functions as F  # noqa: N812

        keys = self.keys.withColumn(FATE, F.lit(INSTEAD)).alias("k")
        fated = rows.alias("r").join(keys, on=self._same("r", "k"), how="left")
        merged = fated.select("r.*", F.coalesce(f"k.{FATE}", F.lit(MERGED)).alias(FATE))
        goes = self.keys.alias("k").join(rows.alias("r"), on=self._same("k", "r"), how="left_anti").select("k.*")
        return frozen(merged.unionByName(goes.withColumn(FATE, F.lit(GOES)), allowMissingColumns=True))

    def _same(self, left: str, right: str) -> Column:
        from pyspark.sql import functions as F  # noqa: N812

        equal = F.lit(True)
        for name in silver_of(self.contract).key:
            equal = equal & F.col(f"{left}.{name}").eqNullSafe(F.col(f"{right}.{name}"))
        return equal


def gone_things(spark: SparkSession, contract: Contract, part: Slice, origins: Mapping[str, str | None]) -> Gone | None:
    """The things that lost their record in this slice; nothing if none did. `origins`: what silver calls each field."""
    from pyspark.sql import functions as F  # noqa: N812

    if part.left == ():
        return None
    things = spark.table(spark_name(SILVER, contract.dataset))
    records = spark.table(spark_name(BRONZE, contract.dataset))
    if part.left is not None:
        things, records = (one.where(F.col("_batch").isin(*part.left)) for one in (things, records))
    silver = silver_of(contract)
    names = dict.fromkeys((*silver.key, *([silver.event_time] if silver.event_time else [])))
    gone = things.join(records.select(*IDENTITY), on=list(IDENTITY), how="left_anti")
    keys = frozen(gone.select(*(F.col(origins[name] or name).alias(name) for name in names)))
    if keys.isEmpty():
        return None
    return Gone(spark, contract, keys, tuple(_days(keys, silver.event_time)) if silver.event_time else ())


def _days(keys: DataFrame, event_time: str) -> list[date | None]:
    from pyspark.sql import functions as F  # noqa: N812

    return [row[0] for row in keys.select(F.to_date(event_time)).distinct().collect()]
