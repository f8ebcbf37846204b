"""A newcomer's first command: the whole job, from produced files through Spark to tables, proof and answers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from smelter.cli.main import run
from smelter.lake.home import Lake
from smelter.lake.tables import load_table
from smelter.settings import Settings

SMELT = Path(sys.executable).parent / "smelt"


def demo(lake: Path) -> str:
    words = [SMELT, "--lake", lake, "demo"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def snapshots(lake: Path) -> dict[str, int | None]:
    opened = Lake.at(Settings(lake=lake))
    names = [(name, "events") for name in ("bronze", "dead_letters", "silver")] + [("gold", "sessions")]
    tables = {name: load_table(opened, *name).current_snapshot() for name in names}
    return {".".join(name): snapshot.snapshot_id if snapshot else None for name, snapshot in tables.items()}


@pytest.mark.jvm
def test_the_demo_accounts_for_every_record_and_a_second_run_adds_nothing(tmp_path: Path) -> None:
    said = demo(tmp_path / "lake")
    assert said.count("✓") == 6
    assert "5,381 records in 55 files = 4,630 in bronze + 751 in dead letters, each in exactly one place" in said
    assert "silver: 4,188 events of 4,630 rows, 442 sent twice; 3 of 3 checks hold" in said
    assert "sku-10001  ████████████████████████████████     990.13 EUR" in said
    first = snapshots(tmp_path / "lake")
    assert all(first.values())
    again = demo(tmp_path / "lake")
    assert "5,381 records in 55 files = 4,630 in bronze + 751 in dead letters" in again
    assert snapshots(tmp_path / "lake") == first


def test_the_demo_does_not_work_on_a_folder_of_other_things(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "letters.txt").touch()
    assert run(["--lake", str(tmp_path), "demo"]) == 1
    assert "is not a lake" in capsys.readouterr().err
    assert [entry.name for entry in tmp_path.iterdir()] == ["letters.txt"]
