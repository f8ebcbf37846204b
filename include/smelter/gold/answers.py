"""A model's SQL over its source, checked, and what it changes in the table. DataFrame in, DataFrame out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import MapType

from smelter.errors import Refused
from smelter.gold.header import column_of
from smelter.gold.models import Model
from smelter.gold.statement import SOURCE, WINDOW_END, WINDOW_START
from smelter.lake.home import GOLD

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

GONE = "_gone"
_NEW, _OLD = "_smelter_new", "_smelter_old"
_MOST_SHOWN = 200


def answers(spark: SparkSession, model: Model, source: DataFrame) -> DataFrame:
    """The model's rows, computed from these rows of silver; nothing is computed before somebody asks for them."""
    source.createOrReplaceTempView(SOURCE)
    rows = spark.sql(model.sql).select(*model.columns)
    spark.catalog.dropTempView(SOURCE)
    _refuse_what_a_table_cannot_have(model, rows.schema)
    return rows


def refuse_taken_names(model: Model, silver: StructType) -> None:
    """Silver's own columns must not hide those of the window."""
    taken = {WINDOW_START, WINDOW_END} & set(silver.names) if model.window is not None else set()
    if taken:
        raise Refused(
            f"silver.{model.dataset} has a column `{min(taken)}` of its own, which a windowed model cannot tell apart",
            where=model.file,
            data=_as_it_was(model),
            next_step="rename the field in the contract, with `was:`",
        )


def refuse_doubles(model: Model, rows: DataFrame) -> None:
    """One row for each value of the grain: otherwise nobody could say which row to change later."""
    counted = rows.groupBy(*model.grain).agg(F.count("*").alias("count")).where("count > 1")
    double = counted.limit(1).collect()
    if double:
        *values, count = double[0]
        said = ", ".join(f"{name} = {value}" for name, value in zip(model.grain, values, strict=True))
        raise Refused(
            f"{GOLD}.{model.name} would have {count} rows for one value of its grain: {said}",
            where=model.file,
            data=_as_it_was(model),
            next_step="group by the grain, or name more columns in `-- grain:`",
        )


def differences(model: Model, new: DataFrame, old: DataFrame) -> DataFrame:
    """The rows that are not as they were: those to write, and (with `_gone`) those to take out."""
    left, right = new.withColumn(_NEW, F.lit(True)).alias("n"), old.withColumn(_OLD, F.lit(True)).alias("o")
    same_row = reduce(and_, (F.col(f"n.{name}").eqNullSafe(F.col(f"o.{name}")) for name in model.grain))
    is_gone = F.col(_NEW).isNull()
    alike = (F.col(f"n.{name}").eqNullSafe(F.col(f"o.{name}")) for name in model.columns)
    stays = F.col(_NEW).isNotNull() & F.col(_OLD).isNotNull() & reduce(and_, alike)
    columns = (F.when(is_gone, F.col(f"o.{name}")).otherwise(F.col(f"n.{name}")).alias(name) for name in model.columns)
    return left.join(right, on=same_row, how="full_outer").where(~stays).select(*columns, is_gone.alias(GONE))


def same_columns(rows: StructType, table: StructType) -> bool:
    """Has the table the columns and types that the model gives now? Silver's may have become wider."""
    return _kinds(rows) == _kinds(table)


@contextmanager
def spark_errors(model: Model) -> Iterator[None]:
    """What Spark says of a model, in one sentence with the model's file."""
    try:
        yield
    except PySparkException as problem:
        lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
        said = lines[0][:_MOST_SHOWN] if lines else type(problem).__name__
        what = "cannot be made from silver's columns" if isinstance(problem, AnalysisException) else "failed in Spark"
        raise Refused(
            f"{GOLD}.{model.name} {what}: {said}",
            where=model.file,
            data=_as_it_was(model),
            next_step="mend the model; docs/gold.md tells how one is written",
        ) from problem


def _kinds(struct: StructType) -> list[tuple[str, str]]:
    return [(field.name, field.dataType.simpleString()) for field in struct.fields]


def _refuse_what_a_table_cannot_have(model: Model, columns: StructType) -> None:
    for field in columns.fields:
        if isinstance(field.dataType, MapType):
            raise Refused(
                f"the column `{field.name}` of {GOLD}.{model.name} would be a map, and two maps cannot be compared",
                where=model.file,
                data=_as_it_was(model),
                next_step="take the values that matter: name['key']",
            )
    for transform in model.partition:
        kind = columns[column_of(transform)].dataType.typeName()
        if transform != column_of(transform) and not transform.startswith("bucket") and kind not in _TIMES:
            raise Refused(
                f"{transform} needs a timestamp or a date, and `{column_of(transform)}` is a {kind}",
                where=model.file,
                data=_as_it_was(model),
                next_step="mend `-- partition:`",
            )


_TIMES = ("timestamp", "date")


def _as_it_was(model: Model) -> str:
    return f"{GOLD}.{model.name} is as it was"
