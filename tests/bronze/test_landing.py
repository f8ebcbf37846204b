"""The landing folder: what waits, what is empty or unfinished, and what goes away after its commit."""

from __future__ import annotations

import os

import pytest
from accounts import check
from crashes import POINTS, Crash, crash_at
from streams import Stream, contract_of, records

from smelter.lake.batches import Receipt, Unit
from smelter.lake.home import Lake
from smelter.lake.landing import Landing, look_at, put_away


def seen(stream: Stream) -> Landing:
    return look_at(stream.landing, stream.bronze().books.committed)


def test_files_wait_until_they_are_in_the_tables(stream: Stream) -> None:
    paths = {stream.add("a.json"), stream.add("deep/er/b.json")}
    assert set(seen(stream).waiting) == paths
    stream.drain_here()
    assert (seen(stream).waiting, seen(stream).known) == ((), 2)


def test_the_oldest_waiting_file_says_how_long_it_waits(stream: Stream) -> None:
    assert seen(stream).oldest_waiting_seconds is None
    stream.add("a.json", modified=10**9)
    stream.add("b.json")
    waits = seen(stream).oldest_waiting_seconds
    assert waits is not None
    assert waits > 10 * 365 * 86_400


def test_empty_and_unfinished_files_are_named(stream: Stream) -> None:
    empty = stream.put("empty.json", b"")
    names = ("_a.json", ".b.json", "c.json.tmp", "d.part", "_deep/e.json")
    unfinished = {stream.put(name, records()) for name in names}
    found = seen(stream)
    assert (found.empty, set(found.unfinished)) == ((empty,), unfinished)


def test_a_name_that_is_no_text_is_named(stream: Stream) -> None:
    stream.landing.mkdir(parents=True)
    path = os.fsencode(stream.landing) + b"/\xff.json"
    with open(path, "wb") as file:  # noqa: PTH123
        file.write(records())
    assert [os.fsencode(one) for one in seen(stream).unnameable] == [path]


@pytest.mark.parametrize("after_commit", ["archive", "delete"])
def test_only_a_file_that_is_still_what_was_read_is_put_away(lake: Lake, after_commit: str) -> None:
    stream = Stream(lake, contract_of("orders", after_commit=after_commit))
    for name in ("steady.json", "deep/steady.json", "changed.json", "cut off.json"):
        stream.add(name, b'{"id": 1}\n{"id"' if name.startswith("cut") else None)
    (report,) = stream.drain_here()
    stream.replace("changed.json")
    archive = lake.archive("orders") if after_commit == "archive" else None
    assert put_away(report.receipts, stream.landing, archive, just_read=True) == (2, [])
    assert put_away(report.receipts, stream.landing, archive, just_read=True) == (0, [])
    left = {str(path.relative_to(stream.landing)) for path in stream.landing.rglob("*.json")}
    assert left == {"changed.json", "cut off.json"}
    if archive is not None:
        kept = {str(path.relative_to(archive)): path.read_bytes() for path in archive.rglob("*.json")}
        steady = {source: sent.data for source, sent in stream.sent.items() if "steady" in source}
        assert sorted(kept) == ["deep/steady.json", "steady.json"]
        assert sorted(kept.values()) == sorted(steady.values())
    check(stream)


def test_a_later_reading_is_archived_beside_the_first(lake: Lake) -> None:
    stream = Stream(lake, contract_of("orders", after_commit="archive"))
    archive = lake.archive("orders")
    for reading in (1, 2):
        path = stream.add("a.json", reading=reading)
        source = path.as_uri() + ("#2" if reading == 2 else "")
        unit = Unit(source, path.stat().st_size, path.stat().st_mtime_ns)
        assert put_away([Receipt(unit, "", 4, 3, 1)], stream.landing, archive, just_read=True) == (1, [])
    assert sorted(path.name for path in archive.iterdir()) == ["a.json", "a.json#2"]


@pytest.mark.parametrize("point", POINTS)
def test_no_file_is_put_away_before_its_records_are_in_the_tables(lake: Lake, point: str) -> None:
    stream = Stream(lake, contract_of("orders", after_commit="delete"))
    path = stream.add("a.json")
    with pytest.raises(Crash):
        stream.drain_here(crash_at(point))
    assert path.exists()
