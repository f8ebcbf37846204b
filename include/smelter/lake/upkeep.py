"""Files and snapshots of a table are put in order, by Iceberg's own procedures in Spark. No row changes.

Safe to kill and to repeat: each procedure ends in commits that are whole or not there, and what it had written before a
kill are files that no table names. The caller holds the table's lease; whoever only adds rows is not disturbed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from smelter.lake.derived import again_on_conflict, spark_name
from smelter.postgres import CATALOG_NAME

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

_NEVER = "TIMESTAMP '1970-01-01 00:00:00'"
_MOST_AT_ONCE = 1000  # snapshots in one statement


@dataclass(frozen=True)
class Packed:
    """What became of a table's files."""

    before: int
    after: int
    failed: int  # files that are as they were, because somebody else changed them meanwhile


def pack_files(spark: SparkSession, namespace: str, name: str, where: str | None, options: Mapping[str, str]) -> Packed:
    """Write small files anew as few large ones; `where` leaves files out, and has no user's text in it."""
    settings = ", ".join(f"'{key}', '{value}'" for key, value in options.items())
    condition = f', where => "{where}"' if where is not None else ""
    row = _call(spark, "rewrite_data_files", namespace, name, f"{condition}, options => map({settings})")
    return Packed(row["rewritten_data_files_count"], row["added_data_files_count"], row["failed_data_files_count"])


def expire_snapshots(spark: SparkSession, namespace: str, name: str, snapshots: Sequence[int]) -> int:
    """Let go of these snapshots and no others, and delete the files that only they had; how many files."""
    deleted = 0
    for first in range(0, len(snapshots), _MOST_AT_ONCE):
        ids = ", ".join(f"{number}L" for number in snapshots[first : first + _MOST_AT_ONCE])
        words = f", older_than => {_NEVER}, snapshot_ids => array({ids})"
        row = _call(spark, "expire_snapshots", namespace, name, words)
        deleted += sum(int(count or 0) for count in row.asDict().values())
    return deleted


def pack_manifests(spark: SparkSession, namespace: str, name: str) -> tuple[int, int]:
    """Write manifests anew, sorted by partition, so that a reader opens few; how many there were and are."""
    row = _call(spark, "rewrite_manifests", namespace, name, ", use_caching => false")
    return row["rewritten_manifests_count"], row["added_manifests_count"]


def rows_at(spark: SparkSession, namespace: str, name: str, snapshots: Sequence[int]) -> Iterator[int]:
    """How many rows a table had at each of these snapshots, counted from its files."""
    for snapshot in snapshots:
        yield spark.read.option("versionAsOf", str(snapshot)).table(spark_name(namespace, name)).count()


def _call(spark: SparkSession, procedure: str, namespace: str, name: str, words: str) -> Row:
    """Beside a stream a procedure may lose against a commit, and is done again from the start."""
    statement = f"CALL {CATALOG_NAME}.system.{procedure}(table => '{spark_name(namespace, name)}'{words})"
    found: list[Row] = []

    def run() -> None:
        found[:] = spark.sql(statement).collect()

    again_on_conflict(run)
    return found[0]
