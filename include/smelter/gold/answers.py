"""A model's SQL over its source, checked, and what it changes in the table. DataFrame in, DataFrame out."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING

from pyspark.sql import Window as Over
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import MapType

from smelter.contracts.fit import partition_problems
from smelter.errors import Refused
from smelter.gold.models import Model, window_keys
from smelter.gold.statement import SOURCE, WINDOW_END, WINDOW_START
from smelter.lake.home import GOLD

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

FATE = "_smelter_fate"
_ALIKE, _OLD = "_smelter_alike", "_smelter_old"


class Fate(Enum):
    """What becomes of a row."""

    WRITTEN = "written"
    SAME = "same"
    GONE = "gone"


@dataclass(frozen=True)
class Tally:
    """What a commit does to a table."""

    written: int = 0
    removed: int = 0
    windows: int | None = None  # that were computed


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


def differences(model: Model, new: DataFrame, old: DataFrame) -> DataFrame:
    """New and old rows side by side, one per value of the grain, each with what becomes of it: a `Fate`."""
    alone = F.count("*").over(Over.partitionBy(*model.grain))
    left, right = new.withColumn(_ALIKE, alone).alias("n"), old.withColumn(_OLD, F.lit(True)).alias("o")
    same_row = reduce(and_, (F.col(f"n.{name}").eqNullSafe(F.col(f"o.{name}")) for name in model.grain))
    is_gone, is_new = F.col(_ALIKE).isNull(), F.col(_OLD).isNull()
    is_same = reduce(and_, (F.col(f"n.{name}").eqNullSafe(F.col(f"o.{name}")) for name in model.columns))
    fate = F.when(is_gone, Fate.GONE.value).when(is_new | ~is_same, Fate.WRITTEN.value).otherwise(Fate.SAME.value)
    columns = (F.when(is_gone, F.col(f"o.{name}")).otherwise(F.col(f"n.{name}")).alias(name) for name in model.columns)
    return left.join(right, on=same_row, how="full_outer").select(*columns, fate.alias(FATE), F.col(_ALIKE))


def tally(model: Model, rows: DataFrame) -> Tally:
    """Count what becomes of rows, or refuse them: one row for each value of the grain, or nobody knows which it is."""
    fates = [F.count_if(F.col(FATE) == fate.value).alias(fate.value) for fate in Fate]
    keys = F.struct(*window_keys(model)) if model.window is not None else F.lit(None)
    windows = F.countDistinct(F.when(F.col(FATE) != Fate.GONE.value, keys)).alias("windows")
    found = rows.agg(*fates, windows, F.max(_ALIKE).alias(_ALIKE)).collect()[0]
    if (found[_ALIKE] or 1) > 1:
        as_texts = (F.col(name).cast("string").alias(name) for name in model.grain)  # Python has no year 0
        double = rows.where(F.col(_ALIKE) > 1).select(*as_texts).first()
        assert double is not None
        said = ", ".join(f"{name} = {value}" for name, value in double.asDict().items())
        raise Refused(
            f"{GOLD}.{model.name} would have {found[_ALIKE]} rows for one value of its grain: {said}",
            where=model.file,
            data=_as_it_was(model),
            next_step="group by the grain, or name more columns in `-- grain:`",
        )
    return Tally(found[Fate.WRITTEN.value], found[Fate.GONE.value], found["windows"])


def _refuse_what_a_table_cannot_have(model: Model, columns: StructType) -> None:
    for field in columns.fields:
        if isinstance(field.dataType, MapType):
            raise Refused(
                f"the column `{field.name}` of {GOLD}.{model.name} would be a map, and two maps cannot be compared",
                where=model.file,
                data=_as_it_was(model),
                next_step="take the values that matter: name['key']",
            )
    families = {field.name: _FAMILIES.get(kind := field.dataType.typeName(), kind) for field in columns.fields}
    for place, problem in partition_problems(families, model.partition):
        raise Refused(
            f"{GOLD}.{model.name} cannot be partitioned by {model.partition[place]}: {problem}",
            where=model.file,
            data=_as_it_was(model),
            next_step="mend `-- partition:`",
        )


_FAMILIES = {"integer": "int", "timestamp_ntz": "timestamp"}  # Spark's names of types that contracts call otherwise


def _as_it_was(model: Model) -> str:
    return f"{GOLD}.{model.name} is as it was"
