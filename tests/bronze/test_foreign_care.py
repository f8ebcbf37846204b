"""Somebody else compacts the tables and expires their snapshots while the stream is down: nothing is written twice."""

from __future__ import annotations

import shutil
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from accounts import check, places_found
from conftest import NewStream
from crashes import Crash, crash_at, do_at
from streams import LIMITS, Stream

from smelter.bronze.recovery import recover
from smelter.bronze.stream import Hooks
from smelter.errors import Refused
from smelter.lake.batches import BatchRecords
from smelter.lake.home import BRONZE, DEAD_LETTERS
from smelter.lake.tables import load_table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.jvm


def compact_and_expire(stream: Stream, spark: SparkSession) -> None:
    """Plain Spark SQL, as anybody might run it: every trace of a token in a snapshot is gone."""
    for namespace in (BRONZE, DEAD_LETTERS):
        name = f"lake.{namespace}.{stream.name}"
        if load_table(stream.lake, namespace, stream.name).current_snapshot() is None:
            continue
        options = "options => map('min-input-files', '2', 'rewrite-all', 'true')"
        spark.sql(f"CALL lake.system.rewrite_data_files(table => '{name}', {options})").collect()
        expire = f"table => '{name}', older_than => TIMESTAMP '2100-01-01 00:00:00', retain_last => 1"
        spark.sql(f"CALL lake.system.expire_snapshots({expire})").collect()
        assert len(load_table(stream.lake, namespace, stream.name).metadata.snapshots) == 1


def two_batches(stream: Stream, spark: SparkSession) -> None:
    for number in range(2):
        stream.add(f"{number}.json", modified=10**9 + number)
    assert len(stream.drain(spark, max_files=1)) == 2


@pytest.mark.parametrize("lost", ["nothing", "the last commit", "the checkpoint"])
def test_a_stream_goes_on_exactly_once_after_foreign_expiry_and_the_loss_of(
    shared: NewStream, spark: SparkSession, lost: str
) -> None:
    stream: Stream = shared()
    two_batches(stream, spark)
    compact_and_expire(stream, spark)
    if lost == "the last commit":
        (stream.checkpoint / "commits" / "1").unlink()
        (stream.checkpoint / "commits" / ".1.crc").unlink()
    elif lost == "the checkpoint":
        shutil.rmtree(stream.checkpoint)
    stream.add("new.json")
    stream.drain(spark)
    check(stream)
    stream.add("later.json")
    stream.drain(spark)
    check(stream)


@pytest.mark.parametrize("point", ["prepared", "between_commits", "committed", "done"])
def test_a_batch_that_was_killed_before_foreign_expiry_is_in_the_tables_once(
    shared: NewStream, spark: SparkSession, point: str
) -> None:
    stream: Stream = shared()
    two_batches(stream, spark)
    stream.add("a.json")
    with pytest.raises(Crash):
        stream.drain_here(crash_at(point))
    compact_and_expire(stream, spark)
    stream.add("b.json")
    stream.drain(spark)
    check(stream)


def test_foreign_expiry_between_the_two_commits_of_a_running_batch_hurts_nothing(
    shared: NewStream, spark: SparkSession
) -> None:
    stream: Stream = shared()
    two_batches(stream, spark)
    for point in ("prepared", "between_commits"):
        stream.add(f"{point}.json")
        stream.drain(spark, Hooks(reach=do_at(point, lambda: compact_and_expire(stream, spark))))
        check(stream)


@pytest.mark.parametrize("point", ["judged", "prepared"])
def test_without_a_lock_and_with_foreign_expiry_a_driver_that_slept_adds_nothing(
    shared: NewStream, spark: SparkSession, point: str
) -> None:
    stream: Stream = shared()
    two_batches(stream, spark)
    stream.add("a.json")

    def another() -> None:
        stream.lock_is_lost()
        stream.drain_here()
        compact_and_expire(stream, spark)

    with suppress(Refused):
        stream.drain_here(do_at(point, another))
    check(stream)


@pytest.mark.parametrize("lost", ["all", "the last"])
def test_lost_records_of_batches_are_noticed_also_after_foreign_expiry(
    shared: NewStream, spark: SparkSession, lost: str
) -> None:
    stream: Stream = shared()
    two_batches(stream, spark)
    compact_and_expire(stream, spark)
    shutil.rmtree(stream.checkpoint)
    last = max(BatchRecords(stream.receipts).done(), key=lambda done: done.sequence)
    for path in stream.receipts.glob("*.done.json"):
        if lost == "all" or last.token in path.read_text():
            path.unlink()
    stream.add("new.json")
    before = sorted(places_found(stream))
    with pytest.raises(Refused, match="lost"):
        stream.drain(spark)
    assert sorted(places_found(stream)) == before
    recover(stream.lake, stream.contract, LIMITS, spark=spark)
    check(stream)
