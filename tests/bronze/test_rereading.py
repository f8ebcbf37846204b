"""A file that was written again after it was read is named, and can be taken whole as a new source, once."""

from __future__ import annotations

from pathlib import Path

import pytest
from accounts import check
from crashes import POINTS, Crash, crash_at
from streams import LIMITS, Stream, records

from smelter.bronze.recovery import reread
from smelter.bronze.stream import Hooks
from smelter.errors import Refused
from smelter.lake.landing import look_at
from smelter.lake.sources import source_of


def rewritten(stream: Stream) -> tuple[Path, ...]:
    return look_at(stream.landing, stream.bronze().books.committed).rewritten


def read_and_write_again(stream: Stream) -> Path:
    """A file that was read, and then written with other records; the truth is both of its readings."""
    path = stream.add("a.json")
    stream.drain_here()
    return stream.add("a.json", records(good=5, bad=2), modified=path.stat().st_mtime + 60, reading=2)


def test_a_rewritten_file_is_named_and_not_read_again_by_itself(stream: Stream) -> None:
    path = stream.add("a.json")
    stream.add("b.json")
    stream.drain_here()
    assert rewritten(stream) == ()
    stream.replace("a.json")
    assert stream.drain_here() == []
    assert rewritten(stream) == (path,)
    check(stream)


def test_a_rewritten_file_is_taken_whole_as_a_second_reading(stream: Stream) -> None:
    path = read_and_write_again(stream)
    report = reread(stream.lake, stream.contract, LIMITS, path)
    assert report.receipts[0].unit.source == source_of(path, 2) == f"{path.as_uri()}#2"
    assert (report.accepted, report.dead) == (5, 2)
    assert rewritten(stream) == ()
    check(stream)


def test_a_second_reading_of_the_same_content_is_refused(stream: Stream) -> None:
    path = read_and_write_again(stream)
    reread(stream.lake, stream.contract, LIMITS, path)
    with pytest.raises(Refused, match="is in the tables as it is now"):
        reread(stream.lake, stream.contract, LIMITS, path)
    check(stream)


def test_each_writing_of_a_file_is_a_reading_of_its_own(stream: Stream) -> None:
    path = read_and_write_again(stream)
    reread(stream.lake, stream.contract, LIMITS, path)
    stream.add("a.json", records(), modified=path.stat().st_mtime + 60, reading=3)
    assert reread(stream.lake, stream.contract, LIMITS, path).receipts[0].unit.source.endswith("a.json#3")
    check(stream)


def test_a_file_named_like_a_reading_is_a_file_of_its_own(stream: Stream) -> None:
    path = read_and_write_again(stream)
    stream.add("a.json#2")
    stream.drain_here()
    reread(stream.lake, stream.contract, LIMITS, path)
    check(stream)


@pytest.mark.parametrize("name", ["new.json", "../elsewhere.json", "_hidden.json", "gone.json"])
def test_only_a_landing_file_that_was_read_can_be_read_again(stream: Stream, name: str) -> None:
    stream.add("a.json")
    stream.drain_here()
    if name != "gone.json":
        stream.put(name, records())
    with pytest.raises(Refused) as refusal:
        reread(stream.lake, stream.contract, LIMITS, stream.landing / name)
    assert refusal.value.data == "nothing was read or changed"


@pytest.mark.parametrize("point", POINTS)
def test_a_killed_reading_can_be_asked_for_again(stream: Stream, point: str) -> None:
    path = read_and_write_again(stream)
    with pytest.raises(Crash):
        reread(stream.lake, stream.contract, LIMITS, path, Hooks(reach=crash_at(point), task_reach=crash_at(point)))
    stream.add("b.json")
    stream.drain_here()
    try:
        reread(stream.lake, stream.contract, LIMITS, path)
    except Refused:
        assert point in ("prepared", "between_commits", "committed", "done")
    check(stream)
