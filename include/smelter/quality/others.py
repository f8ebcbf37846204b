"""Rows that fail because of other rows: those that share their values, and those whose value is nowhere else."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from smelter.contracts.checks import Check
from smelter.contracts.values import ONE_ROW_PER_KEY
from smelter.errors import Unreachable
from smelter.lake.home import BRONZE, SILVER, Lake
from smelter.lake.tables import find_table
from smelter.postgres import CATALOG_NAME
from smelter.quality.conditions import kinds_of
from smelter.quality.literals import unfit
from smelter.quality.verdict import Question

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_EXACT = frozenset({"byte", "short", "integer", "long", "decimal"})
_BINARY = frozenset({"float", "double"})  # 9007199254740993 would be found where 9007199254740992.0 is


def doubled(rows: DataFrame, check: Check) -> DataFrame:
    """The rows whose values in these columns are those of another row too; a null is like nothing."""
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.window import Window

    alike = F.count(F.lit(1)).over(Window.partitionBy(*(check.columns or ())))
    return _whole(rows, check).select("*", alike.alias("_alike")).where(F.col("_alike") > 1).drop("_alike")


def count_doubled(rows: DataFrame, check: Check) -> int:
    """How many those are; counted in groups, because most increments have none and need not be searched."""
    from pyspark.sql import functions as F  # noqa: N812

    groups = _whole(rows, check).groupBy(*(check.columns or ())).agg(F.count(F.lit(1)).alias("_alike"))
    (row,) = groups.where(F.col("_alike") > 1).agg(F.sum("_alike").alias("_alike")).collect()
    return row["_alike"] or 0


def _whole(rows: DataFrame, check: Check) -> DataFrame:
    """Without rows that lack a value; in a key null is a value like others."""
    from pyspark.sql import functions as F  # noqa: N812

    if check.name == ONE_ROW_PER_KEY:
        return rows
    return rows.where(reduce(lambda one, two: one & two, (F.col(name).isNotNull() for name in check.columns or ())))


def strangers(rows: DataFrame, check: Check, question: Question) -> DataFrame:
    """The rows whose value is not in the other dataset's column; null is fine."""
    from pyspark.sql import functions as F  # noqa: N812

    assert check.column is not None
    assert check.dataset is not None
    assert check.field is not None
    other = question.others(check.dataset)
    kinds = kinds_of(other)
    if check.field not in kinds:
        raise unfit(check, f"{check.dataset} has no column `{check.field}`")
    here, there = kinds_of(rows)[check.column], kinds[check.field]
    names = {here.typeName(), there.typeName()}
    if here != there and not (names <= _EXACT or names <= _BINARY):
        kept = f"{here.simpleString()} here and {there.simpleString()} there"
        raise unfit(check, f"`{check.column}` and {check.dataset}.{check.field} are of two types: {kept}")
    known = other.select(F.col(check.field).alias("_known")).distinct()
    given = rows.where(F.col(check.column).isNotNull())
    return given.join(known, on=F.col(check.column) == F.col("_known"), how="left_anti")


def rows_of(lake: Lake, dataset: str, spark: SparkSession) -> DataFrame:
    """The rows of another dataset: its silver, or its bronze if it has none yet."""
    for namespace in (SILVER, BRONZE):
        if find_table(lake, namespace, dataset) is not None:
            return spark.table(f"{CATALOG_NAME}.{namespace}.{dataset}")
    raise Unreachable(
        f"there is no table of {dataset}, in which values are to be found",
        where=str(lake.root),
        data="nothing was published, and no bookmark moved",
        next_step=f"smelt ingest {dataset} --drain",
    )
