"""A newcomer's second command: the whole job, end to end, on any lake."""

from __future__ import annotations

from pathlib import Path

import pytest

from smelter.cli.main import run


def test_the_demo_accounts_for_every_record_and_can_be_run_twice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = tmp_path / "lake"
    assert run(["--lake", str(lake), "demo"]) == 0
    said = capsys.readouterr().out
    first = {file: file.read_bytes() for file in lake.rglob("*") if file.is_file()}

    assert run(["--lake", str(lake), "demo"]) == 0
    assert {file: file.read_bytes() for file in lake.rglob("*") if file.is_file()} == first
    assert said.count("✓") == 3
    assert "Every record is in exactly one place" in said


def test_the_demo_does_not_work_on_a_folder_of_other_things(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "letters.txt").touch()
    assert run(["--lake", str(tmp_path), "demo"]) == 1
    assert "is not a lake" in capsys.readouterr().err
    assert [entry.name for entry in tmp_path.iterdir()] == ["letters.txt"]
