"""What becomes of a thing whose record left bronze? The next record of its key takes its place, or it goes too.

Only things are looked at that were merged from batches which left, or whose records were forgotten; where nobody tells
which, all of silver is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

import numpy as np
from pyiceberg.expressions import In
from pyiceberg.table import Table

from smelter.contracts import Contract
from smelter.lake.derived import frozen, spark_name
from smelter.lake.forgotten import forgotten
from smelter.lake.home import BRONZE, FORGOTTEN, OPS, SILVER, Lake
from smelter.lake.identities import positions_of
from smelter.lake.increments import IDENTITY, Slice
from smelter.lake.spans import Spans
from smelter.silver.definition import silver_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

FATE = "_smelter_fate"
MERGED, INSTEAD, GOES = "merged", "instead", "goes"  # what a merge does with a row of its source


def holds_rows_that_left(lake: Lake, silver: Table | None, part: Slice) -> bool:
    """May silver have things whose records left bronze in this slice? Asked without a JVM."""
    if silver is None or (part.left == () and not part.forgot):
        return False
    if part.left is None:
        return True
    return _has_rows_of(silver, part.left) or _has_forgotten(lake, silver, part.forgot)


def _has_rows_of(silver: Table, batches: tuple[str, ...]) -> bool:
    found = silver.scan(In(term="_batch", literals=set(batches)), selected_fields=("_batch",), limit=1).to_arrow()
    return bool(found.num_rows)


def _has_forgotten(lake: Lake, silver: Table, runs: tuple[str, ...]) -> bool:
    gone = forgotten(lake, silver.name()[-1], runs=runs)
    held = positions_of(silver, gone) if gone else {}
    return any(np.isin(positions, gone[source]).any() for source, positions in held.items())


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

    if part.left == () and not part.forgot:
        return None
    silver = silver_of(contract)
    names = dict.fromkeys((*silver.key, *([silver.event_time] if silver.event_time else [])))
    columns = [F.col(origins[name] or name).alias(name) for name in names]
    gone = _left_bronze(spark, contract, part.left).select(*columns)
    if part.forgot:
        gone = gone.unionByName(_forgotten(spark, contract, part.forgot).select(*columns)).distinct()
    keys = frozen(gone)
    if keys.isEmpty():
        return None
    return Gone(spark, contract, keys, tuple(_days(keys, silver.event_time)) if silver.event_time else ())


def _left_bronze(spark: SparkSession, contract: Contract, batches: tuple[str, ...] | None) -> DataFrame:
    """Things of these batches, or of all, whose record is not in bronze."""
    from pyspark.sql import functions as F  # noqa: N812

    things = spark.table(spark_name(SILVER, contract.dataset))
    records = spark.table(spark_name(BRONZE, contract.dataset))
    if batches is not None:
        things, records = (one.where(F.col("_batch").isin(*batches)) for one in (things, records))
    return things.join(records.select(*IDENTITY), on=list(IDENTITY), how="left_anti")


def _forgotten(spark: SparkSession, contract: Contract, runs: tuple[str, ...]) -> DataFrame:
    """Things whose record was forgotten by one of these runs."""
    from pyspark.sql import functions as F  # noqa: N812

    noted = spark.table(spark_name(OPS, FORGOTTEN)).where(F.col("run").isin(*runs))
    noted = noted.where(F.col("dataset") == contract.dataset)
    things = spark.table(spark_name(SILVER, contract.dataset)).alias("t")
    same = F.expr("t._source = f._source and t._position between f.first and f.last")
    return things.join(noted.alias("f"), on=same, how="left_semi")


def _days(keys: DataFrame, event_time: str) -> list[date | None]:
    from pyspark.sql import functions as F  # noqa: N812

    return [row[0] for row in keys.select(F.to_date(event_time)).distinct().collect()]
