from __future__ import annotations

import datetime
import json
import os
import signal
import threading
from collections import Counter
from pathlib import Path

import pytest
from runs import content_of

from smelter.errors import Refused, WrongUsage
from smelter.producer import Faults, Format, Plan, produce
from smelter.producer import files as files_room
from smelter.producer.pace import Pace, undisturbed

EVERY_FAULT = {"invalid": 0.1, "garbage": 0.1, "corrupt": 0.3, "empty_file": 0.3, "duplicate_file": 0.3}


def snapshot(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {p.name: (p.read_bytes(), p.stat().st_mtime_ns) for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("form", list(Format))
def test_the_same_seed_and_start_give_the_same_bytes_names_and_times(everything, tmp_path, form, packed):
    plans = [
        Plan(150, tmp_path / name, seed=3, format=form, gzip=packed, records_per_file=40, faults=Faults(**EVERY_FAULT))
        for name in ("a", "b")
    ]
    for plan in plans:
        produce(everything, plan)
    assert snapshot(tmp_path / "a") == snapshot(tmp_path / "b")


def test_another_seed_or_start_gives_other_bytes(events, tmp_path):
    plans = [Plan(5, tmp_path, seed=1), Plan(5, tmp_path, seed=2)]
    plans.append(Plan(5, tmp_path, seed=1, start=datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)))
    contents = {produce(events, plan).files[0].read_bytes() for plan in plans}
    assert len(contents) == 3


def test_a_file_is_named_for_its_run_and_lies_in_the_folder_of_its_day(events, tmp_path):
    start = datetime.datetime(2026, 11, 16, 11, 43, tzinfo=datetime.UTC)
    done = produce(events, Plan(3, tmp_path, seed=7, start=start, by_day=True, gzip=True))
    assert done.files == (tmp_path / "2026/11/16/events-20261116T114300Z-s7-00001.json.gz",)


def test_a_file_arrives_one_second_after_its_last_event(events, run):
    done = run(events, 25, records_per_file=10, rate=1000.0)
    for path in done.produced.files:
        last = max(json.loads(line["record"])["event_timestamp"] for line in done.truth if line["source"] == str(path))
        arrival = datetime.datetime.fromisoformat(last) + datetime.timedelta(seconds=1)
        assert path.stat().st_mtime == arrival.timestamp()


def test_each_format_holds_the_records_of_the_truth(events, run):
    arrays = [run(events, 30, format=form) for form in (Format.ARRAY, Format.PRETTY)]
    lines = run(events, 30, format=Format.NDJSON)
    for done in arrays:
        (content,) = done.contents.values()
        assert json.loads(content) == [json.loads(line["record"]) for line in done.truth]
        assert all(line["record"] in content.decode() for line in done.truth)
    assert arrays[0].contents.popitem()[1].count(b"\n") == 1
    assert b'\n  {\n    "user_id": ' in arrays[1].contents.popitem()[1]
    (content,) = lines.contents.values()
    assert content.decode() == "".join(line["record"] + "\n" for line in lines.truth)


def test_nothing_appears_half_written(events, tmp_path, monkeypatch):
    seen: list[str] = []
    real_fsync = os.fsync

    def look(number: int) -> None:
        seen.extend(path.name for path in tmp_path.iterdir())
        real_fsync(number)

    monkeypatch.setattr(files_room.os, "fsync", look)
    done = produce(events, Plan(1, tmp_path))
    assert [name.startswith(".") for name in seen] == [True]
    assert list(tmp_path.iterdir()) == list(done.files)


def test_a_failed_write_leaves_nothing_behind(events, tmp_path, monkeypatch):
    def fail(number: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files_room.os, "fsync", fail)
    with pytest.raises(OSError, match="No space"):
        produce(events, Plan(1, tmp_path / "data", truth=tmp_path / "truth"))
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_second_run_changes_nothing_and_another_content_is_refused(events, tmp_path):
    plan = Plan(20, tmp_path, records_per_file=10)
    first = produce(events, plan)
    before = snapshot(tmp_path)
    assert produce(events, plan) == first
    with pytest.raises(Refused, match="other content"):
        produce(events, Plan(20, tmp_path, records_per_file=5))
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("form", list(Format))
def test_the_truth_describes_each_cut_exactly(everything, run, form, packed):
    faults = {"corrupt": 1.0, "garbage": 0.2, "invalid": 0.1}
    done = run(everything, 150, faults=faults, format=form, gzip=packed, records_per_file=6)
    assert len(done.produced.files) == 25
    for source, content in done.contents.items():
        lines = [line for line in done.truth if line["source"] == source]
        assert [line["position"] for line in lines] == list(range(len(lines)))
        *whole, letter = lines
        assert (letter["reason"], letter["record"], letter["fault"]) == ("truncated_batch", None, "corrupt")
        rest = content.decode()
        for line in whole:
            before, found, rest = rest.partition(line["record"])
            assert found
            assert before.strip(" \n,[") == ""
        check_tail(form, rest)


def check_tail(form: Format, rest: str) -> None:
    """What is left after the whole records is the beginning of one that is not whole."""
    tail = rest.strip(" \n,[")
    assert not rest.rstrip().endswith("]") or tail.startswith("{")
    assert '{"id":'.startswith("".join(tail.split())[:6]), "a cut in garbage has no clear verdict"
    if form is Format.NDJSON:
        assert tail.startswith("{")
    if tail:
        with pytest.raises(json.JSONDecodeError):
            json.loads(tail)


def test_a_cut_can_leave_all_some_or_no_records(events, run):
    done = run(events, 300, faults={"corrupt": 1.0}, records_per_file=5)
    sizes = Counter(line["source"] for line in done.truth)
    assert {size - 1 for size in sizes.values()} >= {0, 1, 2, 3, 4}


def test_half_of_the_files_are_cut_when_half_of_them_are_asked_for(events, run):
    done = run(events, 120, faults={"corrupt": 0.5}, records_per_file=2)
    assert 15 < done.produced.by_reason["truncated_batch"] < 45


def test_an_empty_file_has_no_records_and_one_line_of_truth(events, run):
    done = run(events, 60, faults={"empty_file": 1}, records_per_file=2)
    empty = done.said_of("empty_file")
    assert len(empty) == 30
    assert {(line["verdict"], line["position"]) for line in empty} == {("empty", None)}
    assert {content_of(Path(line["source"])).strip() for line in empty} == {b"", b"[]"}
    assert done.produced.records == 60


def test_a_copied_file_is_the_same_and_all_of_its_records_are_there_again(events, run):
    done = run(events, 10, faults={"duplicate_file": 1, "invalid": 0.5}, records_per_file=5)
    first, copy, *_ = done.produced.files
    assert first.read_bytes() == copy.read_bytes()
    told = [[line for line in done.truth if line["source"] == str(path)] for path in (first, copy)]
    assert [{**line, "source": ""} for line in told[0]] == [{**line, "source": ""} for line in told[1]]
    assert done.produced.records == len(done.truth) == 20


def test_the_tally_is_that_of_the_truth(events, run):
    done = run(events, 500, faults=EVERY_FAULT, records_per_file=20)
    counted = Counter(line["reason"] for line in done.truth if line["verdict"] == "dead")
    assert done.produced.by_reason == counted
    assert done.produced.good == sum(line["verdict"] == "good" for line in done.truth)
    assert done.produced.records == done.produced.good + done.produced.dead


@pytest.mark.parametrize(
    "wrong",
    [{"count": 0}, {"count": -1}, {"seed": -1}, {"rate": 0.0}, {"rate": float("nan")}, {"records_per_file": 0},
     {"start": datetime.datetime(2026, 1, 1)}, {"start": datetime.datetime(9999, 1, 1, tzinfo=datetime.UTC)}],
)  # fmt: skip
def test_a_plan_without_meaning_is_refused(tmp_path, wrong):
    with pytest.raises(WrongUsage):
        Plan(**{"count": 1, "to": tmp_path, **wrong})


def test_a_rate_beyond_one_is_refused():
    with pytest.raises(WrongUsage, match="late"):
        Faults(late=1.5)


def test_a_pace_waits_until_the_records_are_due():
    clock = [0.0]
    ticks: list[float] = []

    def sleep(seconds: float) -> None:
        clock[0] += seconds

    pace = Pace(10.0, lambda: ticks.append(clock[0]), now=lambda: clock[0], sleep=sleep)
    pace.wait_for(25)
    assert clock[0] == pytest.approx(2.5)
    assert len(ticks) == 3
    pace.wait_for(20)
    assert clock[0] == pytest.approx(2.5)


def test_ctrl_c_waits_until_a_file_and_its_truth_are_written():
    reached = []

    def be_interrupted() -> None:
        with undisturbed():
            signal.raise_signal(signal.SIGINT)
            reached.append("the end of the block")

    with pytest.raises(KeyboardInterrupt):
        be_interrupted()
    assert reached


def test_the_producer_also_runs_outside_of_the_main_thread(events, tmp_path):
    thread = threading.Thread(target=produce, args=(events, Plan(5, tmp_path)))
    thread.start()
    thread.join()
    assert len(list(tmp_path.iterdir())) == 1
