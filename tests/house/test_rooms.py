"""`make test` counts what ran, and a room in which nothing runs has failed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
PASSING = "def test_a():\n    assert True\n"
FAILING = "def test_b():\n    assert False\n"
SKIPPED = "import pytest\n\n\n@pytest.mark.skip(reason='shown')\ndef test_c():\n    pass\n"


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A project with one room, whose tests pass."""
    (tmp_path / "tests" / "good").mkdir(parents=True)
    shutil.copy(PROJECT / "tests" / "run_rooms.py", tmp_path / "tests")
    (tmp_path / "tests" / "good" / "test_good.py").write_text(PASSING + "\n\n" + SKIPPED, "utf-8")
    return tmp_path


def run_rooms(house: Path, *rooms: str) -> tuple[int, list[str]]:
    words = [sys.executable, house / "tests" / "run_rooms.py", *rooms]
    environ = {**os.environ, "ROOM_WORKERS": "0"}
    done = subprocess.run(words, env=environ, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout.splitlines()


def test_passed_tests_are_counted_on_the_last_line(house: Path) -> None:
    code, lines = run_rooms(house, "good")
    assert (code, lines[-1]) == (0, "1 passed, 0 failed")
    assert any("1 passed, 0 failed, 1 skipped" in line for line in lines)


def test_one_failed_test_fails_the_run(house: Path) -> None:
    (house / "tests" / "good" / "test_bad.py").write_text(FAILING, "utf-8")
    code, lines = run_rooms(house, "good")
    assert (code, lines[-1]) == (1, "1 passed, 1 failed")


def test_a_room_in_which_no_test_runs_has_failed(house: Path) -> None:
    for room, content in {"bare": None, "empty": "", "broken": "syntax error\n"}.items():
        (house / "tests" / room).mkdir()
        if content is not None:
            (house / "tests" / room / f"test_{room}.py").write_text(content, "utf-8")
    code, lines = run_rooms(house, "good", "bare", "empty", "broken")
    assert (code, lines[-1]) == (1, "1 passed, 3 failed")
