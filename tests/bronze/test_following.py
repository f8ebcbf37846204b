"""A stream that follows, with Spark in this process: what it puts away, and what it tells while it waits."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from accounts import check
from conftest import NewStream
from crashes import Crash, crash_at
from drivers import wait_until
from streams import LIMITS, Stream

from smelter.bronze import query as query_module
from smelter.bronze.stream import Hooks, Pace, ingest
from smelter.errors import Refused
from smelter.supervise.heartbeat import Heartbeat, State, read_heartbeat
from smelter.supervise.lock import holder
from smelter.supervise.requests import Wish, ask_to_stop, want

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
    monkeypatch.setattr(query_module, "_LOOK_SECONDS", 0.0)
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


def test_a_paused_stream_keeps_its_driver_takes_nothing_and_goes_on_when_it_may(
    shared: NewStream, spark: SparkSession
) -> None:
    stream: Stream = shared()
    folder = stream.lake.run_folder(stream.name)
    stream.add("a.json")

    def is_at(state: State, batches: int) -> bool:
        beat = read_heartbeat(folder)
        return beat is not None and (beat.state, beat.batches) == (state, batches)

    words = (stream.lake, stream.contract, LIMITS, Pace(follow=True, trigger_seconds=0.2), Hooks(), spark)
    driver = threading.Thread(target=ingest, args=words)
    driver.start()
    try:
        wait_until(lambda: is_at(State.WAITING, 1), "it had one batch")
        want(folder, Wish.PAUSE, "ann", "too many letters")
        wait_until(lambda: is_at(State.PAUSED, 1), "it rests")
        paused = read_heartbeat(folder)
        stream.add("b.json")
        time.sleep(2)
        assert is_at(State.PAUSED, 1)
        want(folder, Wish.RUN, "ann")
        wait_until(lambda: is_at(State.WAITING, 2), "it went on")
        want(folder, Wish.PAUSE, "ann")
        stream.add("c.json")
        wait_until(lambda: is_at(State.PAUSED, 2), "it rests again, with a batch that is planned")
    finally:
        want(folder, Wish.STOP, "ann", "the end")
        driver.join()
    assert paused is not None
    assert "paused by ann" in paused.note
    assert "too many letters" in paused.note
    last = read_heartbeat(folder)
    assert last is not None
    assert (last.state, last.exit_code) == (State.STOPPED, 0)
    with pytest.raises(Refused, match="stopped by ann"):
        ingest(*words)
    want(folder, Wish.PAUSE, "ann")
    with pytest.raises(Refused, match="paused by ann"):
        stream.drain(spark)
    want(folder, Wish.RUN, "ann")
    stream.drain(spark)
    check(stream)


def test_a_driver_ends_when_it_is_asked_by_name_and_the_next_one_does_not_hear_of_it(
    shared: NewStream, spark: SparkSession
) -> None:
    stream: Stream = shared()
    folder = stream.lake.run_folder(stream.name)
    words = (stream.lake, stream.contract, LIMITS, Pace(follow=True, trigger_seconds=0.2), Hooks(), spark)
    driver = threading.Thread(target=ingest, args=words)
    driver.start()
    try:
        wait_until(lambda: (beat := read_heartbeat(folder)) is not None and beat.state is State.WAITING, "it waits")
    finally:
        found = holder(folder)
        assert found is not None
        ask_to_stop(folder, found.run, "a test")
        driver.join()
    stream.add("a.json")
    stream.drain(spark)
    check(stream)
    beat = read_heartbeat(folder)
    assert beat is not None
    assert beat.run not in ("", found.run)
    assert beat.token
    stream.drain(spark)
    later = read_heartbeat(folder)
    assert later is not None
    assert (later.batches, later.token) == (0, beat.token), "the stream's last commit outlives the driver that made it"
