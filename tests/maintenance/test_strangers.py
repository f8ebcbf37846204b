"""Tables that share a folder, another disk behind a link, names that are no text: files of others are left alone."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from sheds import Shed, contract_of, later, step

from smelter.errors import Unreachable
from smelter.lake.catalog import local_path
from smelter.lake.home import BRONZE, OPS, Lake
from smelter.lake.tables import load_table
from smelter.maintenance.care import Wishes, plan
from smelter.maintenance.journal import JOURNAL, Entry, history, record
from smelter.maintenance.steps import Step
from smelter.maintenance.subjects import Subject, subjects_of
from smelter.maintenance.trash import manifests, restore
from smelter.settings import Settings

MEMORY = Path("/dev/shm")


@pytest.fixture
def elsewhere() -> Iterator[Path]:
    """A folder on another disk."""
    here = Path(tempfile.gettempdir())
    if not MEMORY.is_dir() or MEMORY.stat().st_dev == here.stat().st_dev:
        pytest.skip("there is no second disk here")
    folder = Path(tempfile.mkdtemp(dir=MEMORY))
    yield folder
    shutil.rmtree(folder)


def only(lake: Lake, name: str) -> Subject:
    (subject,) = subjects_of(lake, [name])
    return subject


def test_a_table_that_somebody_registered_a_second_time_keeps_its_files_and_both_say_why(shed: Shed) -> None:
    shed.commit(2)
    shed.lake.catalog.create_namespace("backup")
    shed.lake.catalog.register_table(("backup", "orders"), shed.table().metadata_location)
    shed.commit(12)
    files = sorted(shed.folder().rglob("*.*"))
    for path in files:
        os.utime(path, (10**9, 10**9))
    for name, other in (("backup.orders", "bronze.orders"), ("bronze.orders", "backup.orders")):
        for _ in range(2):
            (report,) = plan(shed.lake, [only(shed.lake, name)], _in_a_year())
            assert not {Step.EXPIRE, Step.ORPHANS} & {Step(one.step) for one in report.steps}
            assert any(f"{other} lies in its folder too" in line for line in report.kept)
    assert sorted(shed.folder().rglob("*.*")) == files


def test_a_table_that_was_given_another_name_keeps_its_folder_and_the_new_one_gets_its_own(shed: Shed) -> None:
    shed.commit(3)
    old = shed.folder()
    shed.lake.catalog.create_namespace("backup")
    shed.lake.catalog.rename_table((BRONZE, shed.name), ("backup", "kept"))
    again = Shed(shed.lake, contract_of("orders"))
    again.bronze()
    assert again.folder() != old
    assert again.folder().parent == old.parent
    assert only(shed.lake, "backup.kept").shares_with is None


def test_a_stray_whose_name_is_no_text_is_left_alone_and_harms_nobody(shed: Shed) -> None:
    shed.commit(2)
    place = os.fsencode(shed.folder()) + b"/data/\xff\xfe.parquet"
    with open(place, "wb") as file:  # noqa: PTH123, a path of bytes
        file.write(b"nobody's")
    os.utime(place, (10**9, 10**9))
    plain = shed.plant()
    for _ in range(2):
        shed.care_for_bronze(steps=[Step.ORPHANS])
    assert os.path.exists(place)  # noqa: PTH110
    assert not plain.exists()


def test_strays_of_tables_on_another_disk_move_and_come_back_byte_for_byte(tmp_path: Path, elsewhere: Path) -> None:
    lake = Lake.at(Settings(lake=tmp_path / "lake"))
    (lake.root / "tables").symlink_to(elsewhere)
    shed = Shed(lake, contract_of("orders"))
    shed.commit(2)
    orphan = shed.plant(data=bytes(range(256)))
    modified = orphan.stat().st_mtime_ns
    for _ in range(2):
        report = shed.care_for_bronze(steps=[Step.ORPHANS])
    assert step(report, Step.ORPHANS) == "1 file moved to the trash, 256 bytes"
    assert not orphan.exists()
    (found,) = manifests(lake)
    restore(lake, found.run)
    assert (orphan.read_bytes(), orphan.stat().st_mtime_ns) == (bytes(range(256)), modified)


def test_an_open_file_is_seen_behind_a_link_too(tmp_path: Path) -> None:
    lake = Lake.at(Settings(lake=tmp_path / "lake"))
    (tmp_path / "disk").mkdir()
    (lake.root / "tables").symlink_to(tmp_path / "disk")
    shed = Shed(lake, contract_of("orders"))
    shed.commit(2)
    orphan = shed.plant()
    with orphan.open("rb"):
        for _ in range(3):
            shed.care_for_bronze(steps=[Step.ORPHANS])
        assert orphan.exists()


def test_a_data_file_that_is_gone_fails_the_plan_of_no_other_table(shed: Shed) -> None:
    shed.commit(6)
    local_path(shed.table().metadata_location).write_text("{")
    found = {one.table: one for one in plan(shed.lake, subjects_of(shed.lake))}
    assert found["bronze.orders"].outcome == "failed"
    assert "bronze.orders cannot be looked after" in str(found["bronze.orders"].problem)
    assert found["dead_letters.orders"].outcome == "planned"


def _in_a_year() -> Wishes:
    return Wishes(now=later(days=365))


def test_a_journal_that_cannot_be_read_keeps_no_table_from_its_turn(shed: Shed) -> None:
    shed.commit(6)
    record(shed.lake, Entry("maintain:20260101-120000-0a1b", "bronze.orders", later(), "done"))
    journal = load_table(shed.lake, OPS, JOURNAL)
    local_path(next(iter(journal.scan().plan_files())).file.file_path).unlink()
    assert shed.plan()[0].outcome == "planned"
    with pytest.raises(Unreachable, match="a file that it needs is gone"):
        history(shed.lake)
