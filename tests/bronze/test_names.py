"""Which files are read: all that are whole, however they are called, wherever they lie, whenever they were written."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from accounts import check
from conftest import NewStream
from crashes import do_at
from streams import LIMITS, Stream, contract_of, records

from smelter.bronze.recovery import recover
from smelter.bronze.stream import Hooks
from smelter.lake.home import Lake
from smelter.lake.landing import look_at
from smelter.settings import Settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.jvm
DAY = 86_400
ODD_NAMES = [
    "*.json",
    "a?b.json",
    "{p,q}.json",
    "p.json",
    "[ab].json",
    "a.json",
    "a:b.json",
    "é.json",
    "e\u0301.json",
    "文件.json",
    "with spaces and  two.json",
    " leading.json",
    "%20.json",
    "100%.json",
    "%2e.json",
    "#2",
    "a.json#2",
    "a#b?c=d&e+f.json",
    "new\nline.json",
    "back\\slash.json",
    "quote'\".json",
    "~.json",
    "deep/er/*/x.json",
    "a b/c.json",
    "day=2026-11-16/x.json",
    "x" * 200 + ".json",
    "no ending",
]


def test_an_odd_name_is_a_name_and_not_a_pattern(shared: NewStream, spark: SparkSession) -> None:
    stream: Stream = shared()
    for name in ODD_NAMES:
        stream.add(name)
    (report,) = stream.drain(spark)
    assert report.files == len(ODD_NAMES)
    check(stream)
    assert stream.drain(spark) == []
    assert look_at(stream.landing, stream.bronze().books.committed).known == len(ODD_NAMES)


def test_no_file_is_too_old_or_too_new(shared: NewStream, spark: SparkSession) -> None:
    stream: Stream = shared()
    now = time.time()
    stream.add("now.json")
    stream.drain(spark)
    for days in (-8, -400, -20_000, 30):
        stream.add(f"{days} days.json", modified=now + days * DAY)
    (report,) = stream.drain(spark)
    assert report.files == 4
    stream.add("after all.json", modified=now - 8 * DAY)
    stream.drain(spark)
    check(stream)


def test_unfinished_files_are_left_alone_until_they_have_their_name(shared: NewStream, spark: SparkSession) -> None:
    stream: Stream = shared()
    names = ("_a.json", ".b.json", "c.json.tmp", "d.part", "_deep/e.json", "deep/.f.json", ".deep/g.json")
    for name in names:
        stream.put(name, records())
    stream.add("whole.json")
    (report,) = stream.drain(spark)
    assert report.files == 1
    check(stream)
    for number, name in enumerate(names):
        data = (stream.landing / name).read_bytes()
        (stream.landing / name).unlink()
        stream.add(f"{number}.json", data)
    stream.drain(spark)
    check(stream)


def test_empty_files_are_named_and_stop_nothing(shared: NewStream, spark: SparkSession) -> None:
    stream: Stream = shared()
    empty = stream.put("empty.json", b"")
    stream.add("a.json")
    stream.drain(spark)
    check(stream)
    assert look_at(stream.landing, stream.bronze().books.committed).empty == (empty,)


def test_a_stream_may_start_before_anything_has_arrived(shared: NewStream, spark: SparkSession) -> None:
    stream: Stream = shared()
    assert stream.drain(spark) == []
    stream.add("a.json")
    stream.drain(spark)
    check(stream)


def test_a_file_that_changes_or_goes_between_listing_and_reading_is_one_letter(
    shared: NewStream, spark: SparkSession
) -> None:
    stream: Stream = shared()
    for name in ("steady.json", "replaced.json", "cut.json", "gone.json"):
        stream.add(name, modified=10**9)

    def meddle() -> None:
        stream.replace("replaced.json")
        stream.cut("cut.json")
        stream.delete("gone.json")

    (report,) = stream.drain(spark, Hooks(reach=do_at("offsets_written", meddle)))
    assert report.files == 4
    for name in ("replaced.json", "cut.json"):
        stream.expect_letter(name, "file_changed")
    stream.expect_letter("gone.json", "file_unreadable")
    check(stream)
    stream.add("next.json")
    stream.drain(spark)
    check(stream)


def test_input_that_is_all_bad_does_not_stop_the_stream(shared: NewStream, spark: SparkSession) -> None:
    stream: Stream = shared()
    for number in range(4):
        stream.add(f"{number}.json", b"\x00\xff not json {[\n" * 100)
    reports = stream.drain(spark, max_files=1)
    assert [report.accepted for report in reports] == [0] * 4
    stream.add("good.json")
    stream.drain(spark)
    check(stream)


@pytest.mark.parametrize(
    "name",
    ["with spaces #2 100% %41", "star* question?mark [ab] {p,q}", "back\\slash é;b=c&d"],
)
def test_a_lake_may_have_any_name(tmp_path: Path, spark: SparkSession, name: str) -> None:
    stream = Stream(Lake.at(Settings(lake=tmp_path / name / "lake")), contract_of("orders"))
    stream.add("a.json")
    stream.add("deep/*.json")
    stream.drain(spark)
    check(stream)
    stream.add("b.json")
    stream.drain(spark)
    check(stream)
    assert sorted(path.name for path in tmp_path.iterdir()) == [name]
    recover(stream.lake, stream.contract, LIMITS, spark=spark)
    check(stream)
