"""Tables that are made from other tables, by Spark: made, merged into and replaced, with a bookmark in each commit.

Safe to kill and to repeat: each function is one commit, whole or not there, and its bookmark is part of it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation
from pyiceberg.table.update import AssertCurrentSchemaId, SetPropertiesUpdate
from pyiceberg.table.update.snapshot import _FastAppendFiles
from tenacity import Retrying, retry_if_exception, stop_after_attempt, wait_random_exponential

from smelter.lake.catalog import catalog_errors
from smelter.lake.evolution import schema_updates
from smelter.lake.evolved import evolved_schema, refuse_names_of_partitions
from smelter.lake.home import Lake
from smelter.lake.spark_types import partition_column
from smelter.lake.tables import TABLE_PROPERTIES, ensure_table
from smelter.postgres import CATALOG_NAME

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SNAPSHOT_PROPERTY = "spark.sql.iceberg.snapshot-property"
_SOURCE_VIEW = "smelter_changes"
_ATTEMPTS = 10
_CONFLICTS = ("ValidationException", "CommitFailedException")


def spark_name(namespace: str, name: str) -> str:
    """A table as Spark's SQL calls it."""
    return f"{CATALOG_NAME}.{namespace}.{name}"


def ensure_derived(
    lake: Lake, namespace: str, name: str, schema: Schema, partitions: Sequence[str], properties: Mapping[str, str]
) -> Table:
    """The table, made if it is not there."""
    return ensure_table(lake, namespace, name, schema, tuple(partitions), dict(properties))


def evolve(table: Table, schema: Schema, origins: Mapping[str, str | None], properties: Mapping[str, str]) -> None:
    """Give the table the columns of a schema, each with the values of its origin; nothing changes if it has them."""
    wanted = evolved_schema(table.metadata, schema, origins)
    refuse_names_of_partitions(table.metadata, wanted, ".".join(table.name()))
    updates = schema_updates(table.metadata, wanted)
    changed = {name: value for name, value in properties.items() if table.properties.get(name) != value}
    if not updates and not changed:
        return
    still = AssertCurrentSchemaId(current_schema_id=table.metadata.current_schema_id)
    with _quiet(table), table.transaction() as transaction:
        transaction._apply((*updates, SetPropertiesUpdate(updates=changed)), (still,))


def refuse_strange_columns(table: Table, schema: Schema) -> None:
    """Columns that the table cannot have when it is replaced: partitionings that it had stay in its metadata."""
    refuse_names_of_partitions(table.metadata, evolved_schema(table.metadata, schema, {}), ".".join(table.name()))


def frozen(rows: DataFrame) -> DataFrame:
    """The rows as they are now, computed once, however often they are looked at; they no longer know their tables.

    Spark 4.1 cannot plan a merge that updates from a view of a table read at a snapshot. And a million rows cost 5 s in
    this way, 7 s cached by columns, and 9 s computed anew for facts, checks and merge.
    """
    return rows.localCheckpoint()


def merge(
    spark: SparkSession,
    namespace: str,
    name: str,
    source: DataFrame,
    on: str,
    clauses: Sequence[str],
    summary: Mapping[str, str],
) -> None:
    """`MERGE INTO` the table `t` from the rows `s`, in one commit that carries the summary.

    Whoever rewrites files meanwhile makes it fail, and it is done again from the start on the table as it is then.
    The rows are `frozen`. The caller holds the table's lease: of two merges that only insert, Iceberg would let both
    insert the same row.
    """
    target = spark_name(namespace, name)
    statement = f"MERGE INTO {target} AS t USING {_SOURCE_VIEW} AS s ON {on} {' '.join(clauses)}"
    source.createOrReplaceTempView(_SOURCE_VIEW)
    with _summary(spark, summary):
        again_on_conflict(lambda: spark.sql(statement))
    spark.catalog.dropTempView(_SOURCE_VIEW)


def append(spark: SparkSession, namespace: str, name: str, rows: DataFrame, summary: Mapping[str, str]) -> None:
    """Add rows, a file for each of their parts, in one commit that carries the summary."""
    with _summary(spark, summary):
        rows.writeTo(spark_name(namespace, name)).option("distribution-mode", "none").append()


def replace(
    spark: SparkSession,
    namespace: str,
    name: str,
    rows: DataFrame,
    partitions: Sequence[str],
    properties: Mapping[str, str],
    summary: Mapping[str, str],
) -> None:
    """The table's rows, columns and partitioning become these, in one commit; readers see the old ones until then."""
    writer = rows.writeTo(spark_name(namespace, name)).using("iceberg")
    if partitions:
        first, *others = [partition_column(text) for text in partitions]
        writer = writer.partitionedBy(first, *others)
    for key, value in {**TABLE_PROPERTIES, **properties}.items():
        writer = writer.tableProperty(key, value)
    with _summary(spark, summary):
        again_on_conflict(writer.createOrReplace)


def move_bookmark(table: Table, summary: Mapping[str, str]) -> None:
    """A commit without rows, for its summary alone."""
    with _quiet(table), table.transaction() as transaction:
        _FastAppendFiles(Operation.APPEND, transaction, table.io, snapshot_properties=dict(summary)).commit()


@contextmanager
def _quiet(table: Table) -> Iterator[None]:
    with catalog_errors(".".join(table.name())), warnings.catch_warnings(action="ignore"):
        yield


@contextmanager
def _summary(spark: SparkSession, summary: Mapping[str, str]) -> Iterator[None]:
    """The next commits of the session carry it; a property that stayed would be in other tables' snapshots too."""
    names = {f"{_SNAPSHOT_PROPERTY}.{name}": value for name, value in summary.items()}
    try:
        for name, value in names.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name in names:
            spark.conf.unset(name)


def again_on_conflict(step: Callable[[], object]) -> None:
    """Whoever else commits at the same moment makes a step fail; it is done again on the table as it is then."""
    Retrying(
        retry=retry_if_exception(_is_conflict),
        stop=stop_after_attempt(_ATTEMPTS),
        wait=wait_random_exponential(multiplier=0.2, max=5),
        reraise=True,
    )(step)


def _is_conflict(problem: BaseException) -> bool:
    return any(f"org.apache.iceberg.exceptions.{name}" in str(problem) for name in _CONFLICTS)
