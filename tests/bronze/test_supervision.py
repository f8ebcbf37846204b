"""What a driver tells of itself: a heartbeat with numbers, a line per batch, a log that does not grow for ever."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from accounts import check
from crashes import Crash, crash_at
from streams import Stream, records

from smelter.processes import start_ticks
from smelter.supervise.heartbeat import HEARTBEAT, State, read_heartbeat
from smelter.supervise.lock import LOCK, holder, only_driver
from smelter.supervise.log import KEPT, LOG, DriverLog


def log_of(stream: Stream) -> list[str]:
    return (stream.lake.run_folder(stream.name) / LOG).read_text("utf-8").splitlines()


def test_the_heartbeat_tells_of_the_last_batch_and_of_all(stream: Stream) -> None:
    stream.add("a.json", records(good=3, bad=2))
    with pytest.raises(Crash):
        stream.drain_here(crash_at("between_commits"))
    stream.add("b.json", records(good=1, bad=1))
    last = stream.drain_here(batch=7)[-1]
    beat = read_heartbeat(stream.lake.run_folder(stream.name))
    assert beat is not None
    assert (beat.stream, beat.pid, beat.state, beat.batch, beat.token) == (
        "orders",
        os.getpid(),
        State.STOPPED,
        7,
        last.token,
    )
    assert (beat.records, beat.accepted, beat.dead) == (2, 1, 1)
    assert (beat.batches, beat.total_records, beat.total_accepted, beat.total_dead) == (2, 7, 4, 3)


def test_a_driver_that_fails_says_so_last(stream: Stream) -> None:
    stream.add("a.json")
    with pytest.raises(Crash):
        stream.drain_here(crash_at("judged"))
    beat = read_heartbeat(stream.lake.run_folder(stream.name))
    assert beat is not None
    assert (beat.state, beat.note) == (State.FAILED, "Crash: judged")
    assert log_of(stream)[-1].endswith("driver_failed batches=0 records=0 note='Crash: judged'")


def test_a_heartbeat_that_is_half_or_of_another_kind_is_none(tmp_path: Path) -> None:
    for text in ("", "{", "[]", '{"state": "dancing"}'):
        (tmp_path / HEARTBEAT).write_text(text)
        assert read_heartbeat(tmp_path) is None
    assert read_heartbeat(tmp_path / "nowhere") is None


def test_every_batch_is_one_line_with_its_numbers(stream: Stream) -> None:
    stream.add("a.json", records(good=3, bad=2))
    (report,) = stream.drain_here(batch=41)
    lines = [line for line in log_of(stream) if "batch_" in line]
    pattern = (
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ batch_committed batch=41 files=1 records=5 accepted=3 dead=2 "
        rf"seconds=\d+\.\d{{3}} token={re.escape(report.token)}"
    )
    assert len(lines) == 1
    assert re.fullmatch(pattern, lines[0])
    check(stream)


def test_the_log_is_turned_over_before_it_grows_too_large(tmp_path: Path) -> None:
    log = DriverLog(tmp_path, most_bytes=1000)
    for number in range(300):
        log.say("batch_committed", batch=number)
    log.close()
    files = sorted(path.name for path in tmp_path.iterdir())
    assert files == [LOG, *(f"{LOG}.{number}" for number in range(1, KEPT + 1))]
    assert all(path.stat().st_size <= 1000 for path in tmp_path.iterdir())
    assert (tmp_path / LOG).read_text().endswith("batch_committed batch=299\n")


def test_a_value_with_spaces_or_line_ends_stays_one_word_on_one_line(tmp_path: Path) -> None:
    log = DriverLog(tmp_path)
    log.say("fact", note="a b=c\nd", empty="", odd="\ud800")
    log.close()
    (line,) = (tmp_path / LOG).read_text("utf-8").splitlines()
    assert line.endswith(r"fact note='a b=c\nd' empty='' odd='\ud800'")


def test_the_lock_names_its_holder_and_dies_with_it(tmp_path: Path) -> None:
    with only_driver(tmp_path, "orders"):
        found = holder(tmp_path)
        assert found is not None
        assert (found.pid, found.started_ticks) == (os.getpid(), start_ticks(os.getpid()))
    assert holder(tmp_path) is None
    assert json.loads((tmp_path / LOCK).read_text())["pid"] == os.getpid()
    with only_driver(tmp_path, "orders"):
        pass
