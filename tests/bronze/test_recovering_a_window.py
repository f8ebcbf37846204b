"""A recovery of files that arrived in a window leaves all others as they were; its rehearsal writes nothing."""

from __future__ import annotations

import shutil
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from accounts import account_of, check, places_found
from crashes import POINTS, Crash, crash_at
from pyiceberg.expressions import In
from streams import LIMITS, Stream, records

from smelter.bronze.landed import Window
from smelter.bronze.recovery import Recovered, recover, reread
from smelter.bronze.rehearsal import Rehearsed, rehearse
from smelter.bronze.stream import Hooks, driving
from smelter.errors import Refused
from smelter.lake.batches import BatchRecords
from smelter.lake.home import BRONZE, DEAD_LETTERS
from smelter.lake.sources import source_of
from smelter.lake.tables import load_table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HOUR = 3600
NINE = datetime(2026, 3, 1, 9, tzinfo=UTC).timestamp()
B_ALONE = Window(datetime(2026, 3, 1, 10, tzinfo=UTC), datetime(2026, 3, 1, 11, tzinfo=UTC))


@pytest.fixture
def hourly(stream: Stream) -> Stream:
    """Three files that arrived at nine, ten and eleven, each in a batch of its own."""
    for number, name in enumerate(("a.json", "b.json", "c.json")):
        stream.add(name, modified=NINE + number * HOUR)
        stream.drain_here(batch=number)
    return stream


def recovered(stream: Stream, spark: SparkSession, window: Window = B_ALONE, hooks: Hooks | None = None) -> Recovered:
    return recover(stream.lake, stream.contract, LIMITS, hooks, spark, 1000, window)


def rehearsed(stream: Stream, window: Window | None = B_ALONE) -> Rehearsed:
    return rehearse(stream.lake, stream.name, LIMITS, window)


def lose(stream: Stream, *names: str) -> None:
    """Somebody takes the records of these files out of both tables."""
    for namespace in (BRONZE, DEAD_LETTERS):
        sources = {source_of(stream.landing / name) for name in names}
        load_table(stream.lake, namespace, stream.name).delete(In(term="_source", literals=sources))


def held(stream: Stream) -> dict[str, int]:
    """File to its records in both tables."""
    return dict(Counter(Path(source).name for source, _, _ in places_found(stream)))


def everything(stream: Stream) -> dict[str, tuple[int, int]]:
    files = (path for path in stream.lake.root.rglob("*") if path.is_file())
    return {str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in files}


@pytest.mark.jvm
def test_only_files_of_the_window_are_read_again_and_receipts_of_others_stay(
    hourly: Stream, spark: SparkSession
) -> None:
    lose(hourly, "a.json", "b.json", "c.json")
    before = {path.name: path.read_bytes() for path in hourly.receipts.glob("*.done.json")}
    assert recovered(hourly, spark) == Recovered(files=1, records=4, written=4, gone=0)
    assert held(hourly) == {"b.json": 4}
    assert {name: (hourly.receipts / name).read_bytes() for name in before} == before
    last = BatchRecords(hourly.receipts).done()[-1]
    assert [Path(one.unit.source).name for one in last.receipts] == ["b.json"]
    assert recovered(hourly, spark).written == 0
    assert recovered(hourly, spark, Window(until=B_ALONE.since)).written == 4
    assert recovered(hourly, spark, Window(since=B_ALONE.until)).written == 4
    check(hourly)


@pytest.mark.jvm
def test_a_killed_recovery_of_a_window_stands_in_nobodys_way_and_can_be_asked_for_again(
    hourly: Stream, spark: SparkSession
) -> None:
    for point in (point for point in POINTS if point != "task_writing"):  # a task is no place for a driver to end
        lose(hourly, "b.json")
        with pytest.raises(Crash):
            recovered(hourly, spark, hooks=Hooks(reach=crash_at(point)))
        hourly.add(f"after {point}.json", modified=NINE + 5 * HOUR)
        hourly.drain_here()
        recovered(hourly, spark)
        check(hourly)


@pytest.mark.jvm
def test_a_window_that_was_prepared_and_lost_its_data_files_gives_no_file_free(
    hourly: Stream, spark: SparkSession
) -> None:
    lose(hourly, "b.json")
    with pytest.raises(Crash):
        recovered(hourly, spark, Window(), Hooks(reach=crash_at("prepared")))
    (intent,) = BatchRecords(hourly.receipts).prepared()
    for file in (*intent.bronze, *intent.letters):
        Path(file.path).unlink()
    assert hourly.drain_here() == []
    assert account_of(hourly).doubled == []
    recovered(hourly, spark)
    check(hourly)


@pytest.mark.jvm
def test_where_records_of_batches_are_lost_only_the_whole_recovery_helps(hourly: Stream, spark: SparkSession) -> None:
    shutil.rmtree(hourly.receipts)
    before = sorted(places_found(hourly))
    for ask in (lambda: recovered(hourly, spark), lambda: rehearsed(hourly)):
        with pytest.raises(Refused, match="does not mend that") as refusal:
            ask()
        assert "without --since and --until" in refusal.value.next_step
    assert (sorted(places_found(hourly)), BatchRecords(hourly.receipts).done()) == (before, [])
    recover(hourly.lake, hourly.contract, LIMITS, spark=spark)
    check(hourly)
    assert recovered(hourly, spark) == Recovered(files=1, records=4, written=0, gone=0)


@pytest.mark.jvm
def test_a_file_of_the_window_that_was_written_again_is_left_and_a_second_reading_is_known(
    hourly: Stream, spark: SparkSession
) -> None:
    path = hourly.put("b.json", records(good=8, bad=0), modified=NINE + HOUR + 60)
    assert rehearsed(hourly) == Rehearsed(left=1)
    assert recovered(hourly, spark) == Recovered(files=0, records=0, written=0, gone=1)
    check(hourly)
    hourly.add("b.json", path.read_bytes(), modified=NINE + HOUR + 60, reading=2)
    reread(hourly.lake, hourly.contract, LIMITS, path)
    assert recovered(hourly, spark) == Recovered(files=1, records=8, written=0, gone=0)
    check(hourly)


def test_a_window_without_files_needs_no_spark(hourly: Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("smelter.bronze.recovery.start_spark", lambda *_: pytest.fail("Spark was started"))
    found = recover(hourly.lake, hourly.contract, LIMITS, window=Window(datetime(2030, 1, 1, tzinfo=UTC)))
    assert found == Recovered(0, 0, 0, 0)


def test_a_rehearsal_tells_what_is_in_no_table_and_writes_nothing_beside_a_driver(hourly: Stream) -> None:
    lose(hourly, "a.json", "b.json")
    hourly.put("b 2.json", records(good=5, bad=0), modified=NINE + HOUR + 60)
    with driving(hourly.lake, hourly.name, Hooks()):
        before = everything(hourly)
        assert rehearsed(hourly) == Rehearsed(files=2, records=9, rows=8, letters=1, waiting=5)
        assert rehearsed(hourly, None) == Rehearsed(files=4, records=17, rows=11, letters=2, waiting=5)
        assert everything(hourly) == before
        hourly.receipts.rename(hourly.receipts.with_name("elsewhere"))  # records that go on while they are read
        assert rehearsed(hourly).waiting == 9
