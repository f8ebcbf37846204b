"""A lake is one folder of known parts; dropping it never touches landing files, settings or anything else."""

from __future__ import annotations

import io
import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from smelter.cli.main import run
from smelter.errors import Refused
from smelter.lake.layout import LAYOUT_VERSION, ensure_layout, layout_version

KEPT = {"layout", "landing", "smelter.toml", "README.md"}


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """A lake with something in every part."""
    lake = tmp_path / "pond"
    ensure_layout(lake)
    for name in ("tables/bronze", "landing/events", "checkpoints/events", "receipts/events", "run"):
        (lake / name).mkdir(parents=True)
        (lake / name / "file").write_text("12345", "utf-8")
    for name in ("catalog.db", "catalog.db-wal", "catalog.db-shm", "README.md"):
        (lake / name).write_text("", "utf-8")
    (lake / "smelter.toml").write_text("max_depth = 50\n", "utf-8")
    return lake


def names(folder: Path) -> set[str]:
    return {entry.name for entry in folder.iterdir()}


def test_a_new_lake_has_its_layout_version(tmp_path: Path) -> None:
    ensure_layout(tmp_path / "a" / "lake")
    ensure_layout(tmp_path / "a" / "lake")
    assert (tmp_path / "a" / "lake" / "layout").read_text("utf-8") == "1\n"
    assert names(tmp_path / "a" / "lake") == {"layout"}


def test_the_embedded_lake_with_only_its_readme_is_a_lake(tmp_path: Path) -> None:
    (tmp_path / "README.md").touch()
    ensure_layout(tmp_path)
    assert layout_version(tmp_path) == LAYOUT_VERSION


def test_an_unfinished_layout_file_does_not_matter(tmp_path: Path) -> None:
    (tmp_path / ".layout-abc").touch()
    ensure_layout(tmp_path)
    assert layout_version(tmp_path) == LAYOUT_VERSION


@pytest.mark.parametrize(("version", "way_out"), [("0", "smelt lake upgrade"), ("2", "newer Smelter")])
def test_another_layout_is_refused_with_the_way_out(tmp_path: Path, version: str, way_out: str) -> None:
    (tmp_path / "layout").write_text(f"{version}\n", "utf-8")
    with pytest.raises(Refused) as refused:
        ensure_layout(tmp_path)
    assert way_out in refused.value.next_step
    assert (tmp_path / "layout").read_text("utf-8") == f"{version}\n"


def test_a_folder_of_other_things_is_not_made_a_lake(tmp_path: Path) -> None:
    (tmp_path / "letters.txt").touch()
    with pytest.raises(Refused, match=r"is not a lake: it holds letters\.txt"):
        ensure_layout(tmp_path)
    assert names(tmp_path) == {"letters.txt"}


def test_a_drop_keeps_landing_and_settings_and_says_what_it_removes(
    lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["--lake", str(lake), "lake", "drop", "--yes"]) == 0
    said = capsys.readouterr().out
    assert names(lake) == KEPT
    assert (lake / "landing" / "events" / "file").read_text("utf-8") == "12345"
    assert "tables" in said
    assert "5 bytes" in said


def test_a_second_drop_finds_nothing(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["--lake", str(lake), "lake", "drop", "--yes"])
    assert run(["--lake", str(lake), "lake", "drop"]) == 0
    assert "there is nothing to drop" in capsys.readouterr().out


def test_without_a_terminal_and_without_yes_nothing_is_dropped(
    lake: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("pond\n"))
    before = names(lake)
    assert run(["--lake", str(lake), "lake", "drop"]) == 1
    assert f"smelt --lake {lake} lake drop --yes" in capsys.readouterr().err
    assert names(lake) == before


@pytest.mark.parametrize(("answer", "code"), [("pond\n", 0), ("y\n", 1), ("\n", 1), ("\x04", 130)])
def test_at_a_terminal_the_name_of_the_lake_is_asked_for(lake: Path, answer: str, code: int) -> None:
    terminal, theirs = pty.openpty()
    os.write(terminal, answer.encode())
    words = [sys.executable, "-c", "from smelter.cli.main import main; main()", "--lake", str(lake), "lake", "drop"]
    done = subprocess.run(words, stdin=theirs, capture_output=True, text=True, timeout=30, check=False)
    os.close(theirs)
    os.close(terminal)
    assert done.returncode == code, done.stderr
    assert (lake / "tables").exists() == (code != 0)


@pytest.mark.parametrize("stranger", ["letters.txt", ".bashrc", "tables.old"])
def test_a_folder_that_is_not_a_lake_is_never_dropped(
    tmp_path: Path, stranger: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tables").mkdir()
    (tmp_path / stranger).touch()
    assert run(["--lake", str(tmp_path), "lake", "drop", "--yes"]) == 1
    assert "is not a lake" in capsys.readouterr().err
    assert names(tmp_path) == {"tables", stranger}


def test_a_lake_of_a_newer_layout_is_not_dropped(lake: Path) -> None:
    (lake / "layout").write_text("2\n", "utf-8")
    before = names(lake)
    assert run(["--lake", str(lake), "lake", "drop", "--yes"]) == 1
    assert names(lake) == before


def test_a_drop_does_not_follow_links(lake: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").touch()
    (lake / "run" / "link").symlink_to(outside)
    shutil.rmtree(lake / "receipts")
    (lake / "receipts").symlink_to(outside)
    assert run(["--lake", str(lake), "lake", "drop", "--yes"]) == 0
    assert names(lake) == KEPT
    assert names(outside) == {"precious"}
