"""Records of batches that are lost: noticed before anything is written, and made anew from the tables."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from accounts import account_of, check, places_found, rows_of
from crashes import Crash, crash_at
from streams import LIMITS, Stream, records

from smelter.bronze.recovery import Recovered, recover
from smelter.bronze.stream import Hooks
from smelter.errors import Refused, Unreachable
from smelter.lake.batches import BatchRecords
from smelter.lake.home import BRONZE, DEAD_LETTERS
from smelter.lake.landing import look_at

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.jvm
ASK_FOR_RECOVERY = "smelt ingest orders --recover"


def recovered(stream: Stream, spark: SparkSession, hooks: Hooks | None = None, *, at_once: int = 1000) -> Recovered:
    return recover(stream.lake, stream.contract, LIMITS, hooks, spark, at_once)


def batches_of(stream: Stream, count: int) -> list[Path]:
    """The records of so many batches, each of one file, oldest first."""
    for number in range(count):
        stream.add(f"{number}.json")
        stream.drain_here(batch=number)
    done = {one.token: one.sequence for one in BatchRecords(stream.receipts).done()}
    paths = sorted(stream.receipts.glob("*.done.json"), key=lambda path: path.name)
    assert len(paths) == len(done) == count
    return paths


def refuse(stream: Stream, spark: SparkSession) -> None:
    """A plain ingest is refused, names the way out, and has changed nothing."""
    before = sorted(places_found(stream))
    with pytest.raises(Refused) as refusal:
        stream.drain(spark)
    assert refusal.value.next_step.startswith(ASK_FOR_RECOVERY)
    assert sorted(places_found(stream)) == before


def test_when_all_records_of_batches_are_lost_a_plain_ingest_is_refused_and_a_recovery_writes_nothing_twice(
    stream: Stream, spark: SparkSession
) -> None:
    batches_of(stream, 2)
    shutil.rmtree(stream.receipts)
    stream.add("new.json")
    refuse(stream, spark)
    assert recovered(stream, spark) == Recovered(files=3, records=12, written=4, gone=0)
    check(stream)
    stream.add("later.json")
    stream.drain(spark)
    check(stream)


@pytest.mark.parametrize("lost", [0, 1, 2])
def test_when_the_record_of_one_batch_is_lost_a_plain_ingest_is_refused(
    stream: Stream, spark: SparkSession, lost: int
) -> None:
    batches_of(stream, 3)[lost].unlink()
    stream.add("new.json")
    refuse(stream, spark)
    recovered(stream, spark)
    check(stream)
    stream.add("later.json")
    stream.drain(spark)
    check(stream)


def test_when_only_the_letters_of_a_batch_were_committed_a_recovery_writes_its_rows(
    stream: Stream, spark: SparkSession
) -> None:
    stream.add("a.json", records(good=5, bad=3))
    with pytest.raises(Crash):
        stream.drain_here(crash_at("between_commits"))
    assert (rows_of(stream, BRONZE), len(rows_of(stream, DEAD_LETTERS))) == ([], 3)
    shutil.rmtree(stream.receipts)
    stream.add("b.json", records(good=2, bad=0))
    refuse(stream, spark)
    assert recovered(stream, spark) == Recovered(files=2, records=10, written=7, gone=0)
    check(stream)
    stream.add("later.json")
    stream.drain(spark)
    check(stream)


def test_a_recovery_that_is_killed_is_finished_by_the_next_one(stream: Stream, spark: SparkSession) -> None:
    batches_of(stream, 3)
    shutil.rmtree(stream.receipts)
    for number, point in enumerate(("planned", "judged", "prepared", "between_commits", "committed", "done")):
        stream.add(f"new {number}.json")
        with pytest.raises(Crash):
            recovered(stream, spark, Hooks(reach=crash_at(point, nth=2)), at_once=2)
    recovered(stream, spark, at_once=2)
    check(stream)


def test_after_a_killed_recovery_a_plain_ingest_is_refused_or_right(stream: Stream, spark: SparkSession) -> None:
    batches_of(stream, 3)
    shutil.rmtree(stream.receipts)
    with pytest.raises(Crash):
        recovered(stream, spark, Hooks(reach=crash_at("done")), at_once=1)
    stream.add("new.json")
    refuse(stream, spark)
    recovered(stream, spark)
    check(stream)


def test_a_recovery_of_a_stream_in_good_order_writes_nothing(stream: Stream, spark: SparkSession) -> None:
    batches_of(stream, 2)
    assert recovered(stream, spark) == Recovered(files=2, records=8, written=0, gone=0)
    check(stream)


def test_a_source_whose_file_is_gone_is_accounted_for_from_the_tables(stream: Stream, spark: SparkSession) -> None:
    batches_of(stream, 2)
    stream.delete("0.json")
    shutil.rmtree(stream.receipts)
    assert recovered(stream, spark) == Recovered(files=1, records=4, written=0, gone=1)
    check(stream)


def test_a_recovery_does_not_mix_a_rewritten_file_with_its_first_reading(stream: Stream, spark: SparkSession) -> None:
    path = stream.add("a.json", records(good=3, bad=0))
    stream.drain_here()
    stream.put("a.json", records(good=8, bad=0), modified=path.stat().st_mtime + 60)
    shutil.rmtree(stream.receipts)
    recovered(stream, spark)
    check(stream)
    assert look_at(stream.landing, stream.bronze().books.committed).rewritten == (path,)


def test_a_recovery_does_not_add_rows_to_a_file_that_is_one_letter(stream: Stream, spark: SparkSession) -> None:
    path = stream.add("a.json", records(good=5, bad=0))
    units = stream.units()
    stream.put("a.json", records(good=5, bad=0), modified=path.stat().st_mtime + 60)
    stream.bronze().take_in(units, "here", 0)
    stream.expect_letter("a.json", "file_changed")
    check(stream)
    shutil.rmtree(stream.receipts)
    recovered(stream, spark)
    check(stream)
    assert look_at(stream.landing, stream.bronze().books.committed).rewritten == (path,)


def test_a_table_that_was_dropped_is_noticed_and_filled_again(stream: Stream, spark: SparkSession) -> None:
    batches_of(stream, 2)
    stream.lake.catalog.drop_table((BRONZE, stream.name))
    stream.add("new.json")
    with pytest.raises(Refused, match="not the table that the records of batches tell of"):
        stream.drain_here()
    recovered(stream, spark)
    check(stream)


def test_a_record_of_a_batch_that_cannot_be_read_is_named(stream: Stream, spark: SparkSession) -> None:
    first = batches_of(stream, 2)[0]
    first.write_bytes(first.read_bytes()[:40])
    with pytest.raises(Unreachable, match="the record of a batch cannot be read") as refusal:
        stream.drain_here()
    assert refusal.value.where == str(first)
    first.unlink()
    refuse(stream, spark)
    recovered(stream, spark)
    check(stream)
    assert account_of(stream).is_balanced


def test_a_record_from_before_a_recovery_is_missed_too(stream: Stream, spark: SparkSession) -> None:
    """It may be the only one that knows of a file which has gone since."""
    first, second, _ = batches_of(stream, 3)
    first.unlink()
    stream.delete("1.json")
    recovered(stream, spark)
    check(stream, reconciled=False)
    second.unlink()
    shutil.rmtree(stream.checkpoint, ignore_errors=True)
    path = stream.landing / "1.json"
    sent = stream.sent[path.as_uri()]
    stream.put("1.json", sent.data, modified=sent.modified_ns / 1e9)
    refuse(stream, spark)
    recovered(stream, spark)
    assert account_of(stream).doubled == []


def test_after_a_recovery_of_a_batch_whose_data_files_are_gone_the_stream_goes_on(
    stream: Stream, spark: SparkSession
) -> None:
    batches_of(stream, 1)
    stream.add("a.json", records(good=5, bad=3))
    with pytest.raises(Crash):
        stream.drain_here(crash_at("between_commits"), batch=1)
    (intent,) = BatchRecords(stream.receipts).prepared()
    for file in intent.bronze:
        Path(file.path).unlink()
    refuse(stream, spark)
    recovered(stream, spark)
    for name in ("b.json", "c.json"):
        stream.add(name)
        stream.drain(spark)
        check(stream)
