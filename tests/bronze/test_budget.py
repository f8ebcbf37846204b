"""A stream with too many dead letters pauses itself: by figures that outlive its driver, once for the same records."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from accounts import check
from conftest import NewStream
from crashes import Crash, crash_at
from drivers import wait_until, write_contract
from streams import LIMITS, Stream, records

from smelter.bronze.batch import Bronze
from smelter.bronze.books import ASKED
from smelter.bronze.budget import COUNTED, Budget, Newest, Overdrawn
from smelter.bronze.mishaps import overdrawn
from smelter.bronze.stream import Hooks, Pace, driving, ingest
from smelter.cli.main import run
from smelter.contracts.model import DeadLetters
from smelter.errors import Refused
from smelter.lake.batches import BatchRecords
from smelter.lake.evolution import apply_contract
from smelter.supervise.heartbeat import State, read_heartbeat
from smelter.supervise.log import LOG
from smelter.supervise.requests import Wish, want, wanted
from smelter.supervise.standing import Condition, standing_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OF_SPARK = "0123456789ab"  # an origin such as Spark's checkpoints have


def set_budget(stream: Stream, pause_at: str | None = "20%", over: int = 6, version: int = 1) -> None:
    """The stream's contract with a budget; of a later version, it is applied to the lake."""
    letters = DeadLetters() if pause_at is None else DeadLetters(pause_at=pause_at, over=f"{over} records")
    stream.contract = stream.contract.model_copy(update={"dead_letters": letters, "version": version})
    if version > 1:
        apply_contract(stream.lake, stream.contract)


def folder_of(stream: Stream) -> Path:
    return stream.lake.run_folder(stream.name)


def log_of(stream: Stream) -> str:
    return (folder_of(stream) / LOG).read_text("utf-8")


@dataclass
class Driver:
    """One life of a driver without a JVM: a batch is one file."""

    stream: Stream
    bronze: Bronze
    budget: Budget

    def batch(self, good: int, bad: int, origin: str = OF_SPARK) -> Overdrawn | None:
        number = self.bronze.books.next_sequence()
        self.stream.add(f"{number}.json", records(good=good, bad=bad))
        report = self.bronze.take_in(self.stream.units([f"{number}.json"]), origin, number)
        assert report is not None
        return self.budget.keep(report) if origin == OF_SPARK else None


@contextmanager
def a_driver(stream: Stream, *, follow: bool = True) -> Iterator[Driver]:
    with driving(stream.lake, stream.name, Hooks()) as pulse:
        bronze = stream.bronze()
        yield Driver(stream, bronze, Budget(bronze, pulse, follow=follow))


def test_the_newest_batches_are_counted_that_hold_enough_records_and_none_before_them() -> None:
    chance = random.Random(7)
    for over in (1, 5, 100):
        sent: list[tuple[int, int]] = []
        newest = Newest(over)
        for _ in range(300):
            size = chance.choice([0, 1, 2, 30, 200])
            sent.append((size, chance.randint(0, size)))
            newest.add(*sent[-1])
            needed = next((n for n in range(1, len(sent) + 1) if sum(r for r, _ in sent[-n:]) >= over), len(sent))
            counted = sent[-needed:]
            assert (newest.records, newest.dead) == (sum(r for r, _ in counted), sum(d for _, d in counted))


def test_batches_that_hold_nothing_take_no_room() -> None:
    newest = Newest(10, [(5, 1), *[(0, 0)] * 1000])
    assert len(newest._batches) == 1


@pytest.mark.parametrize(
    ("allowed", "batches", "is_too_much"),
    [
        (0.2, [(10, 2)], False),
        (0.2, [(10, 3)], True),
        (0.2, [(9, 9)], False),
        (0.2, [(9, 9), (1, 0)], True),
        (0.2, [(9, 9), (10, 0)], False),
        (0.2, [(5, 2), (5, 1)], True),
        (0.0, [(10, 0)], False),
        (0.0, [(10_000, 1)], True),
        (0.07, [(100, 7)], False),
    ],
)
def test_a_larger_share_than_is_allowed_is_too_much_and_fewer_records_are_no_verdict(
    allowed: float, batches: list[tuple[int, int]], is_too_much: bool
) -> None:
    assert (Newest(10, batches).overdrawn(allowed) is not None) == is_too_much


def test_the_verdict_is_a_sentence_with_figures() -> None:
    assert str(Overdrawn(1204, 376, 0.2)) == ("376 of the last 1,204 records (31.2%) are dead letters, more than 20%")
    assert "(0.0213%) are dead letters, more than 0.007%" in str(Overdrawn(1_000_000, 213, 0.00007))


def test_a_stream_over_its_budget_pauses_with_a_reason_and_counting_begins_anew(stream: Stream) -> None:
    set_budget(stream)
    with a_driver(stream) as driver:
        assert driver.batch(good=2, bad=2) is None
        assert wanted(folder_of(stream)).wish is Wish.RUN
        assert driver.batch(good=3, bad=1) == Overdrawn(8, 3, 0.2)
        said = wanted(folder_of(stream))
        assert (said.wish, said.by) == (Wish.PAUSE, "the budget of dead letters")
        assert said.reason == (
            "3 of the last 8 records (37.5%) are dead letters, more than 20%: "
            "smelt dlq ls orders; then smelt stream resume orders"
        )
        assert "stream_paused_by_budget records=8 dead=3 share=0.375\n" in log_of(stream)
        want(folder_of(stream), Wish.RUN, "ann")
        assert driver.batch(good=2, bad=3) is None, "5 records since the pause are too few"
        assert driver.batch(good=1, bad=0) == Overdrawn(6, 3, 0.2)


def test_counting_outlives_the_driver_and_so_does_the_end_of_what_was_counted(stream: Stream) -> None:
    set_budget(stream)
    with a_driver(stream, follow=False) as first:
        assert first.batch(good=2, bad=2) is None
    with a_driver(stream, follow=False) as second:
        assert second.batch(good=1, bad=1) == Overdrawn(6, 3, 0.2)
    want(folder_of(stream), Wish.RUN, "ann")
    with a_driver(stream, follow=False) as third:
        assert third.batch(good=0, bad=5) is None
    with a_driver(stream, follow=False) as fourth:
        assert fourth.batch(good=1, bad=0) == Overdrawn(6, 5, 0.2)


@pytest.mark.parametrize("left", [None, "", "{", "[]", "{}", '{"counted": "2"}', '{"counted": 99}'])
def test_a_note_of_what_was_counted_that_is_lost_or_broken_means_counting_from_the_newest(
    stream: Stream, left: str | None
) -> None:
    set_budget(stream)
    with a_driver(stream) as driver:
        assert driver.batch(good=3, bad=3) is not None
    assert json.loads((folder_of(stream) / COUNTED).read_text()) == {"counted": 1}
    (folder_of(stream) / COUNTED).unlink()
    if left is not None:
        (folder_of(stream) / COUNTED).write_text(left)
    want(folder_of(stream), Wish.RUN, "ann")
    with a_driver(stream) as driver:
        assert driver.batch(good=1, bad=0) == Overdrawn(7, 3, 0.2)


@pytest.mark.parametrize("origin", [*ASKED, "gone", "replay"])
def test_batches_that_spark_did_not_hand_out_do_not_count(stream: Stream, origin: str) -> None:
    set_budget(stream)
    with a_driver(stream) as driver:
        driver.batch(good=0, bad=9, origin=origin)
        assert driver.batch(good=5, bad=0) is None
        assert driver.batch(good=1, bad=2) == Overdrawn(8, 2, 0.2)


@pytest.mark.parametrize("wish", [Wish.STOP, Wish.PAUSE])
def test_what_somebody_else_wished_stands_and_the_stream_is_judged_again_with_its_next_batch(
    stream: Stream, wish: Wish
) -> None:
    set_budget(stream)
    with a_driver(stream) as driver:
        theirs = want(folder_of(stream), wish, "ann", "the source is broken")
        assert driver.batch(good=3, bad=3) is None
        assert wanted(folder_of(stream)) == theirs
        want(folder_of(stream), Wish.RUN, "ann")
        assert driver.batch(good=1, bad=0) == Overdrawn(7, 3, 0.2)


def test_a_drain_against_a_stop_is_told_and_the_stop_stands(stream: Stream) -> None:
    set_budget(stream)
    with a_driver(stream, follow=False) as driver:
        theirs = want(folder_of(stream), Wish.STOP, "ann", "the source is broken")
        assert driver.batch(good=3, bad=3) == Overdrawn(6, 3, 0.2)
        assert wanted(folder_of(stream)) == theirs
        assert "stream_paused_by_budget" not in log_of(stream)
        assert overdrawn("too many", driver.bronze).next_step == "smelt dlq ls orders; then smelt ingest orders --drain"


def test_a_driver_that_was_killed_before_it_wished_for_the_pause_leaves_the_verdict_to_the_next_records(
    stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_budget(stream)
    with monkeypatch.context() as patched:
        patched.setattr("smelter.bronze.budget.want", lambda *_: crash_at("wish")("wish"))
        with pytest.raises(Crash), a_driver(stream) as driver:
            driver.batch(good=3, bad=3)
    with a_driver(stream) as driver:
        assert driver.batch(good=5, bad=0) is None
        assert driver.batch(good=0, bad=2) == Overdrawn(7, 2, 0.2)


def test_the_budget_is_that_of_the_contract_which_is_active_now(stream: Stream) -> None:
    set_budget(stream, None)
    with a_driver(stream) as driver:
        assert driver.batch(good=0, bad=2) is None
        set_budget(stream, "60%", over=3, version=2)
        assert driver.batch(good=2, bad=2) is None
        assert driver.batch(good=2, bad=1) is None
        set_budget(stream, "45%", over=9, version=3)
        assert driver.batch(good=1, bad=0) == Overdrawn(10, 5, 0.45)


def test_batches_that_came_while_there_was_no_budget_count_when_there_is_one_again(stream: Stream) -> None:
    set_budget(stream)
    with a_driver(stream) as driver:
        assert driver.batch(good=1, bad=0) is None
        set_budget(stream, None, version=2)
        assert driver.batch(good=0, bad=4) is None
        set_budget(stream, version=3)
        assert driver.batch(good=1, bad=0) == Overdrawn(6, 4, 0.2)


def test_records_of_batches_are_read_once_and_not_again_with_each_batch(
    stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_budget(stream, "90%", over=3)
    readings: list[Path] = []
    read = BatchRecords.done

    def counted(self: BatchRecords) -> Any:
        readings.append(self.folder)
        return read(self)

    with a_driver(stream) as driver:
        monkeypatch.setattr(BatchRecords, "done", counted)
        assert [driver.batch(good=2, bad=1) for _ in range(4)] == [None] * 4
    assert len(readings) == 1


def test_a_pause_that_cannot_be_written_down_does_not_end_the_stream(stream: Stream) -> None:
    set_budget(stream)
    (folder_of(stream) / COUNTED).mkdir(parents=True)
    with a_driver(stream) as driver:
        assert driver.batch(good=3, bad=3) is None
        assert "stream_not_paused why=" in log_of(stream)
        (folder_of(stream) / COUNTED).rmdir()
        assert driver.batch(good=1, bad=0) == Overdrawn(7, 3, 0.2)


@pytest.mark.jvm
def test_a_stream_that_follows_rests_with_its_reason_and_takes_the_waiting_file_when_it_is_resumed(
    shared: NewStream,
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    stream: Stream = shared()
    set_budget(stream)
    folder = folder_of(stream)
    monkeypatch.setenv("SMELTER_CONTRACTS", str(write_contract(stream, tmp_path / "contracts").parent))
    monkeypatch.setenv("SMELTER_LAKE", str(stream.lake.root))
    stream.add("a.json", records(good=4, bad=2))
    words = (stream.lake, stream.contract, LIMITS, Pace(follow=True, trigger_seconds=0.2), Hooks(), spark)
    driver = threading.Thread(target=ingest, args=words)
    driver.start()
    try:
        wait_until(lambda: standing_of(folder).condition is Condition.PAUSED, "it rests")
        stream.add("b.json", records(good=3, bad=0))
        assert run(["stream", "status", stream.name]) == 0
        status = capsys.readouterr().out
        assert not stream.has_read("b.json")
        assert run(["stream", "resume", stream.name]) == 0
        wait_until(lambda: stream.has_read("b.json"), "it went on")
        wait_until(lambda: standing_of(folder).condition is Condition.WAITING, "it waits")
        assert wanted(folder).wish is Wish.RUN, "the records of a.json have been counted once"
    finally:
        want(folder, Wish.STOP, "a test")
        driver.join()
    assert "paused (paused by the budget of dead letters at " in status
    assert (
        ": 2 of the last 6 records (33.3%) are dead letters, more than 20%: "
        f"smelt dlq ls {stream.name}; then smelt stream resume {stream.name})"
    ) in status
    check(stream)


@pytest.mark.jvm
def test_a_drain_over_its_budget_ends_after_that_batch_and_later_ones_are_refused_until_it_is_resumed(
    shared: NewStream,
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    stream: Stream = shared()
    set_budget(stream)
    monkeypatch.setenv("SMELTER_CONTRACTS", str(write_contract(stream, tmp_path / "contracts").parent))
    monkeypatch.setenv("SMELTER_LAKE", str(stream.lake.root))
    stream.add("a.json", records(good=4, bad=2), modified=10**9)
    stream.add("b.json", records(good=3, bad=3))
    end = time.monotonic() + 60  # one that waited to be resumed would wait for ever
    with pytest.raises(Refused, match=r"2 of the last 6 records \(33.3%\) are dead letters, more than 20%") as refused:
        stream.drain(spark, Hooks(should_stop=lambda: time.monotonic() > end), max_files=1)
    assert refused.value.data == "what was committed stays committed; the other files wait in the landing folder"
    assert refused.value.next_step == f"smelt dlq ls {stream.name}; then smelt stream resume {stream.name}"
    assert (stream.has_read("a.json"), stream.has_read("b.json")) == (True, False)
    last = read_heartbeat(folder_of(stream))
    assert last is not None
    assert (last.state, last.exit_code, last.note) == (State.STOPPED, 1, refused.value.what)
    with pytest.raises(Refused, match="is paused by the budget of dead letters at"):
        stream.drain(spark)
    assert run(["ingest", stream.name, "--drain", "--if-wanted"]) == 0
    assert "nothing was drained: the stream is paused by the budget" in capsys.readouterr().out
    want(folder_of(stream), Wish.RUN, "ann")
    with pytest.raises(Refused, match=r"3 of the last 6 records \(50%\) are dead letters"):
        stream.drain(spark)  # also if nothing is left that could wait
    check(stream)
    want(folder_of(stream), Wish.RUN, "ann")
    assert stream.drain(spark) == []
