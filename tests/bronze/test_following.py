"""A stream that follows, with Spark in this process: what it puts away, and what it tells while it waits."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from accounts import check
from conftest import NewStream
from crashes import Crash, crash_at
from drivers import wait_until
from streams import LIMITS, Stream

from smelter.bronze import stream as stream_module
from smelter.bronze.stream import Hooks, Pace, ingest
from smelter.supervise.heartbeat import Heartbeat, State, read_heartbeat

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.jvm


def left_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*.json")) if folder.exists() else []


@pytest.mark.parametrize("how", ["archive", "delete"])
def test_files_are_put_away_after_their_commit_and_the_receipts_keep_the_count(
    shared: NewStream, spark: SparkSession, how: str
) -> None:
    stream: Stream = shared(after_commit=how)
    stream.add("a.json")
    stream.add("deep/b.json")
    stream.drain(spark)
    assert left_in(stream.landing) == []
    assert left_in(stream.lake.archive(stream.name)) == (["a.json", "deep/b.json"] if how == "archive" else [])
    check(stream)
    stream.add("c.json")
    stream.drain(spark)
    check(stream)


@pytest.mark.parametrize("how", ["archive", "delete"])
@pytest.mark.parametrize("point", ["between_commits", "done"])
def test_a_driver_that_was_killed_before_it_put_files_away_leaves_that_to_the_next(
    shared: NewStream, spark: SparkSession, how: str, point: str
) -> None:
    stream: Stream = shared(after_commit=how)
    stream.add("a.json")
    with pytest.raises(Crash):
        stream.drain(spark, Hooks(reach=crash_at(point)))
    assert left_in(stream.landing) == ["a.json"]
    stream.add("b.json")
    stream.drain(spark)
    assert left_in(stream.landing) == []
    assert left_in(stream.lake.archive(stream.name)) == (["a.json", "b.json"] if how == "archive" else [])
    check(stream)


def test_a_name_that_comes_again_after_it_was_put_away_is_not_lost_in_silence(
    shared: NewStream, spark: SparkSession
) -> None:
    stream: Stream = shared(after_commit="archive")
    stream.add("a.json", modified=10**9)
    stream.drain(spark)
    again = stream.put("a.json", b'{"id": 1}\n')
    stream.drain(spark)
    check(stream)
    assert again.exists()
    assert stream.landing_now().rewritten == (again,)


def test_the_heartbeat_tells_what_waits_and_a_stream_can_be_asked_to_stop(
    shared: NewStream, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_module, "_LOOK_SECONDS", 0.0)
    stream: Stream = shared()
    stream.add("a.json")
    beats: list[Heartbeat] = []

    def waits_with(batches: int, files: int) -> bool:
        beat = read_heartbeat(stream.lake.run_folder(stream.name))
        beats.extend([] if beat is None else [beat])
        return (
            beat is not None and beat.state is State.WAITING and (beat.batches, beat.waiting_files) == (batches, files)
        )

    once_a_day = Pace(follow=True, trigger_seconds=86_400)
    over = threading.Event()
    words = (stream.lake, stream.contract, LIMITS, once_a_day, Hooks(should_stop=over.is_set), spark)
    driver = threading.Thread(target=ingest, args=words)
    driver.start()
    try:
        wait_until(lambda: waits_with(batches=1, files=0), "it had one batch, and nothing waits")
        assert beats[-1].oldest_waiting_seconds is None
        stream.add("b.json", modified=10**9)
        wait_until(lambda: waits_with(batches=1, files=1), "it has seen the file that waits")
    finally:
        over.set()
        driver.join()
    oldest = beats[-1].oldest_waiting_seconds
    assert oldest is not None
    assert oldest > 86_400
    assert (beats[-1].batch, beats[-1].records, beats[-1].accepted, beats[-1].dead) == (0, 4, 3, 1)
    last = read_heartbeat(stream.lake.run_folder(stream.name))
    assert last is not None
    assert last.state is State.STOPPED
    stream.drain(spark)
    check(stream)
