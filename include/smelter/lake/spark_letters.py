"""Dead letters with their status in Spark: the same question as DuckDB's view asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from smelter.lake.derived import spark_name
from smelter.lake.home import DEAD_LETTERS, RESOLUTIONS
from smelter.lake.letter_status import status_sql

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def letters_with_status(spark: SparkSession, dataset: str) -> DataFrame:
    """Every letter of a dataset, with its status, how often it was tried, its age, and what is wrong with it now."""
    return spark.sql(status_sql(spark_name(DEAD_LETTERS, dataset), spark_name(DEAD_LETTERS, RESOLUTIONS), dataset))
