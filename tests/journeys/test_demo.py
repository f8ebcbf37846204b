"""A newcomer's first command: the whole job, from produced files through Spark to tables, proof and answers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from pages import blocks_of, run_block

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


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The lake of a demo, and what it said."""
    lake = tmp_path_factory.mktemp("demo") / "lake"
    return lake, demo(lake)


@pytest.mark.jvm
def test_every_block_of_the_page_about_asking_works_on_the_lake_of_the_demo(
    shown: tuple[Path, str], tmp_path: Path
) -> None:
    blocks = blocks_of("explore.md")
    assert {language for language, _ in blocks} == {"bash", "sql", "python"}
    said = [run_block(language, text, shown[0], tmp_path) for language, text in blocks]
    assert all(said)
    told = "\n".join(said)
    assert "refused, with 1" in told
    assert "│         4630 │" in told, "through a DuckDB of one's own"
    assert "│         4188 │" in told
    assert "late_events" in told
    assert (tmp_path / "revenue.parquet").exists()


@pytest.mark.jvm
def test_the_demo_accounts_for_every_record_and_a_second_run_adds_nothing(shown: tuple[Path, str]) -> None:
    lake, said = shown
    assert said.count("✓") == 6
    assert "5,381 records in 55 files = 4,630 in bronze + 751 in dead letters, each in exactly one place" in said
    assert "silver: 4,188 events of 4,630 rows, 442 sent twice; 3 of 3 checks hold" in said
    assert "sku-10001  ████████████████████████████████     990.13 EUR" in said
    first = snapshots(lake)
    assert all(first.values())
    again = demo(lake)
    assert "5,381 records in 55 files = 4,630 in bronze + 751 in dead letters" in again
    assert snapshots(lake) == first


def test_the_demo_does_not_work_on_a_folder_of_other_things(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "letters.txt").touch()
    assert run(["--lake", str(tmp_path), "demo"]) == 1
    assert "is not a lake" in capsys.readouterr().err
    assert [entry.name for entry in tmp_path.iterdir()] == ["letters.txt"]
