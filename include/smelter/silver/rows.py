"""Bronze rows become silver rows: one per key, with the contract's derived columns. DataFrame in, DataFrame out."""

from __future__ import annotations

from datetime import datetime

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from smelter.contracts import Contract
from smelter.contracts.fit import PLATFORM_COLUMNS
from smelter.contracts.model import Silver

MERGED_AT = "_merged_at"
MERGED_AT_ABOUT = "When the row came into silver."
FIRST_COMES = ("_ingested_at", "_source", "_position")  # unique in bronze, so nothing depends on where increments end
_RANK = "_smelter_rank"


def one_row_per_key(rows: DataFrame, silver: Silver) -> DataFrame:
    """Of rows with the same key the one that stays; a key may hold null, which is a value like others here."""
    order: list[Column] = [F.col(name).asc() for name in FIRST_COMES]
    if silver.order_by is not None:
        order.insert(0, F.col(silver.order_by).desc_nulls_last())
    best_first = Window.partitionBy(*silver.key).orderBy(*order)
    return rows.withColumn(_RANK, F.row_number().over(best_first)).where(F.col(_RANK) == 1).drop(_RANK)


def silver_rows(rows: DataFrame, contract: Contract, merged_at: datetime) -> DataFrame:
    """The columns of silver: fields, derived columns, platform columns, and when the row was merged."""
    assert contract.silver is not None
    about = {"comment": MERGED_AT_ABOUT}
    return rows.select(
        *contract.fields,
        *(F.expr(text).alias(name) for name, text in contract.silver.columns.items()),
        *PLATFORM_COLUMNS,
        F.lit(merged_at).cast("timestamp").alias(MERGED_AT, metadata=about),
    )
