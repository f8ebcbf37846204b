"""Files that belong to nobody: marked, seen again, moved to the trash, and put back byte for byte. No JVM."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sheds import Shed, contract_of, later, step

from bronze.crashes import Crash, crash_at
from smelter.contracts import ContractInvalid
from smelter.errors import Refused
from smelter.lake.batches import Plan
from smelter.lake.data_files import DataFileWriter, TableShape
from smelter.lake.home import Lake
from smelter.lake.sources import unit_of
from smelter.maintenance.care import TableReport
from smelter.maintenance.steps import Step
from smelter.maintenance.trash import empty, manifests, move_to_trash, overdue, restore

ORPHANS = (Step.ORPHANS,)


def look_after(shed: Shed, **words: object) -> TableReport:
    return shed.care_for_bronze(steps=ORPHANS, **words)


def run_of(shed: Shed) -> str:
    (found,) = manifests(shed.lake)
    return found.run


def test_an_old_file_goes_at_its_second_sighting_and_comes_back_byte_for_byte(shed: Shed) -> None:
    shed.commit(2)
    before = shed.rows()
    orphan = shed.plant(data=bytes(range(256)))
    stat = orphan.stat()
    assert step(look_after(shed), Step.ORPHANS) == "0 files moved to the trash, 0 bytes; 1 file marked"
    assert orphan.exists()
    assert step(look_after(shed), Step.ORPHANS) == "1 file moved to the trash, 256 bytes"
    assert not orphan.exists()
    assert look_after(shed).outcome == "nothing"
    done = restore(shed.lake, run_of(shed))
    assert (done.files, done.bytes, done.taken, done.gone) == (1, 256, (), 0)
    assert (orphan.read_bytes(), orphan.stat().st_mtime_ns) == (bytes(range(256)), stat.st_mtime_ns)
    assert list(manifests(shed.lake)) == []
    assert shed.rows() == before


@pytest.mark.parametrize("days", [0, 0.9, 2.9])
def test_a_file_that_is_younger_than_its_age_is_left_alone_however_often_it_is_seen(shed: Shed, days: float) -> None:
    shed.commit(2)
    orphan = shed.plant(days=days)
    for _ in range(3):
        assert look_after(shed).outcome == "nothing"
    assert orphan.exists()


def test_the_files_of_the_table_are_never_taken_for_strays_however_old_they_are(shed: Shed) -> None:
    shed.commit(5)
    for path in shed.folder().rglob("*.*"):
        os.utime(path, (10**9, 10**9))
    for _ in range(2):
        assert look_after(shed, now=later(days=400)).outcome == "nothing"
    assert len(shed.rows()) == 10


def test_a_file_that_changed_since_it_was_seen_is_seen_for_the_first_time(shed: Shed) -> None:
    shed.commit(2)
    orphan = shed.plant()
    look_after(shed)
    orphan.write_bytes(b"more")
    os.utime(orphan, (10**9, 10**9))
    assert "1 file marked" in step(look_after(shed), Step.ORPHANS)
    assert orphan.exists()


def test_what_a_prepared_batch_is_about_to_commit_is_not_touched(shed: Shed) -> None:
    shed.commit(2)
    shed.add("waits.json")
    with pytest.raises(Crash):
        shed.drain_here(crash_at("prepared"))
    for _ in range(2):
        report = look_after(shed, now=later(days=400))
        assert report.kept == ("1 file of bronze.orders in no snapshot: a batch or a writer may need what it wrote",)
    shed.drain_here()
    assert len(shed.rows()) == 4 + 3


def test_what_was_written_since_a_planned_batch_began_is_not_touched(shed: Shed) -> None:
    shed.commit(2)
    path = shed.add("slow.json")
    bronze = shed.bronze()
    bronze.records.plan(Plan("orders:here:9:0000", [unit_of(path)]))
    written = shed.plant("data/of-a-slow-task.parquet", days=0)
    for _ in range(2):
        look_after(shed, now=later(days=400))
    assert written.exists()
    bronze.records.forget_plan("orders:here:9:0000")
    for _ in range(2):
        look_after(shed, now=later(days=400))
    assert not written.exists()


def test_a_file_that_a_slow_writer_has_open_is_never_touched(shed: Shed) -> None:
    shed.commit(2)
    table = shed.table()
    shape = TableShape.of(table)
    rows = table.scan().to_arrow().to_batches()[0]
    writer = DataFileWriter(shape)
    writer.add(shape.conform(rows, {}))
    writer._flush()
    (open_file,) = writer._open.values()
    os.utime(open_file.path, (10**9, 10**9))
    for _ in range(3):
        look_after(shed)
    assert Path(open_file.path).exists()
    (written,) = writer.finish()
    assert written.records == rows.num_rows


def test_checksums_that_spark_leaves_belong_to_their_files(shed: Shed) -> None:
    shed.commit(2)
    (file, *_) = [Path(one.file.file_path) for one in shed.table().scan().plan_files()]
    inside = file.relative_to(shed.folder())
    own = shed.plant(str(inside.with_name(f".{file.name}.crc")))
    stray = shed.plant("data/.gone.parquet.crc")
    for _ in range(2):
        look_after(shed)
    assert own.exists()
    assert not stray.exists()


@pytest.mark.parametrize("point", ["before_trash", "in_trash"])
def test_killed_on_the_way_to_the_trash_nothing_is_lost_and_the_next_run_goes_on(shed: Shed, point: str) -> None:
    shed.commit(2)
    orphans = [shed.plant(f"data/{number}.parquet", data=bytes([number])) for number in range(3)]
    look_after(shed)
    with pytest.raises(Crash):
        shed.care(steps=ORPHANS, reach=crash_at(point))
    look_after(shed)
    assert not any(path.exists() for path in orphans)
    for manifest in list(manifests(shed.lake)):
        restore(shed.lake, manifest.run)
    assert [path.read_bytes() for path in orphans] == [b"\0", b"\1", b"\2"]


def test_a_file_that_another_has_replaced_stays_in_the_trash_and_is_named(shed: Shed) -> None:
    shed.commit(2)
    orphan = shed.plant()
    look_after(shed)
    look_after(shed)
    orphan.write_bytes(b"another")
    run = run_of(shed)
    assert restore(shed.lake, run).taken == (str(orphan),)
    assert orphan.read_bytes() == b"another"
    orphan.unlink()
    assert restore(shed.lake, run).files == 1
    assert orphan.read_bytes() == b"nobody's"


def test_the_trash_is_emptied_when_its_time_is_up_and_not_before(shed: Shed) -> None:
    shed.commit(2)
    shed.plant()
    look_after(shed)
    look_after(shed)
    run = run_of(shed)
    assert overdue(shed.lake, later(days=6.9)) == []
    assert empty(shed.lake, overdue(shed.lake, later(days=7.1))) > 0
    with pytest.raises(Refused, match="there is no trash of"):
        restore(shed.lake, run)


@pytest.mark.parametrize("run", ["../../etc", "maintain:../..", "", "maintain:20260101-120000-0a1b/.."])
def test_a_name_that_is_no_run_is_refused(shed: Shed, run: str) -> None:
    with pytest.raises(Refused, match="not the name of a run"):
        restore(shed.lake, run)


def test_a_short_age_is_refused_by_the_contract() -> None:
    with pytest.raises(
        ContractInvalid, match="a file may be part of a slow write that has not ended; write 1d or longer"
    ):
        contract_of("orders", maintenance="orphans: 23h")


def test_two_tables_of_one_run_share_its_trash(lake: Lake, shed: Shed) -> None:
    shed.commit(2)
    run = "maintain:20260101-120000-0a1b"
    for number in range(2):
        orphan = shed.plant(f"data/{number}.parquet")
        (stray,) = [one for one in _strays(shed) if one.path == str(orphan)]
        move_to_trash(lake, run, f"bronze.t{number}", [stray], timedelta(days=1))
    (found,) = manifests(lake)
    assert [one.table for one in found.files] == ["bronze.t0", "bronze.t1"]
    assert found.emptied_after > datetime.now(UTC)
    assert restore(lake, run).files == 2


def _strays(shed: Shed):  # type: ignore[no-untyped-def]
    from smelter.maintenance.strays import strays_of

    return strays_of(shed.lake, shed.table(), shed.subjects()[0], datetime.now(UTC).timestamp()).free
