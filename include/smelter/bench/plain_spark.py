"""The job that most would write: text, `from_json`, checks by Spark functions, persist, two Iceberg appends.

It checks what the contract of events says as far as Spark's functions can tell it: required fields, unknown keys,
listed values, the range of the time. A number where a string belongs, a key that appears twice or text after the first
document of a line is good for it, and a batch that is repeated after a crash is there twice.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.functions import (
    array,
    array_except,
    col,
    current_timestamp,
    explode,
    expr,
    from_json,
    json_object_keys,
    lit,
    size,
    try_to_timestamp,
    when,
)

from smelter.bench.bronze_files import ARRAYS
from smelter.contracts import Contract
from smelter.contracts.types import Map, Scalar
from smelter.lake.home import Lake
from smelter.lake.session import start_spark

_MEMORY = "4g"  # the default of 1 GB makes it spill what it persists
_GOOD, _BAD = "lake.plain.events", "lake.plain.dead"
# No shuffle and no sort before the write: every row of a run is of the same day.
_PROPERTIES = "'write.distribution-mode'='none', 'write.spark.fanout.enabled'='true'"


class PlainSpark:
    """A session of its own, kept warm."""

    def __init__(self, spark: SparkSession, contract: Contract, lake: Lake) -> None:
        self._spark = spark
        self._contract = contract
        self._lake = lake
        self._make_tables()

    @classmethod
    @contextmanager
    def open(cls, contract: Contract, lake: Lake) -> Iterator[PlainSpark]:
        """Start Spark, and stop it at the end."""
        os.environ["PYSPARK_SUBMIT_ARGS"] = f"--driver-memory {_MEMORY} pyspark-shell"
        spark = start_spark(lake, "plain", lake.run_folder("plain"))
        try:
            yield cls(spark, contract, lake)
        finally:
            spark.stop()

    def ready(self, folder: Path, form: str) -> Callable[[], None]:
        """Nothing is done before the run."""
        return lambda: self._run(folder, form)

    def held(self) -> tuple[int, int]:
        """What both tables say of themselves."""
        from smelter.bench.bronze_contenders import rows_of

        return rows_of(self._lake, "plain", "events"), rows_of(self._lake, "plain", "dead")

    def _run(self, folder: Path, form: str) -> None:
        checked = self._checked(self._records(folder, form)).persist(StorageLevel.MEMORY_AND_DISK)
        fields = [col(f"parsed.{name}") for name in self._contract.fields if name != "event_timestamp"]
        stamps = [col("_source"), col("_arrived_at"), current_timestamp().alias("_ingested_at")]
        good = checked.where(col("reason").isNull()).select(*fields, col("event_timestamp"), *stamps)
        bad = checked.where(col("reason").isNotNull()).select(col("raw"), col("reason"), *stamps)
        try:
            good.writeTo(_GOOD).append()
            bad.writeTo(_BAD).append()
        finally:
            checked.unpersist()

    def _records(self, folder: Path, form: str) -> DataFrame:
        """One row per record: its text and where it came from."""
        where = [
            col("_metadata.file_path").alias("_source"),
            col("_metadata.file_modification_time").alias("_arrived_at"),
        ]
        files = self._spark.read.text(str(folder), wholetext=form == ARRAYS)
        if form == ARRAYS:
            elements = explode(from_json("value", "array<string>"))
            return files.select(elements.alias("raw"), *where)
        return files.select(col("value").alias("raw"), *where)

    def _checked(self, records: DataFrame) -> DataFrame:
        """The record parsed, with its time, and the reason if it is bad."""
        shape = ", ".join(f"`{name}` {_spark_type(rules.kind)}" for name, rules in self._contract.fields.items())
        parsed = records.withColumn("parsed", from_json("raw", shape)).withColumn("keys", json_object_keys("raw"))
        timed = parsed.withColumn("event_timestamp", try_to_timestamp("parsed.event_timestamp"))
        return timed.withColumn("reason", self._reason()).drop("keys")

    def _reason(self) -> Column:
        required = [name for name, rules in self._contract.fields.items() if rules.required]
        is_missing = lit(False)
        for name in required:
            is_missing = is_missing | col(f"parsed.{name}").isNull()
        known = array(*map(lit, self._contract.fields))
        listed = self._contract.fields["event_type"].one_of or ()
        time = col("event_timestamp")
        latest = col("_arrived_at") + expr("interval 1 hour")
        return (
            when(col("keys").isNull(), "not_json")
            .when(size(array_except("keys", known)) > 0, "unknown_field")
            .when(is_missing, "missing_field")
            .when(time.isNull(), "wrong_type")
            .when(~col("parsed.event_type").isin(*listed), "rule_broken")
            .when((time < lit("2020-01-01T00:00:00Z").cast("timestamp")) | (time > latest), "rule_broken")
        )

    def _make_tables(self) -> None:
        self._spark.sql("create namespace if not exists lake.plain")
        stamps = "_source string, _arrived_at timestamp, _ingested_at timestamp"
        fields = ", ".join(
            f"`{name}` {_spark_type(rules.kind)}"
            for name, rules in self._contract.fields.items()
            if name != "event_timestamp"
        )
        good, bad = f"{fields}, event_timestamp timestamp", "raw string, reason string"
        for table, shape in ((_GOOD, good), (_BAD, bad)):
            properties = f"{_PROPERTIES}, 'write.parquet.compression-codec'='zstd'"
            self._spark.sql(
                f"create table {table} ({shape}, {stamps}) using iceberg partitioned by (days(_ingested_at))"
                f" tblproperties ({properties})"
            )


def _spark_type(kind: object) -> str:
    """Times are parsed after: `from_json` takes integers for them, and reads them slowly."""
    if isinstance(kind, Map):
        return "map<string,string>"
    assert isinstance(kind, Scalar)
    return "string"
