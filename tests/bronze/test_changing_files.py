"""A file that is replaced, cut or deleted while its batch is under way: as it was, or one letter, never a mix."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from accounts import check, rows_of
from crashes import AFTER_THE_INTENT, BEFORE_THE_INTENT, Crash, crash_at, do_at
from streams import Stream, records

from smelter.bronze import stage
from smelter.lake.home import BRONZE
from smelter.lake.landing import look_at

Meddle = Callable[[Stream, str], None]
MEDDLERS: dict[str, tuple[Meddle, str]] = {
    "replaced": (Stream.replace, "file_changed"),
    "cut": (Stream.cut, "file_changed"),
    "deleted": (Stream.delete, "file_unreadable"),
}


def kill_and_meddle(stream: Stream, point: str) -> None:
    """A batch is killed at the point; then each of its files but one meets a meddler, and a new file arrives."""
    for name in ("steady", *MEDDLERS):
        stream.add(f"{name}.json")
    with pytest.raises(Crash):
        stream.drain_here(crash_at(point))
    for name, (meddle, _) in MEDDLERS.items():
        meddle(stream, f"{name}.json")
    stream.add("new.json")


@pytest.mark.parametrize("point", BEFORE_THE_INTENT)
def test_a_planned_file_that_is_not_as_it_was_planned_is_one_letter(stream: Stream, point: str) -> None:
    kill_and_meddle(stream, point)
    stream.drain_here()
    for name, (_, reason) in MEDDLERS.items():
        stream.expect_letter(f"{name}.json", reason)
    check(stream)
    stream.drain_here()
    check(stream)


@pytest.mark.parametrize("point", AFTER_THE_INTENT)
def test_a_prepared_batch_holds_the_records_that_were_read_whatever_became_of_the_files(
    stream: Stream, point: str
) -> None:
    kill_and_meddle(stream, point)
    stream.drain_here()
    check(stream)
    stream.drain_here()
    check(stream)


@pytest.mark.parametrize(("meddler", "verdict"), [("replaced", "file_changed"), ("cut", "file_changed")])
def test_a_file_that_changes_while_it_is_read_is_one_letter_and_none_of_its_rows(
    stream: Stream, meddler: str, verdict: str
) -> None:
    stream.add("a.json", records(good=50, bad=10))
    stream.add("b.json")

    def write_over() -> None:  # in place, as the task holds the file open
        with (stream.landing / "a.json").open("r+b") as file:
            file.truncate(13) if meddler == "cut" else file.write(b'{"id": 1}')
        os.utime(stream.landing / "a.json", (10**9, 10**9))

    stream.drain_here(do_at("task_writing", write_over))
    stream.expect_letter("a.json", verdict)
    check(stream)


def test_a_large_file_that_changes_while_it_is_read_leaves_none_of_its_data_files(
    stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stage, "HELD_BYTES", 100)
    stream.add("a.json", records(good=500, bad=10))

    def grow() -> None:
        with (stream.landing / "a.json").open("ab") as file:
            file.write(b'{"id": 1}\n')

    stream.drain_here(do_at("task_writing", grow))
    stream.expect_letter("a.json", "file_changed")
    check(stream)
    assert list((stream.lake.root / "tables" / BRONZE).rglob("*.parquet")) == []
    assert rows_of(stream, BRONZE) == []


def test_a_file_that_was_gone_and_comes_back_is_named_and_not_read_in_silence(stream: Stream) -> None:
    path = stream.add("a.json")
    with pytest.raises(Crash):
        stream.drain_here(crash_at("planned"))
    kept = path.read_bytes()
    path.unlink()
    stream.drain_here()
    stream.expect_letter("a.json", "file_unreadable")
    check(stream)
    stream.put("a.json", kept)
    stream.drain_here()
    check(stream)
    assert look_at(stream.landing, stream.bronze().books.committed).rewritten == (path,)


def test_a_file_that_may_not_be_read_is_one_letter(stream: Stream) -> None:
    stream.add("a.json")
    path = stream.add("folder.json")
    units = stream.units()
    path.unlink()
    path.mkdir()
    stream.bronze().take_in(units, "here", 0)
    stream.expect_letter("folder.json", "file_changed")
    check(stream, reconciled=False)
